"""Validation of web addresses: hostile ones are refused, and accepted ones mean the same to every reader.

`ada_url` parses addresses like browsers (WHATWG URL standard) and is the second opinion.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from itertools import chain

import pytest
from ada_url import URL
from hypothesis import given, settings
from hypothesis import strategies as st
from idna.idnadata import codepoint_classes
from pydantic import TypeAdapter, ValidationError

from service.schemas.keys import NO_ADDRESS, Email
from service.schemas.urls import NEWER, SponsorUrl, Url, public_address, web_address
from tests.api.hostile_urls import HARMLESS, HOSTILE, LOCAL
from tests.slow import shortened

GATES: dict[type[str], Callable[[str], str]] = {Url: web_address, SponsorUrl: public_address}
DEFAULT_PORTS = {"http": "80", "https": "443"}
WHOLE = re.compile(
    r"(https?)://([a-z0-9.-]+)(?::([1-9][0-9]*))?((?:[/?#](?:[A-Za-z0-9/:@!$&()*+,;=?#._~-]|%[0-9A-Fa-f]{2})*)?)"
)
"""The form of accepted addresses, a subset of RFC 3986."""

either_kind = pytest.mark.parametrize("kind", GATES, ids=["any", "sponsor"])


def accepted(url: str) -> str | None:
    """The normal form, if the address is accepted."""
    try:
        return public_address(url)
    except ValueError:
        return None


def means_one_thing(url: str, normal: str) -> None:
    """Assert that the normal form is stable, and that browsers read it like the given text."""
    parts = WHOLE.fullmatch(normal)
    assert parts is not None, normal
    assert (normal.isascii(), len(normal) <= 1_500, public_address(normal)) == (True, True, normal)
    scheme, host, port, rest = parts.groups()
    assert port != DEFAULT_PORTS[scheme]
    for seen in (URL(url), URL(normal)):
        assert (seen.protocol, seen.hostname, seen.port) == (f"{scheme}:", host, port or "")
        assert (seen.username, seen.password) == ("", "")
        assert "@" not in seen.host
    assert rest.count("#") <= 1


@either_kind
@pytest.mark.parametrize(("trick", "urls"), HOSTILE.items(), ids=list(HOSTILE))
def test_hostile_addresses_are_refused(kind: type[str], trick: str, urls: tuple[str, ...]) -> None:
    assert [ascii(url) for url in urls if passes(GATES[kind], url)] == []
    assert [ascii(url) for url in urls if passes(TypeAdapter(kind).validate_python, url)] == []


NEW_LETTERS = (
    *("\u088f", "\u0c5c", "\ua7cb", "\ua7db", "\U00010d4a", "\U00011f04", "\U0001df95", "\U0001e030"),
    *("\U0002ebf0", "\U00031350"),
)
"""Letters that some supported Python knows and another does not."""


@pytest.mark.parametrize("letter", NEW_LETTERS, ids=ascii)
def test_hosts_have_only_letters_that_every_python_knows(letter: str) -> None:
    for label in (letter, f"a{letter}", f"A{letter}", f"xn--{letter.encode('punycode').decode()}"):
        assert not passes(web_address, f"https://{label}.example.com/")
        with pytest.raises(ValidationError, match=NO_ADDRESS):
            TypeAdapter(Email).validate_python(f"you@{label}.example.com")


def test_the_table_of_new_letters_has_those_that_the_oldest_python_does_not_know() -> None:
    unknown = (code for ranges in codepoint_classes.values() for code in _codes(ranges) if _is_unknown(chr(code)))
    assert [hex(code) for code in unknown if not NEWER.search(chr(code))] == []
    assert not any(passes(web_address, f"https://example.com/{chr(code)}") for code in (0x0378, 0xE000, 0x3FFFF))


def _codes(ranges: Iterable[int]) -> Iterable[int]:
    """The code points of ranges as `idna` packs them."""
    return chain.from_iterable(range(each >> 32, each & 0xFFFFFFFF) for each in ranges)


def _is_unknown(letter: str) -> bool:
    return unicodedata.category(letter) == "Cn"


def passes(gate: Callable[[str], str], url: str) -> bool:
    """Whether a validator accepts an address. Any error but ValueError is a bug."""
    try:
        gate(url)
    except ValueError:
        return False
    return True


def test_many_hostile_addresses_would_lead_a_browser_somewhere() -> None:
    """Otherwise the list would prove little: many of them open in a browser."""
    assert sum(URL.can_parse(url) for url in chain(*HOSTILE.values()) if url.isprintable()) > 100


@pytest.mark.parametrize("url", LOCAL)
def test_a_local_address_is_good_for_operators_only(url: str) -> None:
    assert web_address(url).startswith(("http://", "https://"))
    with pytest.raises(ValueError, match="must have a public host name"):
        public_address(url)


@either_kind
@pytest.mark.parametrize(("url", "normal"), HARMLESS.items())
def test_a_harmless_address_gets_its_normal_form(kind: type[str], url: str, normal: str) -> None:
    assert GATES[kind](url) == TypeAdapter(kind).validate_python(url) == normal
    means_one_thing(url, normal)


@either_kind
def test_the_wire_says_what_it_takes(kind: type[str]) -> None:
    assert TypeAdapter(kind).json_schema() == {"type": "string", "format": "uri", "maxLength": 1_500}


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://example.com", "must begin with http:// or https://"),
        ("https://example.com/ a", "must not contain spaces or control characters"),
        ("https://example.com\\a", "must not contain backslashes"),
        ("https://a:b@example.com", "must not contain credentials"),
        ("https:///a", "must have a host name, such as example.com"),
        ("https://example.com:0", "must have a port from 1 to 65535, or none"),
        ("https://exa_mple.com", "must have a valid host name"),
        ("https://1.2.3", "must have a valid host name"),
        ("https://example.com/%", "must have two hexadecimal digits after each %"),
        ("https://example.com/" + '"' * 500, "must have at most 1500 characters after percent-encoding"),
        ("https://example", "must have a public host name, such as example.com"),
    ],
)
def test_a_refusal_says_why(url: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        public_address(url)


PLACES = [
    "{}https://a.example.com/",
    "ht{}tps://a.example.com/",
    "https:{}//a.example.com/",
    "https://{}a.example.com/",
]
PLACES += [
    "https://a{}b.example.com/",
    "https://a.example.com{}/",
    "https://a.example.com:81{}/",
    "https://a.example.com/{}",
]
PLACES += ["https://a.example.com/?{}", "https://a.example.com/#{}"]


@pytest.mark.parametrize("place", PLACES)
def test_one_character_in_any_place_never_leads_elsewhere(place: str) -> None:
    passed = 0
    for number in chain(range(0x600), range(0x1FF0, 0x2500), range(0x2FF0, 0x3100), range(0xFE00, 0x10000)):
        url = place.format(chr(number))
        normal = accepted(url)
        if normal is not None:
            means_one_thing(url, normal)
            passed += 1
    assert passed == 0 if place.startswith(("{}", "ht{}", "https:{}")) else passed > 0


@pytest.mark.parametrize("place", PLACES)
def test_no_character_without_a_shape_passes_anywhere(place: str) -> None:
    for number in chain(
        range(0x20), range(0x7F, 0xA1), range(0x2000, 0x2010), range(0x2028, 0x2030), range(0x2060, 0x2070)
    ):
        assert accepted(place.format(chr(number))) is None, hex(number)


hosts = st.text(st.sampled_from("aZ09-._%@:[]äßΩиא日\u0301\uff41\u3002\u00ad"), max_size=12)
rests = st.text(st.sampled_from("/?#:@%4fFaä日\"'<>`{}|^[]&;\\=+*"), max_size=20)
parts = st.sampled_from(
    [
        "https://",
        "http://",
        "HTTPS://",
        "https:/",
        "//",
        "@",
        ":",
        "/",
        "\\",
        "?",
        "#",
        "%2e",
        "\t",
        " ",
        ".",
        "com",
        "xn--",
    ]
)
made = st.one_of(
    st.tuples(st.sampled_from(["https://", "HTTP://"]), hosts, st.just(".com"), rests).map("".join),
    st.lists(parts | hosts, max_size=8).map("".join),
    st.tuples(st.sampled_from(sorted(HARMLESS)), st.integers(0, 60), parts | hosts).map(
        lambda drawn: drawn[0][: drawn[1]] + drawn[2] + drawn[0][drawn[1] :]
    ),
)


@settings(max_examples=shortened(1_500), derandomize=True, database=None, deadline=None)
@given(url=made)
def test_whatever_is_accepted_is_stable_and_means_one_thing(url: str) -> None:
    normal = accepted(url)
    if normal is not None:
        means_one_thing(url, normal)
