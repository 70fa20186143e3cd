"""The requests of the campaign of costs: addresses, and headers that are filled with lists of every kind."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from random import Random

from tests.abuse.header_names import NAMES

MOST_RATIO = 3.0
LIMITED_RATIO = 5.0
"""The same at an address with a limit: its plain requests are the fastest, and h11 splits `Connection` before them."""
HEAD_BYTES = 15_000
"""Bytes of the hostile value over HTTP/1.1; a head may have 16 KiB."""
TABLE_BYTES = 3_900
"""Bytes of one entry of the table of HPACK, which holds 4,096."""
TARGET_BYTES = 7_000

PAGE = (("accept", "text/html,*/*;q=0.8"),)
"""Makes a refusal a page."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address, the other headers of each request to it, and the ratio of costs that is too dear."""

    method: str
    path: str
    usual: tuple[tuple[str, str], ...] = ()
    most: float = MOST_RATIO


ADDRESSES = (
    Address("GET", "/embed.js"),
    Address("GET", "/nowhere", PAGE),
    Address("GET", "/api/v1/sponsors/placements", most=LIMITED_RATIO),
    Address("GET", "/robots.txt"),
    Address("GET", "/llms.txt"),
    Address("GET", "/static/style.css"),
    Address("GET", "/favicon.ico"),
    Address("GET", "/sitemap.xml"),
    Address("GET", "/.well-known/api-catalog"),
    Address("GET", "/.well-known/oauth-authorization-server"),
    Address("GET", "/.well-known/oauth-authorization-server/mcp"),
    Address("GET", "/.well-known/oauth-protected-resource"),
    Address("GET", "/.well-known/oauth-protected-resource/mcp"),
    Address("GET", "/.well-known/oauth-protected-resource/mcp/"),
    Address("GET", "/.well-known/security.txt"),
    Address("GET", "/security.txt"),
    Address("GET", "/api/v1/auth/passkey"),
    Address("POST", "/api/v1/webhooks/stripe"),
    Address("POST", "/api/v1/keys/exposed"),
    Address("POST", "/oauth/token"),
    Address("POST", "/oauth/register"),
    Address("GET", "/metrics"),
    Address("GET", "/healthz"),
    Address("GET", "/readyz"),
    Address("GET", "/nowhere"),
    Address("GET", "/api/v1/nowhere"),
    Address("DELETE", "/healthz"),
    Address("OPTIONS", "/api/v1/sponsors/placements"),
    Address("OPTIONS", "/embed.js"),
    Address("OPTIONS", "/mcp"),
    Address("GET", "/mcp"),
    Address("GET", "/openapi.json"),
)
"""Addresses of each kind of view, most of them without a limit. The first `WHOLE` meet all shapes."""
WHOLE = 3

SHAPES: Mapping[str, str] = {
    "commas": ",",
    "spaced": "a, ",
    "pairs": "a=b; ",
    "quotes": '"',
    "tags": '"a",',
    "members": "a,",
    "weighted": "a;q=0,",
    "addresses": "127.0.0.1,",
    "semicolons": ";",
    "parameters": "a;",
    "weak": 'W/"a",',
    "slashes": "a/b,",
    "escapes": "%41",
    "blanks": " ,\t",
    "colons": ":",
    "bytes": "\xe9",
    "one": "a",
}
"""The unit that each value repeats. The first `USUAL` are tried at all addresses."""
USUAL = 5

QUERY, PATH = "the query", "the path"


@dataclass(frozen=True, slots=True)
class Case:
    """A request with one hostile part: the header `name`, the query or the path. Without a shape, that part is plain."""

    address: Address
    name: str
    shape: str = ""

    def parts(self, size: int) -> tuple[str, list[tuple[str, str]]]:
        """The target and the hostile fields, with a value of at most `size` bytes."""
        path, unit = self.address.path, SHAPES.get(self.shape, "")
        if self.name in (QUERY, PATH):
            sign = "?" if self.name == QUERY else "/"
            written = unit.replace(" ", "+").replace("\t", "+").replace('"', "%22").replace("\xe9", "&/")
            return f"{path}{sign}a{written * (TARGET_BYTES // max(1, len(written)))}", []
        return path, [(self.name, (unit * (size // len(unit))).strip() or unit.strip())] if unit else []

    @property
    def plain(self) -> "Case":
        """The same without the hostile part."""
        return Case(self.address, self.name)

    def __str__(self) -> str:
        return f"{self.address.method} {self.address.path} with {self.shape} in {self.name}"


def cases(paths: Sequence[str] = (), names: Sequence[str] = ()) -> Iterator[Case]:
    """All cases, or those of these paths and names."""
    for number, address in enumerate(ADDRESSES):
        shapes = list(SHAPES) if number < WHOLE or names else list(SHAPES)[:USUAL]
        for name in (QUERY, PATH, *NAMES):
            if (not paths or address.path in paths) and (not names or name in names):
                yield from (Case(address, name, shape) for shape in shapes)


def shuffled(found: Sequence[Case], seed: int) -> list[Case]:
    """The cases in the order of a seed. Those with the same plain request stay together."""
    groups = [list(group) for _, group in groupby(found, key=lambda case: case.plain)]
    Random(seed).shuffle(groups)
    return [case for group in groups for case in group]
