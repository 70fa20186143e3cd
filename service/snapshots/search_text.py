"""The words of entries and of searches. Pure.

Both are brought to one spelling, so that a word is found however it is typed: Unicode's compatibility form (NFKC), lower
case, no accents. Words are letters or digits. `Node.js` has the words `node` and `js`, one after the other, and `nodejs`
beside them; `B2B` has three words. Scripts without spaces, and Hangul, are taken apart into pairs of neighbouring letters,
which are found within any longer text.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

MAX_FOLDED = 20_000
"""Characters whose spelling is remembered. There are too many to remember all that searches can contain."""
MAX_JOINED = 40
"""Letters of joined words. Longer ones are addresses, which nobody types without their signs."""
MAX_CHUNKS, MAX_LETTERS = 100_000, 2_000_000
"""Words with their signs that one reader remembers, and their letters."""

_UNDECOMPOSED = {
    **dict(zip("øđłıħŧðþ", ("o", "d", "l", "i", "h", "t", "d", "th"), strict=True)),
    **dict(zip("æœ", ("ae", "oe"), strict=True)),
}
"""Latin letters that Unicode does not take apart, in lower case."""
_ACCENTED = ("LATIN", "GREEK", "CYRILLIC", "HEBREW", "ARABIC", "COMBINING")
"""The scripts whose marks are left out, by the beginning of Unicode's names. In others, marks are vowels."""
_APOSTROPHES, _HYPHENS = "\u2018\u2019\u02bc\u02b9\u2032", "\u2010\u2011\u2012\u2212"
_QUOTES = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u300c\u300d"
_SPACELIKE = "\u200b\ufeff\u2060"
"""Characters without width that separate words."""

