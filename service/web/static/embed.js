// See /embed.
"use strict";
try {
// An error names the file of a module.
const src = document.currentScript?.src || Error().stack.match(/http\S+\.js[^\s:)]*/)[0];
const { preview, visitor } = [...document.scripts].find((each) => each.src === src)?.dataset || {};
const api = new URL("/api/v1/sponsors/", src);
const { host } = api;

// One script for each service.
const services = window[Symbol.for("placements:all")] ||= {};
const first = !Object.keys(services)[0];
if (services[host]) throw services[host]();

const sheet = new CSSStyleSheet();
sheet.replaceSync(`
* { margin: 0; min-width: 0; overflow-wrap: anywhere; padding: 0 }
ul { display: flex; flex-wrap: wrap; gap: .75em; margin-top: .4em }
li { border: 1px solid #8886; border-radius: .5em; display: block; flex: 1 15em; line-height: 1.45; padding: 1em; position: relative }
a { color: inherit; display: block; font-weight: 600; margin: .7em 0 .2em; text-decoration: none }
a::after { content: ""; inset: 0; position: absolute }
b { background: #8883; border-radius: .5em; font-size: .7em; margin-right: .8em; padding: .5em }
li:dir(rtl) b { margin: 0 0 0 .8em }
p { font-size: .9em }
p + p { margin-top: .6em; text-decoration: underline }
small { opacity: .8 }`);

// Text needs no preflight.
const sent = {};
const device = visitor === "device";
const events = api + (device ? "events" : "events?unit=day");
let visitorId;
const send = (kind, bookingId) => {
	if (preview != null || navigator.doNotTrack === "1" || navigator.globalPrivacyControl || navigator.webdriver) return;
	visitorId ||= "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx".replace(/x/g, () => (Math.random() * 16 | 0).toString(16));
	if (device) try {
		const kept = localStorage.placementVisitor;
		if (/^[\da-f-]{36}$/i.test(kept)) visitorId = kept;
		else localStorage.placementVisitor = visitorId;
	} catch {}
	const body = JSON.stringify({ bookingId, kind, visitorId });
	if (sent[body]) return;
	sent[body] = true;
	const post = (keepalive) => fetch(events, { method: "POST", body, credentials: "omit", keepalive });
	try {
		if ("keepalive" in Request.prototype) return post(true).catch(() => post()).catch(() => {});
	} catch {}
	navigator.sendBeacon?.(events, body);
};

// An impression: half in view for a second.
const seen = new Set();
const time = (card) => {
	clearTimeout(card.timer);
	if (!document.hidden && !document.prerendering && seen.has(card)) card.timer = setTimeout(() => card.isConnected && send("impression", card.booking), 1000);
};
const observer = new IntersectionObserver((entries) => entries.forEach(({ target, intersectionRatio }) => {
	seen[intersectionRatio < 0.5 ? "delete" : "add"](target);
	time(target);
}), { threshold: 0.5 });
for (const change of ["visibilitychange", "prerenderingchange"]) addEventListener(change, () => seen.forEach(time));
const count = (card, booking) => {
	card.booking = booking;
	card.onclick = card.onauxclick = ({ button, target }) => {
		if (button < 2 && target.href) send("click", booking);
	};
	observer.observe(card);
};

const add = (to, tag, part, textContent, more) =>
	to.appendChild(Object.assign(document.createElement(tag), { part, textContent }, textContent && { dir: "auto" }, more));

const show = (box, own, state) => {
	const root = state.root ||= box.attachShadow({ mode: "open" });
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
		add(card, "p", "body", each.body);
		add(card, "p", "cta", each.cta);
		count(card, each.bookingId);
	}
};

const restore = ({ dataset }, { number = dataset.placed, root }) => {
	if (dataset.placed != number) dataset.placed = number;
	if (root && !root.adoptedStyleSheets[0]) root.adoptedStyleSheets = [sheet];
};

// Draws boxes, each by itself.
const places = new Set();
const states = new WeakMap();
const look = ({ dataset: { placements, slot, limit, label } = {} }) => [placements, slot, limit, label].join();
const draw = async () => {
	const changed = [document, ...places].flatMap((each) => [...each.querySelectorAll("[data-placements],[data-slot],[data-placement-booking]")]).filter((box) => {
		const { placementBooking, placements, service } = box.dataset || {};
		if (service ? service !== host : !first) return;
		if (placementBooking) return count(box, placementBooking);
		if (placements != null) box.dataset.placed ||= 0;
		const state = states.get(box);
		if (state?.look !== look(box)) return true;
		restore(box, state);
	});
	places.clear();
	if (!changed[0]) return;
	const answer = await fetch(api + "placements", { credentials: "omit", signal: AbortSignal.timeout?.(2e4) });
	const all = (await answer.json()).placements.filter((each) => ["bookingId", "logoText", "sponsorName", "headline", "body", "cta"].every((name) => each?.[name]?.trim));
	for (const box of changed) try {
		const state = states.get(box) || {};
		states.set(box, state);
		state.look = look(box);
		const { placements: side, slot, limit } = box.dataset;
		const wanted = (each) => (side ? side === each.side : side === "" || slot) && (!slot || slot === each.slotId);
		const own = all.filter(wanted).slice(0, limit >= 0 && limit.trim() ? limit : 1e3);
		if (own[0] || state.root) show(box, own, state);
		else if (side == null) continue;
		state.number = own.length;
		restore(box, state);
		const detail = { number: own.length, bookingIds: own.map((each) => each.bookingId) };
		box.dispatchEvent(new CustomEvent("placements:shown", { bubbles: true, composed: true, detail }));
	} catch {}
};

let calls = 0;
let running;
const reload = (root) => {
	if (root instanceof ShadowRoot) places.add(root);
	calls++;
	return running ||= (async () => {
		for (let met; met !== calls; await draw().catch(() => {})) met = calls;
		running = 0;
	})();
};

services[host] = reload;
if (!window.hasOwnProperty("placements")) window.placements = { reload: (root) => Promise.all(Object.values(services).map((each) => each(root))) };
document.readyState === "loading" ? addEventListener("DOMContentLoaded", reload) : reload();
} catch {}
