"""The categories of a list: which entries each has, and what they are called. Pure."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from unicodedata import normalize

MAX_LISTED = 1_000
"""Categories that are listed: those with most entries."""

Member = tuple[str | None, bytes]
"""The category of an entry, if it has one, and the entry's key in its list."""


class Categories:
    """The keys of a list's entries by category, in order. Immutable."""

    __slots__ = ("_folded", "_keys")

    def __init__(
        self, keys: Mapping[str, tuple[bytes, ...]] | None = None, folded: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        self._keys = keys or {}
        # Folded names, for callers that spell a category in another case.
        self._folded = folded or {}

    def edited(self, gone: Iterable[Member], new: Iterable[Member]) -> "Categories":
        """These categories without the entries that are gone, and with the new ones. Categories without entries end."""
        keys, folded = dict(self._keys), dict(self._folded)
        left, added = _by_category(gone), _by_category(new)
        for category in left.keys() | added.keys():
            before, dropped = self._keys.get(category, ()), set(left[category])
            kept = [key for key in before if key not in dropped] if dropped else list(before)
            kept += added[category]
            kept.sort()
            if kept:
                keys[category] = tuple(kept)
            else:
                keys.pop(category, None)
            if bool(kept) != bool(before):
                alike = [name for name in folded.pop(_folded(category), ()) if name != category]
                alike += [category] if kept else []
                if alike:
                    folded[_folded(category)] = tuple(alike)
        return Categories(keys, folded)

    def keys(self, category: str) -> Sequence[bytes]:
        """The keys of a category as its entries spell it."""
        return self._keys.get(category, ())

    def named(self, name: str) -> str | None:
        """The category of this name, or the largest one that differs from it by case or by the composition of letters only.
        None if there is none."""
        name = name.strip()
        if name in self._keys:
            return name
        alike = self._folded.get(_folded(name), ())
        return max(alike, key=lambda each: (len(self._keys[each]), each), default=None)

    def counts(self) -> dict[str, int]:
        """The number of entries of each category."""
        return {category: len(keys) for category, keys in self._keys.items()}


def _by_category(members: Iterable[Member]) -> defaultdict[str, list[bytes]]:
    keys: defaultdict[str, list[bytes]] = defaultdict(list)
    for category, key in members:
        if category is not None:
            keys[category].append(key)
    return keys


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
