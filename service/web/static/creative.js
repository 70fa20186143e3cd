// The preview of a creative follows what is typed.
"use strict";
{
	const value = (id) => at(id)?.value;

	// The default logo, as in the API: up to three initials, or the first character.
	const initials = (name) => {
		const letters = name.split(/\s+/).flatMap((word) => /[\p{L}\p{N}]/u.exec(word) ?? []);
		return letters.join("").toUpperCase().slice(0, 3) || [...name.trim()].slice(0, 1).join("");
	};

	const paint = () => {
		// The form with a brand has no fields for these.
		const [sponsor, targetUrl] = [value("name"), value("website")];
		const brand = at("website") ? { sponsor, targetUrl, logoText: initials(sponsor) } : {};
		for (const place of all("[data-shows]")) {
			const text = value(place.dataset.shows) ?? brand[place.dataset.shows];
			if (text !== undefined) place.textContent = text.trim() || place.dataset.empty;
		}
	};

	addEventListener("input", paint);
	paint();
}
