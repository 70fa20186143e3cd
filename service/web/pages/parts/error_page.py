"""The page of a refusal: what happened, what it means, what to do, and when to try again. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import quote, unquote

MAX_SEARCH_WORDS = 8
MAX_SEARCH_CHARACTERS = 80
LONGEST_ADDRESS = 120
"""Characters of an address that the page repeats."""

_WORD = re.compile(r"[^\W_]+")
_NAME = re.compile(r"(?=.*\d)(?=.*[^\W\d_])")
"""A word of letters and digits, as in ids and tokens. Nobody searches for it."""

_GENERIC_MESSAGE = re.compile(
    r"This address does not support this method\.|The request body is too large\.|That was too fast\..*"
    r"|Something went wrong on our side\..*|The service is temporarily unavailable\..*"
)
"""Messages that say no more than the words of their status."""


@dataclass(frozen=True, slots=True)
class StatusPage:
    """The words of a page about a status: its heading, and what the visitor can do."""

    heading: str
    advice: str


STATUS_PAGES: Mapping[int, StatusPage] = {
    400: StatusPage("We could not read that request", "Check what you typed, or go back and try again."),
    403: StatusPage(
        "This page is not open to you", "If another account of yours has access, sign out, and sign in with that one."
    ),
    404: StatusPage("We could not find that page", "It may have moved, or the address has a typing mistake."),
    405: StatusPage(
        "That does not work here",
        "This address does not take what was sent. Start again from a page of this site.",
    ),
    409: StatusPage(
        "Something changed in the meantime", "Nothing was saved. Go back, reload the page and look at it anew."
    ),
    413: StatusPage("That was too large", "Nothing was saved. Go back and send less."),
    415: StatusPage(
        "We could not read that form", "Nothing was saved. Your browser sent it in a form that we do not read."
    ),
    429: StatusPage(
        "That was a little too fast",
        "We limit requests so that everybody is served. This one was not carried out, and nothing is lost.",
    ),
    500: StatusPage(
        "Something went wrong on our side",
        "We have noted it. Try again; if it happens again, tell us the request id below.",
    ),
    503: StatusPage(
        "We cannot answer right now",
        "This usually lasts only moments. Everything that we confirmed before is saved.",
    ),
}


@dataclass(frozen=True, slots=True)
class SearchableList:
    """A list that may have the wanted entry: its address, and the texts of its search and of the button to all of it."""

    address: str
    search: str
    whole: str


USE_CASES = SearchableList("/usecases", "Search use cases", "All use cases")
LISTS: Mapping[str, SearchableList] = {
    "bots": SearchableList("/bots", "Search bot templates", "All bot templates"),
    "docs": SearchableList("/docs", "Search the reference", "API reference"),
}
"""By the first part of an address. Everything else may be a use case."""


@dataclass(frozen=True, slots=True)
class LinkSource:
    """The source of a link that opens a page by itself: `advice` says how to get a new one. The page of the account at
    `address`, with the button `words`, does the same after a sign-in."""

    advice: str
    address: str
    words: str


_MAIL = LinkSource("Open it from the newest mail that has it.", "/dashboard", "Open your dashboard")
_BOOKING = LinkSource("Open it again from the page of the booking.", "/sponsor/bookings", "Open your bookings")
_REPORT = LinkSource("Ask whoever sent it to you for another one.", "/", "See what this site is about")
LINKS: Mapping[str, LinkSource] = {
    "end": _MAIL,
    "unsubscribe": _MAIL,
    "checkout": _BOOKING,
    "receipt": _BOOKING,
    "shared": _REPORT,
}
"""By the first part of an address."""

REFUSED_FORM = StatusPage("We did not take that form", "Nothing was changed.")
"""The words for a form that is refused with 403. The refusal itself says what to do."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The request that was refused, and whether a cookie of a session came with it."""

    method: str
    path: str
    query: str
    has_session: bool


def values_of(status: int, asked: Asked) -> Mapping[str, object]:
    """The values of the page beside the refusal itself. `again` is the address to ask for once more; None after a form, of
    which `page` is the page."""
    read = asked.method in ("GET", "HEAD")
    area = asked.path.split("/")[1]
    return {
        "unknown": asked.has_session,
        "status": status,
        "status_page": status_page(status) if read or status != HTTPStatus.FORBIDDEN else REFUSED_FORM,
        "address": printable_address(asked.path),
        "again": address_of(asked.path, asked.query) if read else None,
        "page": address_of(asked.path, ""),
        "words": words_of(asked.path),
        "searchable": LISTS.get(area, USE_CASES),
        "link": LINKS.get(area) if status == HTTPStatus.NOT_FOUND else None,
    }


def specific_message(message: str) -> str:
    """The message of a refusal if it says more than the words of its status; else nothing."""
    return "" if _GENERIC_MESSAGE.fullmatch(message) else message


def status_page(status: int) -> StatusPage:
    """The words for a status. A status without its own has those of its class."""
    return STATUS_PAGES.get(status) or StatusPage(
        HTTPStatus(status).phrase, STATUS_PAGES[500 if status >= 500 else 400].advice
    )


def address_of(path: str, query: str) -> str:
    """The address that was asked for, to be linked from its own page. It never leads to another site."""
    local = "/" + quote(unquote(path).lstrip("/\\"), safe="/:@!$&'()*+,;=-._~")
    return f"{local}?{query}" if query else local


def printable_address(path: str) -> str:
    """The address as it can be read: what cannot be printed is a question mark, and a long one is cut."""
    readable = "".join(each if each.isprintable() else "?" for each in path[: LONGEST_ADDRESS + 1])
    return readable if len(readable) <= LONGEST_ADDRESS else f"{readable[: LONGEST_ADDRESS - 1]}…"


def words_of(path: str) -> str:
    """Words to search for, from the last part of an address that has any: `/usecases/late-fees` gives `late fees`."""
    for part in reversed(path.split("/")[2:] or path.split("/")):
        words = [word for word in _WORD.findall(part) if not _NAME.match(word)][:MAX_SEARCH_WORDS]
        if words:
            return " ".join(words)[:MAX_SEARCH_CHARACTERS].strip()
    return ""
