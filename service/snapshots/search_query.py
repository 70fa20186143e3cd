"""The queries of one search, from the exact to the most relaxed one, and the order of what they find. Pure but for `tantivy`.

No text of a caller is parsed here: queries are objects made of the terms of a search.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import log
from operator import neg
from typing import Any, NamedTuple

from tantivy import DocAddress, Occur, Query, Searcher

from service.snapshots.search_terms import MAX_WORDS, Asked, Side, Spelled, Term, Way, loosened
from service.snapshots.search_text import Stem, is_of_letters

ALL, TITLE, TOPIC = "all", "title", "topic"
"""The fields of words: the whole entry, its title or name, and what it is about (category, job, title of the guide)."""

IN_TITLE, IN_TOPIC = 3, 1
"""How much the place of a word adds to its weight, which it has anywhere."""
IN_ALL_FIELDS = 1 + IN_TITLE + IN_TOPIC
TITLE_SHARE = 2
"""The words of a search beside each other in a title count half as much again."""
FINEST = 8
"""Steps of weights for a word that is e times as rare."""
MAX_RANK = 4_000
"""About the most that a rank can be. With the week, it fits into the 24 bits of tantivy's scores."""
GUESSED, COMPLETED = 0.7, 0.4
"""The worth of a word that stands for an unknown one, and of one that continues a known one."""
FAR_BEHIND = 0.15
"""Entries with a lower share of the best rank are no result of a relaxed search."""
HAVING = 1.0
"""What each word counts for itself if not all are needed, beside its rarity, so that many common words outweigh
a rare one."""
MAX_RELAXED = 8
MAX_SCANNED = 5_000
"""Entries that are read for having few of the words, unless the rarest word has more."""
MAX_GUESSED = 4
"""Unknown words of one search that are completed or corrected."""
SHORTEST_START, SHORTEST_COMPLETED = 2, 3
"""Letters after which an unfinished word is completed: if it is unknown, and if it is known."""
SHORTEST_CORRECTED, SHORTEST_CORRECTED_TWICE = 4, 8
"""A word of 4 letters may have one mistake, one of 8 two. Shorter words are too near to each other."""
SHORTEST_FAMILY = 6
"""Letters that words of one family share, such as `genealogy` and `genealogist`."""
MAX_WAYS = 3
RELATED_TERMS, RELATED_BEHIND = 12, 0.4
PAGE, TIMES, LARGEST_PAGE = 100, 8, 8_000
"""Hits that are read beyond the limit, and how many times as many are read next, while all have the rank of the last one."""
MAX_COUNTED = 10_000
"""Terms whose number of entries is remembered until the next change."""

_WRITTEN = (
    "s es ed er ers or ors e y ies ing ings ly al ally ment ments ness ion ions ation ations ition ive able ible ability"
    " ibility ity ance ence ant ent"
)
_ENDINGS = tuple(_WRITTEN.split())
"""The endings that stemming takes off words, in the main."""
_DISTANCES = {Spelled.BEGINNING: 0, Spelled.ONE_MISTAKE: 1, Spelled.TWO_MISTAKES: 2}

_Clause = tuple[Occur, Query]


def _must(query: Query) -> _Clause:
    return Occur.Must, query


def _should(query: Query) -> _Clause:
    return Occur.Should, query


def _must_not(query: Query) -> _Clause:
    return Occur.MustNot, query


class Found(NamedTuple):
    """The slugs that a search found, best first. `relaxed` if no entry has all words, and these have the most of them."""

    slugs: tuple[str, ...]
    relaxed: bool = False


class Hit(NamedTuple):
    """An entry that was found. Hits sort by rank, then newest first, then by slug."""

    minus_rank: int
    minus_added_ms: int
    slug: str


@dataclass(slots=True)
class State:
    """The index after one change, which searches read, and the numbers of entries that were counted since."""

    schema: Any
    searcher: Searcher
    counted: dict[tuple[Way, ...], int] = field(default_factory=dict)

    @property
    def entries(self) -> int:
        return self.searcher.num_docs


