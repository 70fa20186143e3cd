"""The headers that the campaign of costs attacks, and what a hostile header costs in steps, which no clock measures."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from ipaddress import ip_network
from itertools import count
from types import FrameType

import pytest
from trio.testing import MockClock

from service.api.cookies import SESSION
from service.api.encodings import acceptable, known_tag
from service.api.mcp.tools import PASSED_ON
from service.api.operations import OPERATIONS
from service.api.operations.development import FORWARDED
from service.api.policy import Access
from service.api.validation import IDEMPOTENCY_KEY
from service.http.addresses import Networks, client_address
from service.http.header_lists import MAX_MEMBERS, last_members, members
from service.http.request_head import _OF_CONNECTION, _SPECIAL, BadRequest, parse_head
from service.observability.client_address import HEADERS
from service.observability.tracing import HEADER
from service.web.documents import DOCUMENTS
from service.web.middleware import REQUEST_ID
from service.web.requests import wants_page
from tests.abuse.cases import ADDRESSES, HEAD_BYTES, SHAPES, Case, cases, shuffled
from tests.abuse.costs import SUSPECTS, confirmed, screen
from tests.abuse.header_names import NAMES
from tests.api.world import World, open_world
from tests.architecture import modules, name_of
from tests.slow import repeats

_NAME = r"(?:\.get\(|\[)(\"[a-z0-9-]+\"|[A-Z_]+)"
_READ = re.compile(rf"\brequest\.headers{_NAME}|(?<!\.)\bheaders{_NAME}")
READERS = ("service/http", "service/web", "service/api", "service/observability")
MOST_STEPS = 1_000
"""Calls of functions in which a header of 15,000 bytes is read, split in 15,000 members or not at all."""


def test_the_campaign_knows_every_header_that_is_read() -> None:
    read = set(_read_names())
    assert {"cookie", "if-none-match", "x-forwarded-for", "traceparent", "connection", "idempotency-key"} <= read
    assert read - set(NAMES) == set()


async def test_the_campaign_knows_every_address_without_a_limit(autojump_clock: MockClock) -> None:
    open_to_all = {(row.method, row.path) for row in OPERATIONS if row.access is Access.PUBLIC and row.budget is None}
    async with open_world(PAGES__PER_MINUTE=1, SERVER__SECURITY_CONTACT="mailto:security@example.com") as world:
        for path in DOCUMENTS:
            path = path.replace("<name>", "operations").replace("<part>", "pages")
            statuses = [
                (await world.client.get(path, address=f"203.0.113.{len(open_to_all)}")).status for _ in range(3)
            ]
            open_to_all |= set() if 429 in statuses else {("GET", path)}
    assert ("GET", "/openapi.json") not in open_to_all
    assert open_to_all - {(each.method, each.path) for each in ADDRESSES} == set()


FEW = list(cases(["/healthz"], ["accept", "cookie"]))


def always(_: int) -> float:
    return 0.01


def during(first: int, last: int) -> Callable[[int], float]:
    """Dear in these measurements only, as if the machine did something else meanwhile."""
    return lambda number: 0.01 if first <= number <= last else 0.001


@pytest.mark.parametrize(
    ("cost", "suspects", "faults"),
    [(always, len(FEW), SUSPECTS), (during(5, 9), 0, 0), (during(5, 25), 3, 0), (lambda number: 0.0029, 0, 0)],
    ids=["always", "for a moment", "for a while", "less than three times"],
)
def test_a_request_is_too_dear_if_it_is_each_time(cost: Callable[[int], float], suspects: int, faults: int) -> None:
    numbers = count()

    def measure(case: Case) -> float:
        return cost(next(numbers)) if case.shape else 0.001

    seen = screen(measure, FEW, lambda: True)
    assert (seen.measured, len(seen.suspects)) == (len(FEW), suspects)
    assert len(confirmed(measure, seen.suspects)) == faults


def test_a_campaign_ends_when_its_time_is_up_and_its_order_is_that_of_the_seed() -> None:
    turns = iter([True, False])
    assert screen(lambda case: 0.001, FEW, lambda: next(turns)).measured == len(SHAPES)
    whole = list(cases())
    assert shuffled(whole, 1) == shuffled(whole, 1) != shuffled(whole, 2)
    assert set(shuffled(whole, 1)) == set(whole)


def _read_names() -> Iterator[str]:
    """The names in `headers.get(NAME)` and `headers[NAME]`, also where they are constants, and those in tables."""
    for table in (_SPECIAL, _OF_CONNECTION, HEADERS, FORWARDED, PASSED_ON, (HEADER, REQUEST_ID, IDEMPOTENCY_KEY)):
        yield from (name.decode() if isinstance(name, bytes) else name for name in table)
    for path in modules(*READERS):
        for found in _READ.finditer(path.read_text(encoding="utf-8")):
            name = found[1] or found[2]
            if name.startswith('"'):
                yield name.strip('"').lower()
            else:
                yield from _constant(name_of(path), name)


def _constant(module: str, name: str) -> Iterator[str]:
    """The text of a constant. Others are variables over the tables."""
    value = getattr(import_module(module), name, None)
    if isinstance(value, str):
        yield value


class Steps:
    """Counts the calls of functions, in Python and in C, within the block."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> "Steps":
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _called(self, _frame: FrameType, event: str, _argument: object) -> None:
        self.count += event in ("call", "c_call")


