// Forms of a creative: counts characters by code points, as the API does, and updates the preview.

"use strict";

(() => {
  const inputs = new Map([...document.querySelectorAll("form :is(input, textarea)[id]")].map((input) => [input.id, input]));

  // The default logo of a brand, as in the API: up to three initials, or the first character.
  const initials = (name) => {
    const letters = name.split(/\s+/).flatMap((word) => /[\p{L}\p{N}]/u.exec(word) ?? []);
    return letters.join("").toUpperCase().slice(0, 3) || [...name.trim()].slice(0, 1).join("");
  };

  // In the form with brand and creative, these values come from the brand and its website.
  const typed = (part) => {
    const input = inputs.get(part);
    if (input) return input.value;
    if (part === "sponsor" && inputs.has("website")) return inputs.get("name").value;
    if (part === "targetUrl" && inputs.has("website")) return inputs.get("website").value;
    if (part === "logoText" && inputs.has("website")) return initials(inputs.get("name").value);
    return null;
  };

  const count = (place) => {
    const input = inputs.get(place.dataset.countOf);
    const most = Number(place.dataset.most);
    const used = [...input.value].length;
    place.textContent = used > most ? `${used - most} too many.` : `${most - used} left.`;
    place.classList.toggle("over", used > most);
    input.setAttribute("aria-invalid", String(used > most));
  };

  const paint = () => {
    for (const place of document.querySelectorAll("[data-count-of]")) count(place);
    for (const place of document.querySelectorAll("[data-shows]")) {
      const text = typed(place.dataset.shows);
      if (text !== null) place.textContent = text;
    }
  };

  for (const input of inputs.values()) input.addEventListener("input", paint);
  paint();
})();