# Ideographs, kana, Hangul, and the scripts of Thailand, Laos, Burma and Cambodia.
_UNSPACED = (
    "\u0e01-\u0e4e\u0e80-\u0ece\u1000-\u104f\u1780-\u17dd\u1100-\u11ff\u3005-\u3007\u3041-\u30fa\u30fc-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_SIGNS = re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_PIECE = rf"[^\s{_SIGNS}]+"
# Pieces with one sign between each two, such as `a/b`. A quote or a bracket ends a run.
_RUN = re.compile(rf"{_PIECE}(?:[-!#$%&'*+,./:;=?@\\^_`|~]{_PIECE})*(?:\+\+|[+#](?![^\s{_SIGNS}]))?")
_SIGN = re.compile(rf"[{_SIGNS}]")
_PARTS = re.compile(rf"[{_UNSPACED}]+|\d+|[^\d{_UNSPACED}\s{_SIGNS}]+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)")
_POSSESSIVE = re.compile(r"'s(?![^\W_])")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_LATIN = re.compile(r"[A-Za-z]+")
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


_PUNCTUATION = ".,;:!?()"
_CONTROLS = dict.fromkeys((*range(32), 127), " ")


Stem = Callable[[str], str]
"""The stem of a word, or an empty text for a word that is too long."""


class Words(NamedTuple):
    """The words of a text. Those in `order` follow each other as in the text; `beside` has the joined ones, single letters of
    unspaced scripts, and parts of words, which phrases do not reach."""

    order: str
    beside: str


class _Folding(dict[int, str]):
    """The spelling of each character, found when it is first met."""

    def __missing__(self, code: int) -> str:
        if len(self) >= MAX_FOLDED:
            self.clear()
        folded = self[code] = _folded_character(chr(code))
        return folded


def _folded_character(character: str) -> str:
    if character in _UNDECOMPOSED:
        return _UNDECOMPOSED[character]
    if character.isascii():
        return _CONTROLS.get(ord(character), character)
    if character in _APOSTROPHES or character in _HYPHENS or character in _QUOTES:
        return "'" if character in _APOSTROPHES else "-" if character in _HYPHENS else '"'
    category = unicodedata.category(character)
    match category[0]:
        case "L" | "M":
            return _without_marks(character)
        case "N":
            return str(unicodedata.digit(character, character))
        case "S":
            # A sign such as an emoji is a word of its own. Modifiers change the colour of the one before.
            return "" if category == "Sk" else f" {character} "
    return "" if category == "Cf" and character not in _SPACELIKE else " "


def _without_marks(character: str) -> str:
    if unicodedata.category(character) in ("Mn", "Me"):
        name = unicodedata.name(character, "")
        return (
            "" if name.startswith((*_ACCENTED, "VARIATION")) or unicodedata.category(character) == "Me" else character
        )
    if not unicodedata.name(character, "").startswith(_ACCENTED):
        return character
    letters = "".join(part for part in unicodedata.normalize("NFD", character) if unicodedata.category(part) != "Mn")
    return _UNDECOMPOSED.get(letters, letters)


_FOLDING = _Folding()


def folded(text: str) -> str:
    """The text in the one spelling: words of letters, digits and marks, signs of ASCII, and spaces."""
    if text.isascii():
        return text.lower().translate(_CONTROLS)
    # Lower case can take letters apart again, which the folding of each character puts right.
    return unicodedata.normalize("NFKC", text).casefold().translate(_FOLDING)


class Reader:
    """Reads the stems of entries. What stands between two spaces is remembered, since most of it stands in many entries."""

    def __init__(self, stem: Stem) -> None:
        self._stem = stem
        self._beside: dict[str, str] = {}
        self._order = _Remembered(stem, self._beside)

    def words_of(self, text: str) -> Words:
        """The words of a text of any length, as stems."""
        if len(self._order) >= MAX_CHUNKS or self._order.letters >= MAX_LETTERS:
            self._beside.clear()
            self._order = _Remembered(self._stem, self._beside)
        chunks = text.split()
        order = " ".join(map(self._order.__getitem__, chunks))
        if self._beside.keys().isdisjoint(chunks):
            return Words(order, "")
        return Words(order, " ".join(filter(None, map(self._beside.get, chunks))))


class _Remembered(dict[str, str]):
    """The stems in order of each chunk. Those beside them, which few chunks have, are kept in `beside`."""

    def __init__(self, stem: Stem, beside: dict[str, str]) -> None:
        super().__init__()
        self._stem = stem
        self.letters = 0
        self._beside = beside

    def __missing__(self, chunk: str) -> str:
        words = words_of(chunk)
        if words.beside:
            self._beside[chunk] = " ".join(map(self._stem, words.beside.split()))
        self.letters += len(chunk)
        order = self[chunk] = " ".join(map(self._stem, words.order.split()))
        return order


def words_of(text: str) -> Words:
    """The words of a text."""
    bare = text.strip(_PUNCTUATION)
    if bare.isalpha() and bare.isascii() and (bare.islower() or bare[1:].islower()):
        return Words(bare.lower(), "")
    order: list[str] = []
    beside: list[str] = []
    for run in runs_of(folded(text)):
        order += pairs_of(run.parts)
        beside += run.joined
        beside += (letter for part in run.parts if is_unspaced(part) and len(part) > 1 for letter in part)
    if not text.islower():
        beside += (part.lower() for word in _LATIN.findall(text) for part in _humps_of(word))
    return Words(" ".join(order), " ".join(beside))


def _humps_of(word: str) -> Sequence[str]:
    """The parts of a word that has capitals within, such as `GitHub`."""
    parts = _CAMEL.findall(word)
    return parts if len(word) <= MAX_JOINED and len(parts) > 1 and "".join(parts) == word else ()


class Run(NamedTuple):
    """Words without a space between them: the parts of letters or digits in order, and ways to write some of them as one."""

    parts: tuple[str, ...]
    joined: tuple[str, ...] = ()
    signs: str = ""


def runs_of(text: str) -> Iterator[Run]:
    """The runs of a text that `folded` returned."""
    for run in _RUN.findall(_POSSESSIVE.sub("", text)):
        yield _run_of(run)


def _run_of(run: str) -> Run:
    if run.isalpha() and not _IS_UNSPACED.search(run):
        return Run((run,))
    bare = run.rstrip("+#")
    joined = [run] if bare != run else []
    for letters, pieces in groupby(_SIGN.split(bare), key=_is_spaced_word):
        if letters:
            joined += _joined(list(pieces))
    joined += (number.replace(",", "") for number in _THOUSANDS.findall(bare))
    return Run(tuple(_PARTS.findall(bare)), tuple(joined), "".join(dict.fromkeys(_SIGN.findall(bare))))


def _is_spaced_word(piece: str) -> bool:
    return piece.isalpha() and not _IS_UNSPACED.search(piece)


def _joined(pieces: Sequence[str]) -> Sequence[str]:
    """All pieces as one word, and each with its neighbour."""
    if len(pieces) == 1:
        return ()
    ways = {"".join(pieces), *map("".join, pairwise(pieces))}
    return sorted(way for way in ways if len(way) <= MAX_JOINED)


def is_unspaced(part: str) -> bool:
    """Whether a part of a run belongs to a script that is taken apart into pairs."""
    return _IS_UNSPACED.match(part) is not None


def pairs_of(parts: Iterable[str]) -> Iterator[str]:
    """The words by which parts are indexed: themselves, or the pairs of neighbouring letters of unspaced ones."""
    for part in parts:
        if is_unspaced(part) and len(part) > 1:
            yield from map("".join, pairwise(part))
        else:
            yield part
