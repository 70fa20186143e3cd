"""Texts that people write: which characters names and slogans refuse, and which words mix alphabets."""

import re
import sys
import unicodedata
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from service.schemas.campaigns import CampaignName, Copy, Headline, LogoText
from service.schemas.keys import ScopedKeyRequest
from service.schemas.passkeys import PasskeyName
from service.schemas.slots import SlotName
from service.schemas.sponsors import BrandName
from service.schemas.texts import mixed_words, pictured, visible

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
    refused = {
        hex(code) for code in range(0x21, sys.maxunicode) if unicodedata.category(chr(code))[0] in "LNPS" and _bad(code)
    }
    blank = (0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0, 0x13441, 0x13442, 0x1D159)
    assert refused == {hex(code) for code in blank if unicodedata.category(chr(code))[0] in "LNPS"}


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


@pytest.mark.parametrize(
    "words",
    ["Love \u2764\ufe0f", "\u2764\ufe0e", "👩\u200d💻 at work", "👩🏽\u200d💻", "🏳\ufe0f\u200d🌈 pride"],
    ids=ascii,
)
def test_slogans_may_compose_emoji(words: str) -> None:
    assert pictured(words) == words
    with pytest.raises(ValueError, match="invisible"):
        visible(words)


@pytest.mark.parametrize(
    "words", ["a\ufe0f", "\ufe0fa", "a\u200db", "☀\u200d", "☀\u200dx", "☀\u200b", "☀\ufe00", "☀\ufe0f\ufe0f"], ids=ascii
)
def test_slogans_may_not_hide_them_elsewhere(words: str) -> None:
    with pytest.raises(ValueError, match="invisible"):
        pictured(words)


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