def hostile(shape: str) -> str:
    return (SHAPES[shape] * (HEAD_BYTES // len(SHAPES[shape]))).strip()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_header_is_read_in_few_steps_whatever_it_holds(shape: str) -> None:
    value = hostile(shape)
    proxies = Networks([ip_network("127.0.0.0/8")])
    head = f"GET / HTTP/1.1\r\nhost: a\r\nconnection: {value}\r\n\r\n".encode("latin-1")
    with Steps() as steps:
        known_tag({"if-none-match": value, "accept-encoding": value[:256]}, '"other"')
        acceptable(value)
        wants_page({"accept": value})
        SESSION.value({"cookie": value}, "http://a")
        client_address("127.0.0.1", value, proxies)
        with suppress(BadRequest):
            parse_head(head)
    assert steps.count < 3 * MOST_STEPS


def test_what_stands_within_the_bound_is_read_and_what_stands_behind_it_is_not() -> None:
    last = MAX_MEMBERS - 1
    assert known_tag({"if-none-match": '"a", ' * last + '"etag"'}, '"etag"') == '"etag"'
    assert known_tag({"if-none-match": '"a", ' * MAX_MEMBERS + '"etag"'}, '"etag"') is None
    assert members(" a , b ,, c") == ["a", "b", "", "c"]
    assert members(",".join(map(str, range(1_000)))) == [str(number) for number in range(MAX_MEMBERS)]
    assert last_members(",".join(map(str, range(1_000)))) == [str(999 - number) for number in range(MAX_MEMBERS)]
    assert (members(""), last_members("")) == ([""], [""])
    head = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: " + b"x," * last + b"close\r\n\r\n"
    assert not parse_head(head).keep_alive
    with pytest.raises(BadRequest, match="more than 64 members"):
        parse_head(head.replace(b"x,close", b"x,x,close"))


@repeats("tests/abuse/test_costs.py reads each header that is split")
async def test_a_request_costs_few_steps_more_whatever_a_header_holds(autojump_clock: MockClock) -> None:
    """Of all that is between the engine and the response."""
    async with open_world() as world:
        await _steps_of(world, {})
        plain = await _steps_of(world, {"x-other": "a"})
        for name in NAMES:
            for shape in ("commas", "pairs"):
                count = await _steps_of(world, {name: hostile(shape)})
                assert count < plain + MOST_STEPS, f"{name} of {shape}: {count} steps instead of {plain}"


async def _steps_of(world: World, headers: dict[str, str]) -> int:
    with Steps() as steps:
        await world.client.get("/embed.js", headers=headers)
    return steps.count
