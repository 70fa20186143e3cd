// Placements on a website: see /embed.
"use strict";
{
const { src, dataset } = document.currentScript;
const api = new URL("/api/v1/sponsors/", src);
const sent = new Set();
let visitorId;

const sheet = new CSSStyleSheet();
sheet.replaceSync(`
* { margin: 0; padding: 0 }
ul { display: flex; flex-wrap: wrap; gap: .75em; margin-top: .4em }
li { border: 1px solid #8886; border-radius: .5em; display: block; flex: 1 15em; line-height: 1.45; padding: 1em; position: relative }
a { color: inherit; display: block; font-weight: 600; margin: .7em 0 .2em; text-decoration: none }
a::after { content: ""; inset: 0; position: absolute }
b { background: #8883; border-radius: .4em; font-size: .7em; margin-right: .8em; padding: .5em }
p { font-size: .9em }
p + p { margin-top: .6em; text-decoration: underline }
small { opacity: .8 }`);

// Sends an event once. Text needs no preflight.
const send = (kind, bookingId) => {
	if ("preview" in dataset || navigator.doNotTrack === "1" || navigator.globalPrivacyControl) return;
	const digit = () => (crypto.getRandomValues(new Uint8Array(1))[0] & 15).toString(16);
	visitorId ||= "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx".replace(/x/g, digit);
	try {
		const kept = localStorage.placementVisitor;
		if (/^[\da-f]{8}(-[\da-f]{4}){4}[\da-f]{8}$/i.test(kept)) visitorId = kept;
		else localStorage.placementVisitor = visitorId;
	} catch {}
	const body = JSON.stringify({ bookingId, kind, visitorId });
	if (sent.has(body)) return;
	sent.add(body);
	navigator.sendBeacon?.(api + "events", body) ||
		fetch(api + "events", { method: "POST", body, credentials: "omit", keepalive: true }).catch(() => {});
};

// An impression: half in view for a second.
const seen = new Set();
const time = (card) => {
	clearTimeout(card.timer);
	if (document.hidden || !seen.has(card)) return;
	card.timer = setTimeout(() => card.isConnected && send("impression", card.booking), 1000);
};
const moved = ({ target, intersectionRatio }) => {
	seen[intersectionRatio < 0.5 ? "delete" : "add"](target);
	time(target);
};
const observer = new IntersectionObserver((entries) => entries.forEach(moved), { threshold: 0.5 });
addEventListener("visibilitychange", () => seen.forEach(time));
const count = (card, booking) => {
	card.booking = booking;
	card.onclick = card.onauxclick = ({ button, target }) => button < 2 && target.href && send("click", booking);
	observer.observe(card);
};

const add = (to, tag, part, textContent, more) =>
	to.appendChild(Object.assign(document.createElement(tag), { part, textContent }, more));

const roots = new WeakMap();
const show = (box, own) => {
	const root = roots.get(box) || box.attachShadow({ mode: "open" });
	roots.set(box, root);
	root.adoptedStyleSheets = [sheet];
	root.replaceChildren();
	if (!own[0]) return add(root, "slot");
	const ariaLabel = box.dataset.label || "Sponsored";
	add(root, "small", "label", ariaLabel);
	const list = add(root, "ul", "list", "", { role: "list", ariaLabel });
	for (const each of own) {
		const card = add(list, "li", "card");
		add(card, "b", "logo", each.logoText, { ariaHidden: true });
		add(card, "small", "sponsor", each.sponsorName + (each.demo ? " (Sample)" : ""));
		add(card, "a", "title", each.headline, /^https?:/i.test(each.targetUrl) && { href: each.targetUrl, rel: "sponsored noopener nofollow" });
		for (const part of ["body", "cta"]) add(card, "p", part, each[part]);
		count(card, each.bookingId);
	}
};

// Draws new or changed boxes.
const drawn = new WeakMap();
const look = ({ dataset }) => JSON.stringify({ ...dataset, placed: 0 });
const draw = async () => {
	// Drawn by our server.
	for (const card of document.querySelectorAll("[data-placement-booking]")) count(card, card.dataset.placementBooking);
	const boxes = [...document.querySelectorAll("[data-placements],[data-slot]")].filter((box) => drawn.get(box) !== look(box));
	if (!boxes[0]) return;
	for (const { dataset } of boxes) if ("placements" in dataset) dataset.placed ||= 0;
	try {
		const { placements } = await (await fetch(api + "placements", { credentials: "omit" })).json();
		for (const box of boxes) {
			const { placements: side, slot, limit } = box.dataset;
			const wanted = (each) => (side ? side === each.side : side === "" || slot) && (!slot || slot === each.slotId);
			const own = placements.filter(wanted).slice(0, limit);
			drawn.set(box, look(box));
			if (own[0] || roots.has(box)) show(box, own);
			else if (side == null) continue;
			box.dataset.placed = own.length;
			const detail = { number: own.length, bookingIds: own.map((each) => each.bookingId) };
			box.dispatchEvent(new CustomEvent("placements:shown", { bubbles: true, composed: true, detail }));
		}
	} catch {}
};

// Calls meanwhile make one look.
let calls = 0;
const reload = async () => {
	if (calls++) return;
	for (let met; met !== calls; await draw()) met = calls;
	calls = 0;
};

// One for all scripts.
const first = window[Symbol.for("placements")] ||= reload;
if (!window.hasOwnProperty("placements")) window.placements = { reload: first };
if (document.readyState === "loading") addEventListener("DOMContentLoaded", first);
else first();
}
