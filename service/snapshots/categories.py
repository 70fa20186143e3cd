"""The categories of a list: which entries each has, and what they are called. Pure."""

import json
from array import array
from collections.abc import Sequence
from unicodedata import normalize

MAX_LISTED = 1_000
"""Categories that are listed: those with most entries."""


class Categories:
    """The places in a list by category, in order. A place takes 8 bytes, and the cyclic collector tracks none of them."""

    __slots__ = ("_folded", "_names", "_numbered", "_numbers", "_places")

    def __init__(self) -> None:
        self._names: list[str] = []
        self._numbered: dict[str, int] = {}
        self._places: dict[str, array[int]] = {}
        # For each place, 0 or the number of its category, counted from 1.
        self._numbers = array("I")
        # Folded names, for callers that spell a category in another case.
        self._folded: dict[str, list[str]] = {}

    def add(self, category: str | None) -> None:
        """Add the next place, with the category of its entry."""
        place, number = len(self._numbers), 0
        if category is not None:
            places = self._places.get(category)
            if places is None:
                self._names.append(category)
                places = self._places[category] = array("I")
                self._numbered[category] = len(self._names)
                self._folded.setdefault(_folded(category), []).append(category)
            number = self._numbered[category]
            places.append(place)
        self._numbers.append(number)

    def of(self, place: int) -> str | None:
        """The category of a place."""
        number = self._numbers[place]
        return self._names[number - 1] if number else None

    def places(self, category: str) -> Sequence[int]:
        """The places of a category as its entries spell it."""
        return self._places.get(category, ())

    def named(self, name: str) -> str | None:
        """The category of this name, or the largest one that differs from it by case or by the composition of letters only.
        None if there is none."""
        name = name.strip()
        if name in self._places:
            return name
        alike = self._folded.get(_folded(name), ())
        return max(alike, key=lambda each: (len(self._places[each]), each), default=None)

    def counts(self) -> dict[str, int]:
        """The number of entries of each category."""
        return {category: len(places) for category, places in self._places.items()}


def _folded(name: str) -> str:
    return normalize("NFKC", name).casefold()


def categories_body(usecases: Categories, bots: Categories) -> bytes:
    """The categories of both lists by name, with their numbers of entries: `{"data": [{"name", "useCases", "bots"}]}`. At
    most 1,000, those with most entries."""
    of_usecases, of_bots = usecases.counts(), bots.counts()
    total = {name: of_usecases.get(name, 0) + of_bots.get(name, 0) for name in of_usecases | of_bots}
    listed = sorted(total, key=lambda name: (-total[name], name))[:MAX_LISTED]
    data = [
        {"name": name, "useCases": of_usecases.get(name, 0), "bots": of_bots.get(name, 0)}
        for name in sorted(listed, key=lambda name: (name.casefold(), name))
    ]
    return json.dumps({"data": data}, ensure_ascii=False, separators=(",", ":")).encode()
