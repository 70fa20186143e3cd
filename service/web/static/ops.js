// Refreshes the parts of the page with `data-live` and an id, once somebody turns that on.
"use strict";
{
	const PERIOD_MS = 10_000;
	const button = at("follow");
	let timer;

	const follow = (on, words) => {
		clearTimeout(timer);
		timer = on && setTimeout(turn, PERIOD_MS);
		button.ariaPressed = String(on);
		at("follow-status").textContent = words;
	};

	const refresh = async () => {
		const page = await read("/ops");
		for (const part of all("[data-live]")) {
			const fresh = page.getElementById(part.id);
			// Somebody may be reading a part with the focus.
			if (!fresh || part.contains(document.activeElement)) continue;
			const details = part.querySelectorAll("details");
			fresh.querySelectorAll("details").forEach((each, n) => (each.open = details[n]?.open));
			part.replaceChildren(...fresh.childNodes);
		}
	};

	const turn = async () => {
		try {
			if (!document.hidden) await refresh();
			if (timer) timer = setTimeout(turn, PERIOD_MS);
		} catch {
			if (timer) follow(false, "The page could not be refreshed. Use the link.");
		}
	};

	button.addEventListener("click", () => follow(!timer, timer ? "" : "The page refreshes every 10 seconds."));
	button.hidden = false;
}
