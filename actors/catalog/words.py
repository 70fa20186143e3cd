"""The vocabulary of the catalog, and the terms of a relaxed search, which runs if no entry has all words. Pure.

Words are those of the store: Postgres keeps stems, so `invoices` is `invoic` here.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log

MOST_WORDS = 100_000
"""The words of one list that are kept: those in most entries."""
LONGEST_WORD = 40
MOST_TERMS = 8
"""The words of one search that are looked for: the rarest. A search has at most 200 characters."""
MOST_COMBINED = 6
"""The rarest words, of which candidates must have some. 6 of them have at most 20 combinations of a size."""
MOST_SCANNED = 5_000
"""Entries that are read for having one word only, unless the rarest word has more."""
MOST_CORRECTED = 4
"""Unknown words of one search that are compared with all others."""
MOST_ENDINGS = 10
MOST_CORRECTIONS = 3

SHORTEST_START = 2
"""Letters after which an unfinished word is completed."""
SHORTEST_CORRECTED, LONG = 4, 8
"""A word of 4 letters may have one mistake, one of 8 two. Shorter words are too near to each other."""
_ENDINGS = (
    "s es ed er ers or ors e y ies ing ings ly al ally ment ments ness ion ions ation ations ition ive able ible ability"
    " ibility ity ance ence ant ent"
)
ENDINGS = tuple(_ENDINGS.split())
"""The endings that Postgres takes off words, in the main."""
GUESSED = 0.7
"""The weight of a corrected word, which may not be what was meant."""
IN_TITLE = 2.0
"""How much the place of a word adds to its weight: a title triples it, other fields add less."""
FAR_BEHIND = 0.25
"""Entries with a lower share of the best score are not returned."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a search: the words of the catalog that stand for it, any of which matches. `weight` is higher for a word
    that fewer entries have."""

    words: tuple[str, ...]
    weight: float


class Vocabulary:
    """The words of one list with the number of entries that have each. Words of letters only, in the order of their code
    points.

    `add` does the work of building it, so that a long list can be taken in pieces. `entries` is the
    number of entries of the list.
    """

    __slots__ = ("_alike", "_counts", "_sorted", "entries")

    def __init__(self) -> None:
        self.entries = 0
        self._counts: dict[str, int] = {}
        self._sorted: list[str] = []
        # Words by first letter and length: the only ones that a misspelled word is compared with.
        self._alike: dict[tuple[str, int], list[str]] = {}

    def add(self, words: Iterable[tuple[str, int]]) -> None:
        """Add the next words, after all that were added before. Those that are not of letters are left out."""
        for word, count in words:
            assert not self._sorted or self._sorted[-1] < word, f"{word!r} is out of order"
            if is_kept(word):
                self._counts[word] = count
                self._sorted.append(word)
                self._alike.setdefault((word[0], len(word)), []).append(word)

    def __len__(self) -> int:
        return len(self._sorted)

    def __contains__(self, word: str) -> bool:
        return word in self._counts

    def weight(self, words: Iterable[str]) -> float:
        """The weight of having one of these words: higher, the fewer entries have one. An unknown word counts as rare."""
        return log(1 + max(self.entries, 1) / self.count(words))

    def count(self, words: Iterable[str]) -> int:
        """At least as many entries as have one of these words. A word that is not known counts as one entry."""
        return sum(self._counts.get(word, 1) for word in words)

    def beginning_with(self, start: str) -> tuple[str, ...]:
        """The words that most entries have of those that begin so, at most 10."""
        begin = bisect_left(self._sorted, start)
        end = bisect_left(self._sorted, start + "\U0010ffff", begin)
        return self._commonest(self._sorted[begin:end], MOST_ENDINGS)

    def near(self, word: str) -> tuple[str, ...]:
        """The words that differ by the fewest letters, at most 3, or none. A swap of two neighbours counts once. The first
        letter must be right, unless it was swapped or is one too many. Failing that, stems with an ending are compared."""
        mistakes = _mistakes_of(word)
        if not mistakes:
            return ()
        # Imported by the first misspelled word: a process that corrects none does without it.
        from rapidfuzz.distance import OSA
        from rapidfuzz.process import extract

        found: list[tuple[int, str]] = []
        for first in dict.fromkeys(word[:2]):
            for length in range(len(word) - mistakes, len(word) + mistakes + 1):
                alike = self._alike.get((first, length))
                if alike:
                    rated = extract(word, alike, scorer=OSA.distance, score_cutoff=mistakes, limit=None)
                    found += [(int(distance), near) for near, distance, _ in rated]
        found = found or self._with_endings(word, mistakes)
        fewest = min((distance for distance, _ in found), default=0)
        return self._commonest([near for distance, near in found if distance == fewest], MOST_CORRECTIONS)

    def _with_endings(self, word: str, mistakes: int) -> list[tuple[int, str]]:
        """The stems that an ending makes into a word near this one, with the distance. A misspelled ending is not part of the
        rules by which the store finds stems. The stem itself must be right."""
        from rapidfuzz.distance import OSA

        found: list[tuple[int, str]] = []
        for end in range(SHORTEST_CORRECTED, len(word)):
            stem = word[:end]
            if stem in self._counts:
                rated = ((OSA.distance(word[end:], ending), len(ending)) for ending in ENDINGS)
                # More of the ending is right than wrong, or any letters would do for a short one.
                found += [
                    (distance, stem) for distance, length in rated if distance <= mistakes and 2 * distance < length
                ]
        return found

    def _commonest(self, words: Sequence[str], most: int) -> tuple[str, ...]:
        return tuple(sorted(set(words), key=lambda word: (-self._counts[word], word))[:most])


NO_WORDS = Vocabulary()


def is_kept(word: str) -> bool:
    """Whether a vocabulary has room for such a word: numbers, addresses and compounds are too many, and are not misspelled
    in these ways."""
    return word.isalpha() and len(word) <= LONGEST_WORD


def terms_of(words: Sequence[str], vocabulary: Vocabulary) -> tuple[Term, ...]:
    """The terms of a search for these words, which are in the order in which they were typed; rarest first, at most 8.

    An unknown word stands for those that begin with it if it is the last, else for the nearest ones. If there are none, it is
    left out.
    """
    terms, corrected = [], 0
    for place, word in enumerate(words):
        if word in vocabulary or not is_kept(word):
            terms.append(Term((word,), vocabulary.weight((word,))))
            continue
        last = place == len(words) - 1 and len(word) >= SHORTEST_START
        meant, certainty = vocabulary.beginning_with(word) if last else (), 1.0
        if not meant and corrected < MOST_CORRECTED:
            corrected += 1
            meant, certainty = vocabulary.near(word), GUESSED
        if meant:
            terms.append(Term(meant, certainty * vocabulary.weight(meant)))
    by_words = {term.words: term for term in terms}
    return tuple(sorted(by_words.values(), key=lambda term: -term.weight)[:MOST_TERMS])


def steps_of(terms: Sequence[Term], vocabulary: Vocabulary) -> Iterator[tuple[tuple[Term, ...], ...]]:
    """The demands on entries, from the strictest to the weakest: an entry must have all terms of one choice of a step.

    Only the rarest terms are demanded, and in the last step those that few enough entries have.
    """
    demanded = terms[:MOST_COMBINED]
    for size in range(len(demanded), 1, -1):
        yield tuple(combinations(demanded, size))
    single: list[tuple[Term, ...]] = []
    entries = 0
    for term in demanded:
        entries += vocabulary.count(term.words)
        if not single or entries <= MOST_SCANNED:
            single.append((term,))
    if single:
        yield tuple(single)


def near_the_best(ranked: Sequence[tuple[str, float]]) -> tuple[str, ...]:
    """The slugs of entries that are not far behind the first one, by their scores."""
    least = FAR_BEHIND * ranked[0][1] if ranked else 0.0
    return tuple(slug for slug, score in ranked if score >= least)


def _mistakes_of(word: str) -> int:
    """The most mistakes with which a word is still recognised."""
    return 2 if len(word) >= LONG else 1 if len(word) >= SHORTEST_CORRECTED else 0
