"""What a search asks for: the words of `q` with all ways to write each, phrases, excluded words and alternatives. Pure.

`q` is a few words, "phrases in quotes", `-word` or `-"phrase"` to exclude, and `or` between alternatives. Every text is a
search: what is no word and no sign of this list separates words.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import chain, groupby
from operator import itemgetter
from typing import NamedTuple

from service.snapshots.search_text import MAX_JOINED, Run, Stem, folded, is_of_letters, is_unspaced, pairs_of, runs_of

MAX_WORDS = 24
"""Words of one side of a search that are demanded. A search of 200 characters can hold 100."""
MAX_UNWANTED = 16
MAX_SIDES = 8
MAX_PHRASE = 6
"""Words of a typed phrase that has synonyms."""

_DELIMITED = re.compile(r'(?P<minus>(?<!\S)-(?=[^\s-]))?(?:"(?P<phrase>[^"]*)"?|(?P<chunk>[^\s"]+))')
_BRACKETS = str.maketrans(dict.fromkeys("()[]{}<>", " "))
_LOOSE = frozenset("/,|;=?*\\~<>")
"""Signs that stand between words which need not be beside each other."""

_FUNCTION_WORDS = """
    a about above after again all also am an and any anybody anyone anything are as at be because been before being
    below between both but by can cannot could did do does down during each either else ever every everybody everyone
    everything for from further get gets getting give gives got had has have having he her here hers him his how i if
    in into is it its just let lets like lot lots many may me might mine more most much must my need needs no nor not
    of off on only or other our out over own please same shall she should so some somebody someone something such tell
    than that the their them then there these they thing things this those through to too under until up us very want
    wants was way ways we were what when where whether which while who whom whose why will with within without would
    yes you your
