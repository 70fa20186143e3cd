"""Addresses of web pages: what may stand where other people's pages link to it, in one normal form. Knows no network.

Browsers read more than is written: they drop tabs, turn backslashes into slashes, guess missing ones, decode hosts and
map look-alike characters. So an address is taken only where no reader can see two things in it; the rest is refused, not
repaired. Source: decisions, section 7, and "Addresses of web pages" in docs/decisions.md.
"""

import ipaddress
import re
import unicodedata
from typing import Annotated
from urllib.parse import quote

import idna
from pydantic import AfterValidator, Field, WithJsonSchema

URL_CHARACTERS = 1_500
PORTS = {"http": "80", "https": "443"}
HIGHEST_PORT = 65_535

_ADDRESS = re.compile(r"(https?)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.ASCII | re.IGNORECASE)
_PORT = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
"""What the last label of a host is where browsers take the whole host for an IPv4 address."""
_TOP_LEVEL = re.compile(r"[a-z]{2,63}|xn--[a-z0-9-]+", re.ASCII)

RAW = "/:@!$&()*+,;=?%"
"""What may stand as it is after the host, beside letters, digits and `-._~`. Quotes may not, though RFC 3986 lets one."""

PRIVATE = ("localhost", "local", "internal", "arpa")
"""Top-level names that each network reads for itself: a visitor would be led into their own."""

EAST_ASIAN = ("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "BOPOMOFO", "HANGUL", "LATIN")
"""Scripts that are written together in one word."""


def web_address(value: str) -> str:
    """The normal form of an absolute http or https URL, or a ValueError that says what is wrong."""
    return _normal(value)[0]


def public_address(value: str) -> str:
    """The same, for a host that has a name in the public part of the web."""
    address, host = _normal(value)
    *others, top = host.split(".")
    if not others or not _TOP_LEVEL.fullmatch(top) or top in PRIVATE:
        raise ValueError("must have a public host name, such as example.com")
    return address


def _normal(value: str) -> tuple[str, str]:
    """The normal form, and the host of it."""
    if " " in value or not value.isprintable():
        raise ValueError("must not hold spaces or control characters")
    parts = _ADDRESS.fullmatch(value)
    if parts is None:
        raise ValueError("must begin with http:// or https://")
    scheme, authority, path, query, fragment = parts.groups()
    scheme = scheme.lower()
    if "\\" in value:
        raise ValueError("must not hold backslashes")
    if "@" in authority:
        raise ValueError("must not hold credentials")
    name, colon, port = authority.partition(":")
    if colon and not (_PORT.fullmatch(port) and int(port) <= HIGHEST_PORT):
        raise ValueError("is not a URL with a valid port")
    host = _host(name)
    address = f"{scheme}://{host}"
    if colon and port != PORTS[scheme]:
        address += f":{port}"
    address += _escaped(path)
    if query is not None:
        address += f"?{_escaped(query)}"
    if fragment is not None:
        address += f"#{_escaped(fragment)}"
    if len(address) > URL_CHARACTERS:
        raise ValueError(f"must have at most {URL_CHARACTERS} characters, also when others are percent-encoded")
    return address, host


def _escaped(text: str) -> str:
    """A path, query or fragment in which only what RFC 3986 allows stands as it is."""
    if _STRAY_PERCENT.search(text):
        raise ValueError("must have two hexadecimal digits after each %")
    return quote(text, safe=RAW)


def _host(name: str) -> str:
    """A host as it stands in the name system, in ASCII: a name, or an IPv4 address of four plain numbers."""
    if not name:
        raise ValueError("is not a URL with a host")
    try:
        host = _in_ascii(name)
    except UnicodeError:  # idna's errors are of this kind
        raise ValueError("is not a URL with a valid host name") from None
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError:
            raise ValueError("is not a URL with a valid host name") from None
    return host


def _in_ascii(name: str) -> str:
    """A name by IDNA 2008, or a UnicodeError. Of what browsers map before, only the case of letters is let through."""
    lowered = name.lower()
    if not unicodedata.is_normalized("NFKC", name) or idna.uts46_remap(name) != lowered:
        raise UnicodeError("a name that browsers read as another one")
    labels = lowered.split(".")
    host = ".".join(idna.alabel(label).decode("ascii") for label in labels)
    if not idna.valid_string_length(host, trailing_dot=False):
        raise UnicodeError("a name that is too long")
    shown = [idna.ulabel(label) for label in host.split(".")]
    if not all(map(_reads_as_itself, shown)):
        raise UnicodeError("a label that does not look like what it is")
    if any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for label in shown for character in label):
        # With one label from right to left, the others could change places with it on a screen.
        for label in shown:
            idna.check_bidi(label, check_ltr=True)
    return host


def _reads_as_itself(label: str) -> bool:
    """Whether a label has letters and digits of one script, its marks and hyphens, and none that only look like those."""
    scripts, digits = set(), set()
    for character in label.replace("-", ""):
        kind, named = unicodedata.category(character), unicodedata.name(character, "").removeprefix("EXTENDED ")
        script = re.split("[ -]", named)[0]
        if kind == "Nd":
            digits.add(script)
        elif kind[0] == "L":
            scripts.add(script)
        elif kind not in ("Mn", "Mc") or script == "COMBINING":
            return False
    numbered = scripts | digits - {"DIGIT"}  # the name of 0 to 9 names no script
    return len(digits) <= 1 and (len(numbered) <= 1 or numbered.issubset(EAST_ASIAN))


_SCHEMA = WithJsonSchema({"type": "string", "format": "uri", "maxLength": URL_CHARACTERS})

Url = Annotated[str, Field(min_length=1, max_length=URL_CHARACTERS), AfterValidator(web_address), _SCHEMA]
"""A page that operators name: in a network of their own it may have a local name or an IPv4 address."""

SponsorUrl = Annotated[str, Field(min_length=1, max_length=URL_CHARACTERS), AfterValidator(public_address), _SCHEMA]
"""A page that sponsors name, and that visitors of other people's pages are led to."""
