"""The words of entries and of searches. Pure.

Both are brought to one spelling, so that a word is found however it is typed: Unicode's compatibility form (NFKC), lower
case, no accents. Words are letters or digits. `Node.js` has the words `node` and `js`, one after the other, and `nodejs`
beside them; `B2B` has three words. Scripts without spaces, and Hangul, are taken apart into pairs of neighbouring letters,
which are found within any longer text.

Letters that people leave out or replace are brought to one form: accents, nukta, virama, tatweel, the Arabic forms of yeh,
kaf and heh. A trade mark sign is left out, and other signs made of letters are words of their own.
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

_OTHER_FORMS = {
    **dict(zip("øđłıħŧðþ", ("o", "d", "l", "i", "h", "t", "d", "th"), strict=True)),
    **dict(zip("æœ", ("ae", "oe"), strict=True)),
    **dict.fromkeys("\u0649\u06cc\u06d2", "\u064a"),
    **dict.fromkeys("\u0629\u06be\u06c1\u06d5", "\u0647"),
    "\u06a9": "\u0643",
}
"""Letters that Unicode does not take apart, in lower case: Latin ones, and Arabic yeh, heh and kaf as they are typed."""
_NUKTA, _VIRAMA = 7, 9
"""Canonical classes of marks that are often not typed."""
_ACCENTED = ("LATIN", "GREEK", "CYRILLIC", "HEBREW", "ARABIC", "COMBINING")
"""The scripts whose marks are left out, by the beginning of Unicode's names. In others, marks are vowels."""
_APOSTROPHES, _HYPHENS = "\u2018\u2019\u02bc\u02b9\u2032\u05f3", "\u2010\u2011\u2012\u2212"
_QUOTES = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u300c\u300d\u05f4"
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
_ARTICLE = re.compile("(?:[\u0648\u0628\u0643\u0641]?\u0627\u0644|\u0644\u0644)(?=..)")
"""The Arabic article, with the words that are written together with it."""

_STRETCHING = "\u0640\u07fa\u180a"
"""Tatweel, and its like in N'Ko and Mongolian."""
_REGIONAL = "\U0001f1e6-\U0001f1ff"
_IS_REGIONAL = re.compile(f"[{_REGIONAL}]")
_RAISED = "\u00aa\u00ba\u02b0-\u02b8\u02e0-\u02e4\u1d2c-\u1d61\u1d9b-\u1dbf\u2071\u207f"
_HEBREW = "[\u0591-\u05f2]"
_JOINTS = (
    (re.compile(f"[{_REGIONAL}]{{1,2}}"), r" \g<0> "),
    # Raised letters end abbreviations, and zero width non-joiners part compounds: both are found with and without.
    (re.compile(rf"(?<=[^\W{_RAISED}])[{_RAISED}]+"), r"-\g<0>"),
    (re.compile(r"(?<=[^\s\"(-])\u200c+(?=[^\s\"])"), "-"),
    (re.compile(f'(?<={_HEBREW})[{_QUOTES}"](?={_HEBREW})'), "'"),
)
"""What joins letters or keeps them apart, and what it becomes."""

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

    def __init__(self, spelling: Callable[[str], str]) -> None:
        super().__init__()
        self._spelling = spelling

    def __missing__(self, code: int) -> str:
        if len(self) >= MAX_FOLDED:
            self.clear()
        folded = self[code] = self._spelling(chr(code))
        return folded


def _parted_sign(character: str) -> str:
    """A character, with spaces around it if it is a sign that NFKC spells with letters, or a space for a trade mark."""
    if character in _STRETCHING:
        return ""
    if unicodedata.category(character)[0] != "S" or not any(map(str.isalpha, unicodedata.normalize("NFKC", character))):
        return character
    return " " if unicodedata.decomposition(character).startswith("<super>") else f" {character} "


def _folded_character(character: str) -> str:
    if character in _OTHER_FORMS:
        return _OTHER_FORMS[character]
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
            return "" if category == "Sk" else character if _IS_REGIONAL.match(character) else f" {character} "
    return "" if category == "Cf" and character not in _SPACELIKE else " "


def _without_marks(character: str) -> str:
    if unicodedata.category(character) in ("Mn", "Me"):
        name = unicodedata.name(character, "")
        left_out = unicodedata.category(character) == "Me" or _is_often_omitted(character)
        return "" if left_out or name.startswith((*_ACCENTED, "VARIATION")) else character
    if not unicodedata.name(character, "").startswith(_ACCENTED):
        parts = unicodedata.normalize("NFD", character)
        return unicodedata.normalize("NFC", "".join(part for part in parts if unicodedata.combining(part) != _NUKTA))
    letters = "".join(part for part in unicodedata.normalize("NFD", character) if unicodedata.category(part) != "Mn")
    return _OTHER_FORMS.get(letters, letters)


def _is_often_omitted(mark: str) -> bool:
    return unicodedata.combining(mark) in (_NUKTA, _VIRAMA) and not _IS_UNSPACED.match(mark)


_PARTED_SIGNS, _FOLDING = _Folding(_parted_sign), _Folding(_folded_character)


def folded(text: str) -> str:
    """The text in the one spelling: words of letters, digits and marks, signs of ASCII, and spaces."""
    if text.isascii():
        return text.lower().translate(_CONTROLS)
    text = text.translate(_PARTED_SIGNS)
    for joint, replacement in _JOINTS:
        text = joint.sub(replacement, text)
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
    if _is_spaced_word(run):
        return Run((run,), _without_article(run))
    bare = run.rstrip("+#")
    joined = [run] if bare != run else []
    for letters, pieces in groupby(_SIGN.split(bare), key=_is_spaced_word):
        if letters:
            joined += _joined(list(pieces))
    joined += (number.replace(",", "") for number in _THOUSANDS.findall(bare))
    return Run(tuple(_PARTS.findall(bare)), tuple(joined), "".join(dict.fromkeys(_SIGN.findall(bare))))


def _is_spaced_word(piece: str) -> bool:
    return is_of_letters(piece) and not _IS_UNSPACED.search(piece)


def is_of_letters(word: str) -> bool:
    """Whether a word has letters and their marks only, such as vowel signs."""
    return word.isalpha() or (word[:1].isalpha() and all(unicodedata.category(each)[0] in "LM" for each in word))


def _without_article(word: str) -> tuple[str, ...]:
    article = _ARTICLE.match(word)
    return (word[article.end() :],) if article else ()


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
