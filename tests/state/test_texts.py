"""Texts that people write: which characters names and slogans refuse, and which words mix alphabets."""

import hashlib
import re
import sys
import unicodedata
from typing import Any

import emoji
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from service.schemas.campaigns import CampaignName, Copy, Cta, Headline, LogoText
from service.schemas.keys import ScopedKeyRequest
from service.schemas.passkeys import PasskeyName
from service.schemas.slots import SlotName
from service.schemas.sponsors import BrandName
from service.schemas.texts import (
    NAME,
    ONE_LINE,
    READABLE,
    SLOGAN,
    TITLE,
    Written,
    mixed_words,
    pictured,
    titled,
    visible,
)
from tests.slow import SLOW

IGNORABLE = (
    *((0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
    *((0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
"""Default_Ignorable_Code_Point in DerivedCoreProperties.txt of Unicode 15."""

NAMES = (
    "Grüße & Söhne",
    "東京 コーヒー",
    "Ο καφές",
    "Кофе",
    "مقهى",
    "कॉफ़ी",
    "카페",
    "Café №5 ☕",
    "A\u0301o\u0308",
    "🙂",
)
NOT_NAMES = (
    "a\u00adb",
    "x\u200by",
    "Cats\ufe0f",
    "👩\u200d💻",
    "\u2063x",
    "🏴\U000e0067\U000e007f",
    "x\u202ey",
    "a\u3164b",
)

CODES = range(0x110000) if SLOW else [*range(0x2100), *range(0x2100, 0x110000, 211)]


def invisible() -> list[str]:
    """Every format character of this Python's Unicode, and every ignorable one."""
    formats = {code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) == "Cf"}
    return [chr(code) for code in sorted(formats.union(*(range(first, last + 1) for first, last in IGNORABLE)))]


def test_names_refuse_every_invisible_character() -> None:
    passed = []
    for sign in invisible():
        try:
            visible(f"Cats{sign}Dogs")
        except ValueError:
            continue
        passed.append(hex(ord(sign)))
    assert not passed


def test_slogans_refuse_every_invisible_character_between_letters() -> None:
    for sign in invisible():
        with pytest.raises(ValueError, match="must not contain"):
            pictured(f"Cats{sign}Dogs")


def test_letters_marks_and_symbols_of_all_scripts_can_be_seen() -> None:
    letters = {code for code in CODES if unicodedata.category(chr(code))[0] in "LNPS"}
    blank = {0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0, 0x13441, 0x13442, 0x16FE4, 0x1D159}
    assert {code for code in letters if _bad(code)} <= blank
    assert all(map(_bad, blank))


def _bad(code: int) -> bool:
    try:
        return visible(f"a{chr(code)}") == ""
    except ValueError:
        return True


@pytest.mark.parametrize("type_", [BrandName, SlotName, LogoText, Headline, Copy])
def test_names_and_slogans_of_all_scripts_are_accepted(type_: Any) -> None:
    adapter: TypeAdapter[str] = TypeAdapter(type_)
    for name in NAMES:
        assert adapter.validate_python(name[:3].strip()) == name[:3].strip()
    for name in NOT_NAMES[:2]:
        with pytest.raises(ValidationError, match="invisible"):
            adapter.validate_python(name)


@pytest.mark.parametrize("name", NOT_NAMES, ids=ascii)
def test_names_of_keys_refuse_what_cannot_be_seen(name: str) -> None:
    with pytest.raises(ValidationError, match="must not contain"):
        ScopedKeyRequest.model_validate({"name": name, "scopes": ["library:read"]})


SPACES = [chr(code) for code in range(0x10000) if chr(code).isspace()]
SAME_LOOKS = (*(f"Acme{space}" for space in SPACES), *(f"{space}Acme" for space in SPACES))
GAPS = (*(f"Ac{space}me" for space in SPACES if space != " "), "Ac  me", "Ac\u2800me", "Acme\u2800", "Ac\U00016fe4me")


@pytest.mark.parametrize("type_", [BrandName, CampaignName, SlotName, PasskeyName])
def test_names_have_single_plain_spaces_between_words(type_: Any) -> None:
    adapter: TypeAdapter[str] = TypeAdapter(type_)
    pattern = re.compile(adapter.json_schema()["pattern"].removesuffix("$") + r"\Z")
    for name in ("Acme", "Ac me", "Acme & Sons of Ohio", "東京 コーヒー"):
        assert adapter.validate_python(name) == name
        assert pattern.search(name)
    for name in (*SAME_LOOKS, *GAPS):
        with pytest.raises(ValidationError):
            adapter.validate_python(name)
        astral = max(name) > "\uffff"
        assert astral or not pattern.search(name), "the document tells clients the rule"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Acme ", "must not begin or end with a space"),
        ("\u00a0Acme", "must not begin or end with a space"),
        ("Ac  me", "must have single plain spaces between words"),
        ("Ac\u00a0me", "must have single plain spaces between words"),
        ("Ac\u2800me", "must not contain invisible characters"),
    ],
    ids=ascii,
)
def test_the_refusal_of_a_name_says_which_space_is_wrong(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        visible(name)


EMOJI = [text for text, facts in emoji.EMOJI_DATA.items() if facts["status"] != emoji.STATUS["component"]]
"""All of emoji-test.txt: fully qualified ones, and those that some programs write without a selector."""

JOINED = (
    *("می\u200cخواهم", "کار\u200cها", "API\u200cها", "«کتاب»\u200cها", "ه\u200d. ش", "ܐܒ\u200cܓ"),
    *(
        "क्\u200dष",
        "क्\u200cष",
        "अन्\u200d",
        "র\u200d্যাব",
        "র\u200c্যাব",
        "উদ্\u200cযাপন",
        "ന്\u200d",
        "അവന്\u200c",
        "ක්\u200dෂ",
        "ශ්\u200dරී",
    ),
    *("ಕ\u200d್ಕ", "ఫేస్\u200cబుక్", "க்\u200cஷ", "ភ\u17d2\u200cជ"),
)
MARKED = ("A\u0301o\u0308", "नि\u0902", "ש\u05c1ָ", "مُدَّ", "กำ\u0e49", "x\u20dd")
ALONE = (
    *(
        "a\u200cb",
        "a\u200db",
        "\u200cم",
        "م\u200c",
        "م\u200c م",
        "م\u200dم",
        "1\u200c2",
        "क\u200cष",
        "क\u200dष",
        "्\u200dष",
    ),
    *(
        "می\u200c\u200cخ",
        "می\u200c\u200dخ",
        "ه\u200d\u200d",
        "क्\u200d\u200dष",
        "क्\u200c\u200dष",
        "👩\u200d\u200d💻",
        "🏳\ufe0f\u200d\ufe0f🌈",
    ),
    *(
        "a\ufe0f",
        "\ufe0fa",
        "1\ufe0f",
        "1\ufe0f2",
        "$\ufe0f",
        "☀\ufe00",
        "☀\ufe0f\ufe0f",
        "☀\u200d",
        "☀\u200dx",
        "☀\u200b",
        "葛\U000e0100",
    ),
    *(
        "🏴\U000e0067",
        "🏴\U000e0075\U000e0073\U000e0063\U000e0061\U000e007f",
        "☀\U000e0067\U000e0062\U000e007f",
        "a\U000e007f",
    ),
    *("a\u200e", "a\u200f", "\u061ca", "a\u00adb", "a\u034f", "ᠠ\u180b"),
)
UNDEFINED = ("a\u0378", "a\ue000", "a\U000f0000", "a\ufdd0", "a\U0001fffe", "a\ud800", "a\U0003ffff")


@pytest.mark.parametrize("type_", [Cta, CampaignName])
def test_texts_of_campaigns_take_every_emoji_of_unicode(type_: Any) -> None:
    adapter: TypeAdapter[str] = TypeAdapter(type_)
    pattern = re.compile(adapter.json_schema()["pattern"])
    for text in EMOJI:
        for words in (text, f"a{text}b", f"{text}{text}"):
            if len(words) <= 24:
                assert adapter.validate_python(words) == words
                assert pattern.search(words)


def test_an_emoji_that_is_short_enough_stands_for_a_logo() -> None:
    adapter: TypeAdapter[str] = TypeAdapter(LogoText)
    for text in ("1️⃣", "❤️", "🇫🇷"):
        assert adapter.validate_python(text) == text


@pytest.mark.parametrize("words", [*JOINED, *MARKED], ids=ascii)
def test_slogans_take_the_joiners_and_marks_of_all_scripts(words: str) -> None:
    assert pictured(words) == titled(words) == words
    assert re.search(SLOGAN.pattern, words)
    assert re.search(TITLE.pattern, words)


@pytest.mark.parametrize("words", ALONE, ids=ascii)
def test_slogans_refuse_invisible_characters_that_compose_nothing(words: str) -> None:
    for rule in (pictured, titled, visible):
        with pytest.raises(ValueError, match="invisible"):
            rule(words)


@pytest.mark.parametrize("words", UNDEFINED, ids=ascii)
def test_names_and_slogans_refuse_characters_that_unicode_does_not_define(words: str) -> None:
    for rule in (pictured, titled, visible):
        with pytest.raises(ValueError, match="unassigned or private-use"):
            rule(words)


WRITTEN = {"name": NAME, "slogan": SLOGAN, "title": TITLE, "line": ONE_LINE, "readable": READABLE}
UNTOLD = regex.compile(r"[\p{Cn}\p{Cs}\u200c\u200d\ufe0e\ufe0f\U00010000-\U0010ffff]")
"""What a pattern does not tell clients of a rule."""


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_a_pattern_says_of_every_character_what_the_server_does(written: Written) -> None:
    pattern = re.compile(written.pattern.removesuffix("$") + r"\Z")
    wrong = []
    for code in CODES:
        words = f"a{chr(code)}b"
        told, taken = bool(pattern.search(words)), _takes(written, words)
        if told != taken and (taken or not UNTOLD.search(words)):
            wrong.append(hex(code))
    assert not wrong


PARTS = [
    *(
        "a",
        "1",
        " ",
        "  ",
        "\t",
        "\n",
        "\u00a0",
        "\u2800",
        "#\ufe0f\u20e3",
        "\u20e3",
        "م",
        "ر",
        "ّ",
        "क",
        "्",
        "ि",
        "র",
        "্",
        "🏴",
        "👩",
        "🏽",
        "☀",
        "🇫",
    ),
    *(
        "\u200c",
        "\u200d",
        "\ufe0f",
        "\ufe0e",
        "\u200b",
        "\u202e",
        "\u0378",
        "\ue000",
        "\U000e0067",
        "\U000e007f",
        "\U000e0100",
        "\ud800",
    ),
    "\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
]


SEEN = regex.compile(r"[^\p{C}\p{Z}\p{M}\u2800]")


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=8).map("".join))
def test_a_pattern_admits_all_that_the_server_takes_and_little_else(words: str) -> None:
    for written in WRITTEN.values():
        told = bool(re.search(written.pattern.removesuffix("$") + r"\Z", words))
        if told != _takes(written, words):
            assert told, "the server takes more than the document says"
            assert UNTOLD.search(words) or not SEEN.search(words), "the document says more than the server takes"


def _takes(written: Written, words: str) -> bool:
    try:
        return written.rule(words) == words
    except ValueError:
        return False


def test_rules_for_texts_do_not_depend_on_the_python() -> None:
    """Two nodes on one database agree, whichever Pythons they run on."""
    taken = bytes(_takes(each, f"a{chr(code)}") for code in range(0, 0x110000, 211) for each in WRITTEN.values())
    assert hashlib.sha256(taken).hexdigest() == "29d36d1395b470e2162e97863abb2f459a11e7fecc4004ea306411f0e182258c"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Example", []),
        ("Ex\u0430mple", ["Ex\u0430mple"]),
        ("\u0395xample bank", ["\u0395xample"]),
        ("Кофе Coffee Ο καφές", []),
        ("東京コーヒー한국café", []),
        ("Ⅻ naïve Größe Łódź Việt", []),
        ("\uff21pple", ["\uff21pple"]),
        ("\U0001d400pple", ["\U0001d400pple"]),
        ("\u0555range", ["\u0555range"]),
        ("cаt cаt dоg", ["cаt", "dоg"]),
        ("а1b", []),
    ],
)
def test_words_of_several_alphabets_are_named_once(text: str, words: list[str]) -> None:
    assert mixed_words([text, text]) == words