"""
COMMON = frozenset(_FUNCTION_WORDS.split())
"""Words that sentences are made of. They are demanded only of a search that has no others."""


_CONTRACTED = frozenset(("t", "ll", "re", "ve", "d", "m"))


class Spelled(Enum):
    """How a word of an entry relates to the one that is looked for."""

    EXACTLY = 0
    BEGINNING = 1
    ONE_MISTAKE = 2
    TWO_MISTAKES = 3


class Way(NamedTuple):
    """One way to write a word, as stems: beside each other if it is `tight`. A lesser `worth` is for what was not typed. Only
    a single stem may be spelled otherwise."""

    stems: tuple[str, ...]
    tight: bool = True
    worth: float = 1.0
    spelled: Spelled = Spelled.EXACTLY


class Term(NamedTuple):
    """One word or phrase with the ways to write it. `word` is what may be misspelled or unfinished, or empty; one with digits
    may be unfinished only. One that is `common` adds to the rank only, unless the search has no others."""

    ways: tuple[Way, ...]
    word: str = ""
    common: bool = False


class Side(NamedTuple):
    """The terms that an entry must have, and those that it must not have."""

    wanted: tuple[Term, ...] = ()
    unwanted: tuple[Term, ...] = ()


class Asked(NamedTuple):
    """A search: one of its sides must hold. A `plain` one has neither phrases nor exclusions, which ask for exactness."""

    sides: tuple[Side, ...]
    plain: bool = True

    @property
    def words(self) -> Sequence[Term]:
        """The wanted words of all sides."""
        return tuple(dict.fromkeys(chain.from_iterable(side.wanted for side in self.sides)))


Synonyms = Mapping[str, Sequence[tuple[str, ...]]]
"""For the stems of a word or phrase, with spaces between them, those of others that mean the same."""


def synonyms_of(groups: Iterable[Sequence[str]], stem: Stem) -> Synonyms:
    """The synonyms of each text of some groups."""
    reader, found = _Reader(stem, {}), dict[str, list[tuple[str, ...]]]()
    for group in groups:
        ways = list(filter(None, (_as_written(reader.terms(quoted=False, text=folded(text))) for text in group)))
        for way in ways:
            known = found.setdefault(" ".join(way), [])
            known += (other for other in ways if other != way and other not in known)
    return found


def asked(q: str, stem: Stem, synonyms: Synonyms) -> Asked:
    """What `q` asks for. Without a word, no side."""
    reader = _Reader(stem, synonyms)
    sides: list[Side] = []
    plain = True
    for wanted, unwanted in _sides(folded(q).translate(_BRACKETS)):
        made = _side(reader, wanted, unwanted)
        plain = plain and not unwanted and not any(quoted for quoted, _ in wanted)
        if (made.wanted or made.unwanted) and made not in sides:
            sides.append(made)
    return Asked(tuple(sides[:MAX_SIDES]), plain)


_Pieces = list[tuple[bool, str]]
"""Texts of a search, each with whether it is quoted."""


def _sides(text: str) -> Iterator[tuple[_Pieces, _Pieces]]:
    wanted: _Pieces = []
    unwanted: _Pieces = []
    for match in _DELIMITED.finditer(text):
        quoted = match["phrase"] is not None
        piece = match["phrase"] if quoted else match["chunk"]
        if not quoted and piece == "or" and (wanted or unwanted) and text[match.end() :].strip():
            yield wanted, unwanted
            wanted, unwanted = [], []
        else:
            (unwanted if match["minus"] else wanted).append((quoted, piece))
    yield wanted, unwanted


def _side(reader: "_Reader", wanted: _Pieces, unwanted: _Pieces) -> Side:
    terms = tuple(dict.fromkeys(reader.wanted(wanted)))[: 4 * MAX_WORDS]
    refused = chain.from_iterable(reader.terms(*piece, ways=False) for piece in unwanted)
    if all(term.common for term in terms):
        terms = tuple(term._replace(common=False) for term in terms)
    return Side(terms, tuple(dict.fromkeys(refused))[:MAX_UNWANTED])


class _Reader:
    def __init__(self, stem: Stem, synonyms: Synonyms) -> None:
        self._stem = stem
        self._synonyms = synonyms

    def wanted(self, pieces: _Pieces) -> Iterator[Term]:
        for quoted, each in groupby(pieces, key=itemgetter(0)):
            terms = list(chain.from_iterable(self.terms(*piece) for piece in each))
            yield from terms if quoted else self._with_phrases(terms)

    def _with_phrases(self, terms: Sequence[Term]) -> Sequence[Term]:
        """The terms, where those of a phrase with synonyms may each be written as one of these."""
        found = list(terms)
        for start in range(len(terms)):
            for end in range(start + 2, min(start + MAX_PHRASE, len(terms)) + 1):
                if ways := self._synonymous(_as_written(terms[start:end])):
                    found[start:end] = [term._replace(ways=(*term.ways, *ways)) for term in found[start:end]]
        return found

    def _synonymous(self, stems: Sequence[str]) -> Sequence[Way]:
        return [Way(each, tight=False, worth=0.6) for each in self._synonyms.get(" ".join(stems), ())]

    def terms(self, quoted: bool, text: str, *, ways: bool = True) -> Sequence[Term]:
        runs = list(runs_of(text))
        if quoted:
            stems = self._stems(chain.from_iterable(run.parts for run in runs))
            return (Term((Way(stems),)),) if stems else ()
        return [term for run in runs for term in self._of_run(run, ways=ways)]

    def _of_run(self, run: Run, *, ways: bool) -> Iterator[Term]:
        if len(run.parts) > 1 and _LOOSE.intersection(run.signs):
            for part in run.parts:
                yield from self._of_run(Run((part,)), ways=ways)
            return
        stems = self._stems(run.parts)
        signed = [each for each in run.joined if each[-1] in "+#"]
        if signed:
            yield Term((Way((signed[0],)), *(self._synonymous(signed[:1]) if ways else ())))
        elif stems:
            # Of a single word, what is beside it is the word without its article.
            whole = run.joined if len(run.parts) == 1 else (each for each in run.joined if each == "".join(run.parts))
            found = [Way(stems), *(Way((self._stem(each),)) for each in whole)]
            if ways:
                found += self._synonymous(stems)
            yield Term(tuple(found), _guessed(run), _is_common(run))

    def _stems(self, parts: Iterator[str] | Sequence[str]) -> tuple[str, ...]:
        return tuple(map(self._stem, pairs_of(parts)))


def _as_written(terms: Sequence[Term]) -> tuple[str, ...]:
    """The stems of some terms as they were typed."""
    return tuple(chain.from_iterable(term.ways[0].stems for term in terms))


def _guessed(run: Run) -> str:
    """The word of a run that may be misspelled or unfinished: a single one, if it is not too long for a word."""
    return _guessable(run.parts[0]) if len(run.parts) == 1 else ""


def _guessable(word: str) -> str:
    wordlike = is_of_letters(word) or word.isdecimal()
    return word if wordlike and len(word) <= MAX_JOINED and not is_unspaced(word) else ""


def _is_common(run: Run) -> bool:
    """Whether a run is a common word, a contraction such as `don't`, or a sign such as an emoji."""
    if run.signs == "'" and run.parts[-1] in _CONTRACTED:
        return True
    return len(run.parts) == 1 and (run.parts[0] in COMMON or not any(map(str.isalnum, run.parts[0])))


def loosened(terms: Sequence[Term]) -> Sequence[Term]:
    """The terms when an entry need not have them all: each stem of a compound by itself."""
    loose: list[Term] = []
    for term in terms:
        first = term.ways[0]
        if len(first.stems) > 1:
            loose += (Term((Way((stem,)),), _guessable(stem)) for stem in first.stems)
            loose += (Term((way,)) for way in term.ways[1:])
        else:
            loose.append(term)
    return tuple(dict.fromkeys(loose))
