// The reference: a search as you type, the chosen language, and redirects of old addresses.
"use strict";

const form = document.querySelector("[data-find]");
const field = form.querySelector("input");
const list = document.querySelector("[data-find-rows]");
const status = document.querySelector("[data-find-status]");
const idle = document.querySelectorAll("[data-find-idle]");
let index;

// The same rules as in search.py, which serves readers without scripts.
const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
const FILLERS = new Set(["a", "an", "and", "for", "i", "in", "my", "of", "on", "the", "to"]);
const stem = (word) => (word.length > 3 && /[^s]s$/.test(word) ? word.slice(0, -1) : word);

function pointsOf(row, word) {
  if (row.strong.includes(` ${word}`)) return 4;
  if (row.strong.includes(word)) return 2;
  return row.weak.includes(word) ? 1 : 0;
}

function search(query) {
  const all = words(query).map(stem);
  const some = all.filter((word) => !FILLERS.has(word));
  const wanted = some.length ? some : all;
  const scored = index.map((row) => {
    const points = wanted.map((word) => pointsOf(row, word));
    return { row, found: points.filter(Boolean).length, sum: points.reduce((a, b) => a + b, 0) };
  });
  const most = Math.max(...scored.map(({ found }) => found));
  if (most === 0 || most * 2 < wanted.length) return [];
  const best = scored.filter(({ found }) => found === most);
  return best.sort((a, b) => b.sum - a.sum).map(({ row }) => row);
}

function element(tag, name, ...inside) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...inside);
  return made;
}

function item(row) {
  const link = element("a", "", element("span", `verb ${row.label.toLowerCase()}`, row.label), " ", element("span", "words", row.title));
  link.href = row.href;
  const note = row.note.split("`").map((part, at) => (at % 2 ? element("code", "", part) : part));
  return element("li", "", link, " ", element("span", "note-of", ...note));
}

function show() {
  const query = field.value.trim();
  const asked = query !== "" && index !== undefined;
  const found = asked ? search(query) : [];
  list.replaceChildren(...found.map(item));
  list.hidden = !asked;
  status.textContent = asked ? `${found.length || "No"} result${found.length === 1 ? "" : "s"}` : "";
  for (const part of idle) part.hidden = asked;
}

// The index is fetched when it is first needed. If that fails, the form still works.
let loading;
function load() {
  loading ??= fetch("/docs/search.json")
    .then((response) => (response.ok ? response.json() : undefined))
    .then((rows) => {
      index = rows;
      show();
    })
    .catch(() => {});
}

function clear() {
  field.value = "";
  show();
}

field.addEventListener("focus", load);
field.addEventListener("input", () => {
  load();
  show();
});

if (field.value.trim()) load();

form.addEventListener("submit", (event) => {
  const first = list.querySelector("a");
  if (first && !list.hidden) {
    event.preventDefault();
    first.click();
  }
});

// Sections of this page are hidden while results are shown.
list.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (link?.hash && link.pathname === location.pathname) clear();
});

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input:not([type=radio]), textarea, select");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    field.focus();
    field.select();
    return;
  }
  const links = [...list.querySelectorAll("a")];
  const at = links.indexOf(event.target);
  if (list.hidden || (event.target !== field && at < 0)) return;
  if (event.key === "Escape") {
    event.preventDefault();
    clear();
    field.focus();
  } else if (event.key === "ArrowDown") {
    event.preventDefault();
    links[Math.min(at + 1, links.length - 1)]?.focus();
  } else if (event.key === "ArrowUp") {
    event.preventDefault();
    (at > 0 ? links[at - 1] : field).focus();
  }
});

// Scroll the side list to the current page.
const side = document.querySelector(".contents .lists");
const current = side?.querySelector("[aria-current]") ?? side?.querySelector("details[open]");
if (current) side.scrollTop = current.offsetTop - side.offsetTop - side.clientHeight / 2;

// The chosen language holds for all pages.
const LANGUAGE = "referenceLanguage";
const languages = [...document.querySelectorAll(".languages input")];
for (const input of languages) {
  input.addEventListener("change", () => {
    try {
      localStorage.setItem(LANGUAGE, input.value);
    } catch {
      // The browser blocks storage.
    }
  });
}
try {
  const chosen = languages.find((input) => input.value === localStorage.getItem(LANGUAGE));
  if (chosen) chosen.checked = true;
} catch {
  // The browser blocks storage.
}

// Release 1.0 had all operations on one page.
function redirect() {
  const place = document.getElementById(location.hash.slice(1));
  const link = place?.matches(".operation-groups li") && place.querySelector("a");
  if (link) location.replace(link.href);
}
addEventListener("hashchange", redirect);
redirect();
