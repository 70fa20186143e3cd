"""Every fact of a history comes from plain HTTP: the course of the demo, recorded from the real app, and single exchanges."""

import io
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from actors.clock import Clock
from service.api.operations import OPERATIONS
from tests.api.asgi import Client, Response
from tests.api.world import open_world
from tests.document import demo
from tests.judge.judging import judge
from tests.judge.lines import read_history, write_history
from tests.judge.records import VERSION, Event, Header, History, Limit, Operation
from tests.judge.wire import MCP, PAGE, Exchange, caller_of, digest, operation_of
from tests.slow import repeats


class Recorder(Client):
    """A client that records what it sends and gets."""

    operations: list[Operation]
    clock: Clock

    async def request(self, method: str, target: str, key: str | None = None, **rest: Any) -> Response:
        response = await super().request(method, target, key, **rest)
        headers = dict(rest.get("headers") or {})
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        body = rest.get("body", b"") if rest.get("json") is None else json.dumps(rest["json"]).encode()
        path, _, query = target.partition("?")
        seen = operation_of(
            method, path, query, headers, body, response.status, response.headers, response.body, address="203.0.113.7"
        )
        if seen is not None:
            moment = self.clock.now_ms() + len(self.operations) / 1_000
            self.operations.append(seen.by("demo", "node", moment, moment))
        return response


async def the_demo() -> Sequence[Operation]:
    async with open_world(**demo.SETTINGS) as world:
        recorder = Recorder(world.client.app, world.client.observe)
        recorder.operations, recorder.clock = [], world.services.clock
        world.client = recorder
        await demo.tell(world)
        return recorder.operations


@repeats("the tests below, with an exchange for each kind of fact")
async def test_the_demo_has_every_fact_and_is_read_back_as_it_was_written() -> None:
    operations = await the_demo()
    stream = io.BytesIO()
    write_history(stream, Header(VERSION, whole=True), operations)
    stream.seek(0)
    assert list(read_history(stream).operations) == list(operations)
    kinds = Counter(each.kind for each in operations)
    assert [
        each for found in judge(History(Header(VERSION, whole=True), operations)).values() for each in found.broken
    ] == []
    assert kinds.keys() >= {each.name for each in OPERATIONS} - UNTOLD
    assert not [each for each in operations if each.answer is not None and each.answer.code == "undocumented"]


UNTOLD = {"isAlive", "isReady", "getOperationsStatus", "stripeWebhook"}
"""Operations that the demo does not call."""

EVENT = {"bookingId": "bok_1", "kind": "click", "visitorId": "11111111-1111-4111-8111-111111111111"}
KEY = {"Authorization": "Bearer cs_user_x"}


def seen(
    method: str, path: str, body: Any = None, answer: Any = None, status: int | None = 200, **more: Any
) -> Exchange:
    found = operation_of(
        method,
        path,
        more.get("query", ""),
        more.get("headers", {}),
        json.dumps(body).encode(),
        status,
        more.get("back", {}),
        json.dumps(answer).encode(),
        address=more.get("address", ""),
    )
    assert found is not None
    return found


def visitor(address: str, agent: str = "A", **named: str) -> str | None:
    body = {"events": [EVENT | named]}
    asked = seen(
        "POST",
        "/api/v1/sponsors/events/batch",
        body,
        query="unit=day",
        headers={"User-Agent": agent},
        address=address,
    ).asked
    return asked.events[0].visitor


def test_a_visitor_of_a_day_is_an_address_with_a_user_agent() -> None:
    assert visitor("203.0.113.7") == visitor("::ffff:203.0.113.7") == visitor("10.0.0.1", clientAddress="203.0.113.7")
    assert visitor("2001:db8::1") == visitor("2001:db8::2") != visitor("2001:db8:0:1::1")
    assert len({visitor("203.0.113.7"), visitor("203.0.113.8"), visitor("203.0.113.7", "B")}) == 3
    assert visitor("203.0.113.7", userAgent="B") == visitor("203.0.113.7", "B")
    assert visitor("") is None
    assert seen("POST", "/api/v1/sponsors/events", EVENT).asked.events == (
        Event("bok_1", "click", digest(f"device {EVENT['visitorId']}")),
    )


