"""The types and checks that the sections of the configuration share."""

import re
from ipaddress import IPv6Address
from typing import Annotated
from urllib.parse import urlsplit

import idna
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Seconds = Annotated[float, Field(gt=0, le=3_600)]
Factor = Annotated[int, Field(ge=1, le=1_000)]

AN_ORIGIN = "must be http:// or https:// and a host, without a path or anything else but a port up to 65535"
_ORIGIN = re.compile(r"https?://[^/?#@\\\s]+", re.IGNORECASE)
DEFAULT_PORTS = {"http": 80, "https": 443}


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def format_of(pattern: str, words: str) -> AfterValidator:
    """A validator of texts that match the whole `pattern`. `words` complete the error line, such as "must be HOST:PORT"."""
    matches = re.compile(pattern).fullmatch

    def check(text: str) -> str:
        if not matches(text):
            raise ValueError(words)
        return text

    return AfterValidator(check)


def origin_of(url: str) -> str:
    """The origin at a URL without a path, as browsers send it (RFC 6454, 6.2): a scheme and a host in lower case, an
    international name as in the DNS, and no port that the scheme implies. Raises ValueError."""
    try:
        if not _ORIGIN.fullmatch(url):
            raise ValueError(url)
        parts = urlsplit(url)
        host, port = _host(parts.hostname or ""), parts.port
    except ValueError:  # idna's errors are of this kind
        raise ValueError(AN_ORIGIN) from None
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in (None, DEFAULT_PORTS[parts.scheme]) else "")


def _host(name: str) -> str:
    """A host name as in the DNS, or an address. Raises ValueError."""
    if not name:
        raise ValueError("no host")
    if ":" in name:
        return f"[{IPv6Address(name)}]"
    return name if name.isascii() else idna.encode(name, uts46=True).decode("ascii")


Origin = Annotated[str, AfterValidator(origin_of)]
OptionalOrigin = Annotated[str, AfterValidator(lambda url: url and origin_of(url))]


EMAIL = r"[0-9A-Za-z.!#$%&'*+/=?^_`{|}~-]+@[0-9A-Za-z.-]+"
CONTACT = rf"((mailto:)?{EMAIL}|https://[0-9A-Za-z\[][!-~]*)?"
"""An optional contact as RFC 9116 has it."""
A_CONTACT = "must be an email address, or an address that begins with mailto: or https://"


def _as_url(contact: str) -> str:
    """The contact as a web or mail address."""
    return f"mailto:{contact}" if contact and not contact.startswith(("mailto:", "https:")) else contact


Contact = Annotated[str, Field(max_length=500), format_of(CONTACT, A_CONTACT), AfterValidator(_as_url)]
"""An optional contact as a web or mail address."""


def below(name: str, value: float, other: str, bound: float) -> None:
    if not value < bound:
        raise ValueError(f"{name} ({value:g}) must be below {other} ({bound:g})")


def at_most(name: str, value: float, other: str, bound: float) -> None:
    if not value <= bound:
        raise ValueError(f"{name} ({value:g}) must be at most {other} ({bound:g})")
