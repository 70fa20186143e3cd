// Sponsored placements on a website: see docs/embedding.md.
"use strict";
{
	const api = new URL("/api/v1/sponsors/", document.currentScript.src);
	const sent = new Set();
	let visitorId;

	// Colours come from the page, light or dark.
	const sheet = new CSSStyleSheet();
	sheet.replaceSync(`
		* { margin: 0; padding: 0 }
		ul { display: flex; flex-wrap: wrap; gap: .75em; margin-top: .4em }
		li { border: 1px solid #8886; border-radius: .5em; display: block; flex: 1 15em; line-height: 1.45; padding: 1em;
			position: relative }
		a { color: inherit; display: block; font-weight: 600; margin: .7em 0 .2em; text-decoration: none }
		a::after { content: ""; inset: 0; position: absolute }
		b { background: #8883; border-radius: .4em; font-size: .7em; margin-right: .8em; padding: .5em }
		p { font-size: .9em }
		p + p { margin-top: .6em; text-decoration: underline }
		small { opacity: .8 }`);

	// Sends an event once. Text needs no preflight; a beacon outlives the page.
	const send = (kind, bookingId) => {
		if (navigator.doNotTrack === "1" || navigator.globalPrivacyControl) return;
		const digit = () => (crypto.getRandomValues(new Uint8Array(1))[0] & 15).toString(16);
		visitorId ||= "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx".replace(/x/g, digit);
		try {
			const kept = localStorage.placementVisitor;
			if (/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(kept)) visitorId = kept;
			else localStorage.placementVisitor = visitorId;
		} catch {} // Without storage, memory keeps the id.
		const body = JSON.stringify({ bookingId, kind, visitorId });
		if (sent.has(body)) return;
		sent.add(body);
		if (navigator.sendBeacon?.(api + "events", body)) return;
		fetch(api + "events", { method: "POST", body, credentials: "omit", keepalive: true }).catch(() => {});
	};

	// An impression: half in view for one whole second. Prerendered pages are hidden.
	const watch = (card, bookingId) => {
		let inView, timer;
		const look = () => {
			clearTimeout(timer);
			if (inView && !document.hidden) timer = setTimeout(send, 1000, "impression", bookingId);
		};
		const moved = (entries) => {
			inView = entries.pop().intersectionRatio >= 0.5;
			look();
		};
		new IntersectionObserver(moved, { threshold: 0.5 }).observe(card);
		addEventListener("visibilitychange", look);
	};

	const add = (parent, tag, part, textContent, more) =>
		parent.appendChild(Object.assign(document.createElement(tag), { part, textContent }, more));

	const show = (box, placements) => {
		const root = box.attachShadow({ mode: "open" });
		root.adoptedStyleSheets = [sheet];
		const ariaLabel = box.dataset.label || "Sponsored";
		add(root, "small", "label", ariaLabel);
		const list = add(root, "ul", "list", "", { role: "list", ariaLabel });
		for (const each of placements) {
			const click = ({ button }) => button < 2 && send("click", each.bookingId);
			const link = { href: each.targetUrl, rel: "sponsored noopener nofollow", onclick: click, onauxclick: click };
			const card = add(list, "li", "card");
			add(card, "b", "logo", each.logoText, { ariaHidden: true });
			add(card, "small", "sponsor", each.sponsorName + (each.demo ? " (Sample)" : ""));
			add(card, "a", "title", each.headline, /^https?:/i.test(each.targetUrl) && link);
			add(card, "p", "body", each.body);
			add(card, "p", "cta", each.cta);
			watch(card, each.bookingId);
		}
	};

	// Marks boxes at once, so a second script skips them.
	const load = async () => {
		const boxes = document.querySelectorAll("[data-placements]:not([data-placed])");
		for (const box of boxes) box.dataset.placed = 0;
		if (!boxes[0]) return;
		try {
			const { placements } = await (await fetch(api + "placements", { credentials: "omit" })).json();
			for (const box of boxes) {
				const wanted = ({ side }) => [side, ""].includes(box.dataset.placements);
				const own = placements.filter(wanted).slice(0, box.dataset.limit);
				if (own.length) show(box, own);
				box.dataset.placed = own.length;
			}
		} catch {} // Nothing is shown.
	};

	if (document.readyState === "loading") addEventListener("DOMContentLoaded", load);
	else load();
}
