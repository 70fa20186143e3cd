"""Validates and normalises addresses of web pages that others link to. Does not use the network.

Browsers are lenient: they drop tabs, turn backslashes into slashes, add missing ones, decode hosts and map look-alike
characters. So only unambiguous addresses are accepted; others are rejected, not repaired.
Source: ADR 0022.
"""

import ipaddress
import re
import unicodedata
from typing import Annotated
from urllib.parse import quote

import idna
from pydantic import AfterValidator, Field, WithJsonSchema

from service.schemas.texts import pattern

URL_CHARACTERS = 1_500
PORTS = {"http": "80", "https": "443"}
HIGHEST_PORT = 65_535

_ADDRESS = re.compile(r"(https?)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.ASCII | re.IGNORECASE)
_PORT = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
"""If the last label of a host matches, browsers read the host as an IPv4 address."""
_TOP_LEVEL = re.compile(r"[a-z]{2,63}|xn--[a-z0-9-]+", re.ASCII)
_UNPRINTABLE = r"[\p{C}\p{Z}]"
NEWER = re.compile(
    r"[\u0558\u058b\u058c\u05c8\u05c9\u088f-\u0897\u0b53\u0b54\u0c5c\u0cdc\u0cf3\u0ece\u1acf-\u1af0\u1c89\u1c8a\u208f"
    r"\u209d-\u209f\ua7cb-\ua7cf\ua7d2\ua7d4\ua7da-\ua7f1\uab6c\uab6d\U000105c0-\U000105f3\U000107bb-\U000107bf"
    r"\U00010940-\U00010959\U00010d40-\U00010d85\U00010ec2-\U00010eff\U0001123f-\U00011241\U00011380-\U000113e2"
    r"\U000116d0-\U000116e3\U00011b0a-\U00011bf9\U00011db0-\U00011df1\U00011f00-\U00011f5a\U0001342f-\U000143fa"
    r"\U00016100-\U00016139\U00016d40-\U00016d79\U00016ea0-\U00016ed3\U00016ff2\U00016ff3\U000187f8-\U000187ff"
    r"\U00018cd6-\U00018cff\U00018d09-\U000191d2\U0001b123-\U0001b132\U0001b155\U0001b168\U0001ccd6-\U0001ccf9"
    r"\U0001d250-\U0001d281\U0001d6a6\U0001df1f-\U0001dfff\U0001e030-\U0001e08f\U0001e4d0-\U0001e6ff"
    r"\U0002b739-\U0002b73f\U0002b81e\U0002cea2-\U0002cead\U0002ebf0-\U0002ee5d\U00031350-\U0003fc3f]"
)
"""Characters of host names that Python 3.11 does not know. `idna` asks Python for their direction, and the rules below for
lower case, so that newer Pythons would accept them."""

RAW = "/:@!$&()*+,;=?%"
"""Characters that are not escaped after the host, besides letters, digits and `-._~`. Single quotes are."""

PRIVATE = frozenset(
    {
        *("localhost", "local", "internal", "arpa"),
        *("corp", "home", "intranet", "lan", "private"),  # RFC 6762, appendix G
        *("localdomain", "mail", "svc", "test"),
    }
)
"""Top-level names that lead to the visitor's own machine or network: reserved for that, or used so and in no public DNS."""

EAST_ASIAN = ("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "BOPOMOFO", "HANGUL", "LATIN")
"""Scripts that may be mixed in one word."""


def web_address(value: str) -> str:
    """The normal form of an absolute http or https URL. Raises `ValueError` with the reason."""
    return _normal(value)[0]


def public_address(value: str) -> str:
    """The same for a URL whose host must have a public name."""
    address, host = _normal(value)
    *others, top = host.split(".")
    if not others or not _TOP_LEVEL.fullmatch(top) or top in PRIVATE:
        raise ValueError("must have a public host name, such as example.com")
    return address


def _normal(value: str) -> tuple[str, str]:
    """The normal form and its host."""
    if pattern(_UNPRINTABLE).search(value):
        raise ValueError("must not contain spaces or control characters")
    parts = _ADDRESS.fullmatch(value)
    if parts is None:
        raise ValueError("must begin with http:// or https://")
    scheme, authority, path, query, fragment = parts.groups()
    scheme = scheme.lower()
    if "\\" in value:
        raise ValueError("must not contain backslashes")
    if "@" in authority:
        raise ValueError("must not contain credentials")
    if "[" in authority:
        raise ValueError("must have a host name or an IPv4 address, not an IPv6 address")
    name, colon, port = authority.partition(":")
    if colon and not (_PORT.fullmatch(port) and int(port) <= HIGHEST_PORT):
        raise ValueError("must have a port from 1 to 65535, or none")
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
        raise ValueError(f"must have at most {URL_CHARACTERS} characters after percent-encoding")
    return address, host


def _escaped(text: str) -> str:
    """A path, query or fragment with all characters percent-encoded that RFC 3986 does not allow."""
    if _STRAY_PERCENT.search(text):
        raise ValueError("must have two hexadecimal digits after each %")
    return quote(text, safe=RAW)


def _host(name: str) -> str:
    """The host in ASCII as in the DNS: a name, or an IPv4 address of four decimal numbers."""
    if not name:
        raise ValueError("must have a host name, such as example.com")
    try:
        host = _in_ascii(name)
    except UnicodeError:  # idna's errors are of this kind
        raise ValueError("must have a valid host name") from None
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError:
            raise ValueError("must have a valid host name") from None
    return host


def _in_ascii(name: str) -> str:
    """A name encoded by IDNA 2008. Raises `UnicodeError`, also if browsers would map it to another name but for case,
    or if not every Python knows its characters."""
    lowered = name.lower()
    if NEWER.search(name) or not unicodedata.is_normalized("NFKC", name) or idna.uts46_remap(name) != lowered:
        raise UnicodeError("browsers read it as another name")
    labels = lowered.split(".")
    host = ".".join(idna.alabel(label).decode("ascii") for label in labels)
    if not idna.valid_string_length(host, trailing_dot=False):
        raise UnicodeError("too long")
    shown = [idna.ulabel(label) for label in host.split(".")]
    if any(map(NEWER.search, shown)) or not all(map(_reads_as_itself, shown)):
        raise UnicodeError("a label that can be mistaken for another")
    if any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for label in shown for character in label):
        # A right-to-left label can swap places with others on the screen.
        for label in shown:
            idna.check_bidi(label, check_ltr=True)
    return host


def _reads_as_itself(label: str) -> bool:
    """Whether a label has only letters, digits and marks of one script, and hyphens."""
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
"""A page named by an operator. Its host may be a local name or an IPv4 address."""

SponsorUrl = Annotated[str, Field(min_length=1, max_length=URL_CHARACTERS), AfterValidator(public_address), _SCHEMA]
"""A page named by a sponsor, to which visitors of other websites are sent."""