@dataclass(frozen=True, slots=True)
class Search:
    """One search on one state; of one category if it is given."""

    state: State
    stem: Stem
    category: str | None = None

    def found(self, asked: Asked, limit: int) -> Found:
        if not asked.sides or not self.state.entries:
            return Found(())
        hits = self._exact(asked.sides, limit)
        if hits and len(hits) < limit and asked.plain:
            hits = self._completed(asked.sides, hits, limit)
        if hits or not asked.plain:
            return Found(tuple(hit.slug for hit in hits))
        joined = Asked(tuple(side._replace(wanted=self._joined(side.wanted)) for side in asked.sides))
        hits = self._exact(joined.sides, limit) if joined.sides != asked.sides else ()
        if hits:
            return Found(tuple(hit.slug for hit in hits))
        known = [term for term in asked.words if term in joined.words or self._count(term.ways)]
        hits = self._relaxed([*(term for term in joined.words if term not in known), *known], limit)
        return Found(tuple(hit.slug for hit in hits), relaxed=bool(hits))

    def related(self, slug: str, terms: Sequence[Term], limit: int, category: str | None = None) -> tuple[str, ...]:
        """The slugs of the entries that have the rarest of these terms, without the entry that has them all. To share the
        `category` counts like a word of the title that as many entries have."""
        known = [term for term in dict.fromkeys(terms) if not term.common and self._count(term.ways) > 1]
        weights = self._weights(known)
        best = sorted(known, key=lambda term: -weights[term])[:RELATED_TERMS]
        near = self._most(best) if best else Query.empty_query()
        if category is not None:
            shared = self._term("category", category)
            sharing = self._number(shared)
            # All of a small category are near. Those of a large one take too long to read, and need a word in common.
            common = _must(near) if sharing > MAX_SCANNED else _should(near)
            points = int(IN_TITLE * FINEST * (HAVING + self._rarity(sharing)))
            near = Query.boolean_query([common, _should(self._scored(shared, points))])
        query = Query.boolean_query([_must(near), _must_not(self._term("slug", slug))])
        return tuple(hit.slug for hit in near_the_best(self._hits(query, limit), RELATED_BEHIND))

    # All words.

    def _exact(self, sides: Iterable[Side], limit: int) -> Sequence[Hit]:
        queries = [query for side in sides if (query := self._all(side)) is not None]
        if not queries:
            return ()
        return self._hits(_either(queries), limit)

    def _all(self, side: Side) -> Query | None:
        """The entries that have all terms but the common ones. None if one of the terms is nowhere."""
        demanded = [term for term in side.wanted if not term.common]
        if not all(self._count(term.ways) for term in demanded):
            return None
        # The rarest ones, if there are too many. Common words count in titles only, since most entries have them elsewhere.
        demanded = sorted(demanded, key=lambda term: self._count(term.ways))[:MAX_WORDS]
        weights = self._weights(demanded)
        clauses = [_must(self._in(ALL, term, weights[term])) for term in demanded] or [_must(Query.all_query())]
        clauses += self._in_fields(demanded, weights)
        clauses += (_should(self._in(TITLE, term)) for term in side.wanted if term.common)
        clauses += self._as_typed(side, sum(weights.values()) // TITLE_SHARE)
        clauses += (_must_not(self._in(ALL, term)) for term in side.unwanted)
        return Query.boolean_query(clauses)

    def _as_typed(self, side: Side, points: int) -> Iterable[_Clause]:
        stems = [stem for term in side.wanted for stem in term.ways[0].stems]
        if points and 2 <= len(stems) <= MAX_RELAXED:
            yield _should(self._scored(self._phrase(TITLE, stems), points))

    def _completed(self, sides: Sequence[Side], hits: Sequence[Hit], limit: int) -> Sequence[Hit]:
        """The hits, then the entries whose words continue the last one."""
        *before, last = sides
        term = last.wanted[-1] if last.wanted else None
        if term is None or len(term.word) < SHORTEST_COMPLETED or term.common:
            return hits
        continued = term._replace(ways=(*term.ways, Way((term.word,), worth=COMPLETED, spelled=Spelled.BEGINNING)))
        more = self._exact([*before, last._replace(wanted=(*last.wanted[:-1], continued))], limit)
        known = {hit.slug for hit in hits}
        return [*hits, *(hit for hit in more if hit.slug not in known)][:limit]

    # Most words.

    def _relaxed(self, words: Sequence[Term], limit: int) -> Sequence[Hit]:
        terms = loosened([term for term in words if not term.common] or words)[: 2 * MAX_WORDS]
        guessed, meant = 0, list[Term]()
        for place, term in enumerate(terms):
            if not self._count(term.ways) and term.word and guessed < MAX_GUESSED:
                guessed += 1
                term = term._replace(ways=self._guesses(term, last=place == len(terms) - 1))
            if term.ways and self._count(term.ways):
                meant.append(term)
        return near_the_best(self._hits(self._most(meant), limit), FAR_BEHIND) if meant else ()

    def _most(self, terms: Sequence[Term]) -> Query:
        """The entries that have one of the rarest terms, by all that they have."""
        weights = self._weights(terms, HAVING)
        best = sorted(terms, key=lambda term: -weights[term])[:RELATED_TERMS]
        scanned, rare = 0, list[Term]()
        for term in best:
            scanned += self._count(term.ways)
            if not rare or scanned <= MAX_SCANNED:
                rare.append(term)
        others = [term for term in best if term not in rare]
        demanded = [_should(self._in(ALL, term, weights[term])) for term in rare]
        clauses = [
            _must(Query.boolean_query(demanded)),
            *(_should(self._in(ALL, term, weights[term])) for term in others),
        ]
        return Query.boolean_query([*clauses, *self._in_fields(best, weights)])

    def _guesses(self, term: Term, *, last: bool) -> tuple[Way, ...]:
        """The words for which an unknown one may stand: those that it begins if it is the last, else the nearest ones."""
        continued = self._continuations(term.word) if last and len(term.word) >= SHORTEST_START else ()
        for ways in (continued, self._singulars(term.word)):
            if any(self._count((way,)) for way in ways):
                return tuple(ways)
        return self._corrections(term.word) if is_of_letters(term.word) else ()

    def _continuations(self, word: str) -> Sequence[Way]:
        """The words that begin so, and the stem of a word whose ending is unfinished."""
        stems = [word[:end] for end in range(SHORTEST_COMPLETED, len(word)) if _begins_ending(word[end:])]
        begins = Way((word,), worth=GUESSED, spelled=Spelled.BEGINNING)
        return [begins, *(Way((stem,), worth=GUESSED) for stem in stems)]

    def _singulars(self, word: str) -> Sequence[Way]:
        """The words that begin with the stem of a word in the plural, or with another ending."""
        stem = self.stem(word)
        ended = SHORTEST_COMPLETED <= len(stem) < len(word) and word.startswith(stem)
        return [Way((stem,), worth=GUESSED, spelled=Spelled.BEGINNING)] if ended else ()

    def _corrections(self, word: str) -> tuple[Way, ...]:
        mistakes = mistakes_of(word)
        spellings = filter(None, dict.fromkeys((self.stem(word), word)))
        for spelled, spelling in product((Spelled.ONE_MISTAKE, Spelled.TWO_MISTAKES)[:mistakes], spellings):
            way = Way((spelling,), worth=GUESSED, spelled=spelled)
            if self._count((way,)):
                return (way,)
        ways = [Way(stems, worth=GUESSED) for stems in (*self._halves(word), *self._misspelled_endings(word, mistakes))]
        ways += (Way((start,), worth=GUESSED, spelled=Spelled.BEGINNING) for start in _without_endings(word))
        return tuple(way for way in ways if self._count((way,)))[:MAX_WAYS]

    def _halves(self, word: str) -> Iterable[tuple[str, ...]]:
        """Two words that were written as one."""
        for end in range(SHORTEST_START, len(word) - SHORTEST_START + 1):
            stems = self.stem(word[:end]), self.stem(word[end:])
            if all(stems) and all(self._count((Way((stem,)),)) for stem in stems):
                yield stems

    def _joined(self, terms: Sequence[Term]) -> tuple[Term, ...]:
        """The terms, but one for two neighbours that are a known word if they are written as one."""
        made: list[Term] = []
        for term in terms:
            both = made[-1].word + term.word if made and made[-1].word and term.word else ""
            way = Way((self.stem(both),))
            if is_of_letters(both) and not (made[-1].common and term.common) and self._count((way,)):
                made[-1] = Term((way,))
            else:
                made.append(term)
        return tuple(made)

    def _misspelled_endings(self, word: str, mistakes: int) -> Iterable[tuple[str, ...]]:
        """The known stems of a word whose rest is a misspelled ending, of which more is right than wrong."""
        for end in range(SHORTEST_CORRECTED, len(word)):
            if self._count((Way((word[:end],)),)) and any(
                2 * (wrong := distance(word[end:], ending)) < len(ending) and wrong <= mistakes for ending in _ENDINGS
            ):
                yield (word[:end],)

    # Weights.

    def _count(self, ways: tuple[Way, ...]) -> int:
        """How many entries have one of these ways."""
        known = self.state.counted.get(ways)
        if known is None:
            if len(self.state.counted) >= MAX_COUNTED:
                self.state.counted.clear()
            known = self.state.counted[ways] = self._number(_either([self._way(ALL, way) for way in ways]))
        return known

    def _number(self, query: Query) -> int:
        found: int = self.state.searcher.search(query, limit=1, count=True).count  # type: ignore[attr-defined]
        return found

    def _rarity(self, count: int) -> float:
        return log(1 + self.state.entries / max(1, count))

    def _weights(self, terms: Sequence[Term], least: float = 0.0) -> Mapping[Term, int]:
        """Whole numbers, so that sums do not depend on the order of adding. Higher for a term that fewer entries have."""
        exact = {term: least + self._rarity(self._count(term.ways)) for term in terms}
        scale = min(FINEST, MAX_RANK / (IN_ALL_FIELDS + 1) / max(1.0, sum(exact.values())))
        return {term: max(1, int(scale * weight)) for term, weight in exact.items()}

    # Queries.

    def _in_fields(self, terms: Sequence[Term], weights: Mapping[Term, int]) -> Iterable[_Clause]:
        for name, times in ((TITLE, IN_TITLE), (TOPIC, IN_TOPIC)):
            yield from (_should(self._in(name, term, times * weights[term])) for term in terms)

    def _in(self, name: str, term: Term, points: int = 1) -> Query:
        """The entries that have a term in a field, each with the points of the best way."""
        return _either([self._scored(self._way(name, way), max(1, int(way.worth * points))) for way in term.ways])

    def _way(self, name: str, way: Way) -> Query:
        if way.spelled is not Spelled.EXACTLY:
            begins = way.spelled is Spelled.BEGINNING
            if begins and name == ALL and len(way.stems[0]) < SHORTEST_COMPLETED:
                # So many words begin with two letters that only those of titles are read.
                name = TITLE
            return Query.fuzzy_term_query(self.state.schema, name, way.stems[0], _DISTANCES[way.spelled], True, begins)
        if len(way.stems) == 1:
            return self._term(name, way.stems[0])
        if way.tight:
            return self._phrase(name, way.stems)
        return Query.boolean_query([_must(self._term(name, stem)) for stem in way.stems])

    def _term(self, name: str, text: str) -> Query:
        return Query.term_query(self.state.schema, name, text)

    def _phrase(self, name: str, stems: Sequence[str]) -> Query:
        return Query.phrase_query(self.state.schema, name, list(stems))

    def _scored(self, query: Query, points: int) -> Query:
        return Query.const_score_query(query, float(points))

    # Hits.

    def _hits(self, query: Query, limit: int) -> Sequence[Hit]:
        """At most `limit` hits, best first. All that share the last rank are read, since any of them may be the newest."""
        if self.category is not None:
            within = self._scored(self._term("category", self.category), 0)
            query = Query.boolean_query([_must(query), _must(within)])
        searcher, size = self.state.searcher, limit + PAGE
        read: list[tuple[Any, DocAddress]] = []
        while True:
            page = searcher.search(query, limit=size, count=False, offset=len(read), weight_by_field="week").hits
            read += page
            if len(page) < size or read[-1][0] < read[limit - 1][0]:
                break
            size = min(TIMES * size, LARGEST_PAGE)
        if len(read) > limit:
            least = read[limit - 1][0]
            read = [each for each in read if each[0] >= least]
        added: Sequence[Any] = searcher.fast_field_values("added", [address for _, address in read])
        slugs = (str(searcher.doc(address).get_first("slug")) for _, address in read)
        hits = zip((-int(score) for score, _ in read), map(neg, added), slugs, strict=True)
        return sorted(Hit(*each) for each in hits)[:limit]


def _either(queries: Sequence[Query]) -> Query:
    return queries[0] if len(queries) == 1 else Query.disjunction_max_query(list(queries))


def near_the_best(hits: Sequence[Hit], share: float) -> Sequence[Hit]:
    """The hits that are not far behind the first one."""
    return [hit for hit in hits if hit.minus_rank <= share * hits[0].minus_rank]


def mistakes_of(word: str) -> int:
    """The most mistakes with which a word is still recognised."""
    return (len(word) >= SHORTEST_CORRECTED) + (len(word) >= SHORTEST_CORRECTED_TWICE)


def _begins_ending(text: str) -> bool:
    return any(ending.startswith(text) for ending in _ENDINGS)


def _without_endings(word: str) -> Iterable[str]:
    """The beginnings that a word shares with others of its family, the longest first."""
    for ending in sorted(_ENDINGS, key=len):
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_FAMILY:
            yield word.removesuffix(ending)


def distance(one: str, other: str) -> int:
    """The letters that must be replaced, left out, added, or swapped with their neighbours."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        following = [number]
        for place, wanted in enumerate(other, 1):
            least = min(row[place] + 1, following[-1] + 1, row[place - 1] + (letter != wanted))
            if before and place > 1 and letter == other[place - 2] and one[number - 2] == wanted:
                least = min(least, before[place - 2] + 1)
            following.append(least)
        before, row = row, following
    return row[-1]
