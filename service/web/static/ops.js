// Refreshes the visible page, once the visitor turns it on.
"use strict";
{
	const PERIOD_MS = 10_000;
	const button = document.getElementById("follow");
	const status = document.getElementById("follow-status");
	const live = document.getElementById("live");
	let timer;

	const say = (words) => {
		status.textContent = words;
	};

	const stop = (words) => {
		clearTimeout(timer);
		timer = undefined;
		button.setAttribute("aria-pressed", "false");
		say(words);
	};

	const refresh = async () => {
		const response = await fetch("/ops", { headers: { accept: "text/html" }, redirect: "error", signal: AbortSignal.timeout(PERIOD_MS) });
		if (!response.ok) throw new Error(String(response.status));
		const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("live");
		const open = live.querySelector("details")?.open;
		live.replaceChildren(...fresh.childNodes);
		const details = live.querySelector("details");
		if (details && open) details.open = true;
	};

	const turn = async () => {
		// A table with the focus is left alone, since somebody may be reading it.
		if (!document.hidden && !live.contains(document.activeElement)) {
			try {
				await refresh();
			} catch {
				if (timer !== undefined) stop("The page could not be refreshed. Use the link.");
				return;
			}
		}
		if (timer !== undefined) timer = setTimeout(turn, PERIOD_MS);
	};

	button.addEventListener("click", () => {
		if (timer !== undefined) {
			stop("");
			return;
		}
		button.setAttribute("aria-pressed", "true");
		say("The page refreshes every 10 seconds.");
		timer = setTimeout(turn, 0);
	});
	button.hidden = false;
}
