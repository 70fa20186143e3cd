// Keys of lists: J and K go to the rows, others to what has them as aria-keyshortcuts in the row. After page.js.
"use strict";

const [on] = all("#keys input");

addEventListener("keydown", (event) => {
	const { target } = event;
	if (!on?.checked || event.repeat || event.ctrlKey || event.altKey || event.metaKey || target.matches("input,select,textarea")) return;
	const key = event.key.toUpperCase();
	const rows = all("[data-row]");
	const row = target.closest("[data-row]");
	const step = { J: 1, K: -1 }[key];
	const to = step
		? rows[Math.max(0, rows.indexOf(row) + step)] ?? all("[rel=next]")[0]
		: all("[aria-keyshortcuts]").find((it) => row?.contains(it) && it.ariaKeyShortcuts === key);
	if (!to) return;
	event.preventDefault();
	to.focus();
	if (!step) to.click();
});
try {
	on.parentNode.hidden = false;
	on.checked = localStorage.keys !== "false";
	on.onchange = () => (localStorage.keys = on.checked);
} catch {
	// No keys, or no storage.
}
