// Refreshes the parts with `data-live` and an id: by the button `follow`, or for ten minutes on a page without it.
"use strict";
{
	const button = at("follow");
	const PERIOD_MS = button ? 10_000 : 4_000;
	let left = button ? Infinity : 150;
	let timer;

	const follow = (on, words) => {
		clearTimeout(timer);
		timer = on && setTimeout(turn, PERIOD_MS);
		button.ariaPressed = String(on);
		at("follow-status").textContent = words;
	};

	const refresh = async () => {
		left--;
		const page = await read(location);
		for (const part of all("[data-live]")) {
			const fresh = page.getElementById(part.id);
			// Somebody may be reading a part with the focus, or hear a part that changes.
			if (!fresh || part.contains(document.activeElement) || part.isEqualNode(fresh)) continue;
			const details = part.querySelectorAll("details");
			fresh.querySelectorAll("details").forEach((each, n) => (each.open = details[n]?.open));
			part.replaceChildren(...fresh.childNodes);
		}
	};

	const turn = async () => {
		try {
			if (!document.hidden) await refresh();
		} catch {
			if (timer && button) follow(false, "The page could not be refreshed. Use the link.");
		}
		if (timer && left) timer = setTimeout(turn, PERIOD_MS);
	};

	button?.addEventListener("click", () => follow(!timer, timer ? "" : "The page refreshes every 10 seconds."));
	if (button) button.hidden = false;
	else timer = setTimeout(turn, PERIOD_MS);
}
