// For every page, by the HTML of its parts:
// Copy: <button class="copy" hidden data-copy>Copy</button>, of the `pre` in its `.code` or of data-copy="id".
// Filter: <p hidden><input data-filters="id"><span role="status"></span></p>, of a table or list.
// Time left: <p data-over>... <span role="timer" data-seconds="90">1 minute</span> ...</p>, then the hidden element after it.
// Characters left: <span data-count-of="id" data-most="55"></span>, in code points as the API counts, once few are left.
// Print: <button hidden data-print>Print</button>.
// Menu: `details.menu` closes with Escape and a click elsewhere.
"use strict";

const all = (selector) => [...document.querySelectorAll(selector)];
const at = (id) => document.getElementById(id);
const read = async (path) => {
	const response = await fetch(path, { redirect: "error", signal: AbortSignal.timeout(10_000) });
	if (!response.ok) throw Error(response.status);
	return new DOMParser().parseFromString(await response.text(), "text/html");
};

{
	const live = document.createElement("output");
	live.className = "unseen";
	document.body.append(live);
	let pending;
	const say = (words, ms = 100) => {
		live.textContent = "";
		clearTimeout(pending);
		pending = setTimeout(() => (live.textContent = words), ms);
	};

	for (const button of all("[data-copy]")) {
		button.hidden = false;
		button.addEventListener("click", async () => {
			const from = at(button.dataset.copy) ?? button.closest(".code").querySelector("pre");
			const label = [...button.childNodes].find(({ data }) => data?.trim());
			let words = "Copied";
			try {
				await navigator.clipboard.writeText(from.title || from.textContent.trim());
			} catch {
				// Pages without TLS have no clipboard.
				getSelection().selectAllChildren(from);
				words = "Selected";
			}
			say(words);
			label.data = ` ${words}`;
			setTimeout(() => (label.data = " Copy"), 2000);
		});
	}

	for (const button of all("[data-print]")) {
		button.hidden = false;
		button.onclick = () => print();
	}

	for (const field of all("[data-filters]")) {
		const rows = [...at(field.dataset.filters).querySelectorAll("tbody > tr, :scope > li")];
		field.parentElement.hidden = false;
		field.addEventListener("input", () => {
			const words = field.value.toLowerCase().split(/\s+/);
			const shown = rows.filter((row) => {
				const text = row.textContent.toLowerCase();
				row.hidden = !words.every((word) => text.includes(word));
				return !row.hidden;
			});
			field.nextElementSibling.textContent = field.value && `${shown.length} of ${rows.length}`;
		});
	}

	// As `span` in service/web/pages/parts/words.py, and seconds at the end.
	const UNITS = Object.entries({ day: 86400, hour: 3600, minute: 60, second: 1 });
	const began = Date.now();
	const holds = new Set(all("[data-seconds]"));
	const tick = () => {
		for (const hold of holds) {
			const left = Math.ceil(hold.dataset.seconds - (Date.now() - began) / 1000);
			if (left > 0) {
				const [unit, size] = UNITS.find(([unit, size]) => left >= size * (unit === "day" ? 2 : 1));
				const count = Math.floor(left / size);
				const words = `${count} ${unit}${count > 1 ? "s" : ""}`;
				if (hold.textContent !== words) hold.textContent = words;
				continue;
			}
			holds.delete(hold);
			const place = hold.closest("[data-over]");
			const next = place.nextElementSibling;
			place.hidden = true;
			next.hidden = false;
			say(next.textContent);
		}
		if (holds.size) setTimeout(tick, 1000);
	};
	tick();

	for (const place of all("[data-count-of]")) {
		const field = at(place.dataset.countOf);
		const count = () => {
			const left = place.dataset.most - [...field.value.trim()].length;
			place.textContent = left < 0 ? `${-left} too many.` : left * 4 < place.dataset.most ? `${left} left.` : "";
			place.classList.toggle("over", left < 0);
		};
		field.addEventListener("input", () => {
			count();
			say(place.textContent, 1000);
		});
		count();
	}

	const close = ({ key, target }) => {
		for (const menu of all("details.menu[open]")) {
			const within = menu.contains(target);
			menu.open = within && key !== "Escape";
			if (within && !menu.open) menu.firstElementChild.focus();
		}
	};
	addEventListener("click", close);
	addEventListener("keydown", close);

	// A form sent twice shows only its second answer; the first may hold a new key.
	addEventListener("submit", (event) => {
		const { dataset } = event.target;
		if (event.timeStamp < dataset.sentUntil) event.preventDefault();
		else if (!event.defaultPrevented) dataset.sentUntil = event.timeStamp + 2000;
	});
}