@pytest.mark.parametrize(
    ("body", "answer", "headers", "outcomes"),
    [
        ({"recorded": True}, "recordEvent", {}, ["recorded"]),
        ({"recorded": False}, "recordEvent", {"X-Event-Dropped": "capped"}, ["capped"]),
        ({"recorded": False}, "recordEvent", {}, ["dropped"]),
        ({"results": [{"recorded": False, "dropped": "duplicate"}, {"error": "x"}]}, "", {}, ["duplicate", "error"]),
    ],
)
def test_an_event_has_an_outcome(body: Any, answer: str, headers: dict[str, str], outcomes: list[str]) -> None:
    path = "/api/v1/sponsors/events" + ("" if answer else "/batch")
    found = seen("POST", path, EVENT, body, back=headers).answer
    assert found is not None
    assert list(found.outcomes) == outcomes


def test_a_charge_is_told_by_its_key_and_by_what_is_left_of_the_caps() -> None:
    back = {
        "RateLimit-Policy": '"minute";q=60;w=60, "day";q=500;w=86400, "lifetime";q=1000',
        "RateLimit": '"minute";r=59;t=60, "day";r=499, "lifetime";r=0',
    }
    charged = seen("GET", "/api/v1/bots", headers=KEY, back=back)
    assert charged.asked.metered
    assert charged.asked.caller == caller_of("cs_user_x")
    assert charged.answer is not None
    assert list(charged.answer.limits) == [Limit("day", 500, 499), Limit("lifetime", 1000, 0)]
    cookie = {"Cookie": "a=b; __Host-session=sst_1"}
    for path, headers in (("/api/v1/bots", {}), ("/api/v1/usage", KEY), ("/api/v1/sponsors/bookings", cookie)):
        assert not seen("GET", path, headers=headers).asked.metered
    assert str(seen("GET", "/api/v1/bots", headers=cookie).asked.caller).startswith("session-")


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("HEAD", "/api/v1/bots/a%20b", "getBot"),
        ("POST", "/mcp/", MCP),
        ("POST", "/sponsor/bookings/bok_1", PAGE),
        ("GET", "/sponsor", None),
        ("POST", "/checkout/lnk_1", None),
        ("GET", "/healthz", None),
        ("POST", "/api/v1/none", None),
    ],
)
def test_a_path_is_an_operation_or_a_form_or_nothing(method: str, path: str, kind: str | None) -> None:
    found = operation_of(method, path, "", {}, b"", 200)
    assert (found and found.kind) == kind


def test_a_refusal_has_its_code_and_no_answer_has_no_facts() -> None:
    refused = seen("GET", "/api/v1/bots", None, {"error": "rate_limited", "message": "No.", "retryAfter": 90}, 429)
    assert refused.answer is not None
    assert (refused.answer.status, refused.answer.code, refused.answer.retry) == (429, "rate_limited", 90)
    assert seen("GET", "/api/v1/bots", status=None).answer is None
    odd = seen("GET", "/api/v1/sponsors/bookings", None, {"items": [1]}).answer
    assert odd is not None
    assert odd.code == "undocumented"


def test_a_body_beside_a_key_is_told_apart_whatever_the_order_of_its_names() -> None:
    path, headers = "/api/v1/sponsors/campaigns", {"Idempotency-Key": '"k"'}
    bodies = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2, "b": 2}]
    digests = [seen("POST", path, body, headers=headers).asked for body in bodies]
    assert [each.key for each in digests] == ["k"] * 3
    assert digests[0].body == digests[1].body != digests[2].body
