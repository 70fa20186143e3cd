// The reference: results as you type, the chosen language, and addresses of release 1.0.
"use strict";
{
	const [form, status, list] = all("[data-find], [data-find-status], [data-find-rows]");
	const field = form.elements.q;
	let shown;
	let timer;

	const show = (query, rows = [], words = "") => {
		shown = query;
		list.replaceChildren(...rows);
		list.hidden = !query;
		status.textContent = words;
		for (const part of all("[data-find-idle]")) part.hidden = Boolean(query);
	};

	const search = async () => {
		const query = field.value.trim();
		if (!query) return show("");
		try {
			const page = await read(`/docs?q=${encodeURIComponent(query)}`);
			if (query !== field.value.trim()) return;
			show(query, page.querySelectorAll(".found li"), page.getElementById("found").textContent);
		} catch {
			// The form still asks the server.
		}
	};

	field.addEventListener("input", () => {
		clearTimeout(timer);
		timer = setTimeout(search, 150);
	});

	form.addEventListener("submit", (event) => {
		const first = list.querySelector("a");
		if (!first || shown !== field.value.trim()) return;
		event.preventDefault();
		first.click();
	});

	const clear = () => show((field.value = ""));

	// Results hide the rest of this page.
	list.addEventListener("click", ({ target }) => target.closest("a")?.pathname === location.pathname && clear());

	addEventListener("keydown", (event) => {
		const { key, target } = event;
		const links = [...list.querySelectorAll("a")];
		const n = links.indexOf(target);
		let next;
		if (target === field || n >= 0) next = { ArrowDown: links[n + 1], ArrowUp: links[n - 1] ?? field, Escape: field }[key];
		else if (key === "k" && (event.ctrlKey || event.metaKey)) next = field;
		if (!next) return;
		event.preventDefault();
		if (key === "Escape") clear();
		next.focus();
	});

	// The list at the side begins at the current page.
	const [side] = all(".contents > :last-child");
	const current = side?.querySelector("[aria-current]");
	if (current) side.scrollTop = current.offsetTop - side.clientHeight / 2;

	try {
		for (const input of all(".languages input")) {
			input.checked ||= input.value === localStorage.language;
			input.addEventListener("change", () => (localStorage.language = input.value));
		}
	} catch {
		// The browser blocks storage.
	}

	// 1.0 had all operations on one page. Errors may be folded.
	const redirect = () => {
		const place = at(location.hash.slice(1));
		const link = place?.closest(".chapters li")?.querySelector("a");
		if (link) return location.replace(link.href);
		for (const fold of all("details:has(:target)")) fold.open = true;
		place?.scrollIntoView();
	};
	addEventListener("hashchange", redirect);
	redirect();
}
