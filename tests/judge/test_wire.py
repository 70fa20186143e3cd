"""Every fact of a history comes from plain HTTP: the course of the demo, recorded from the real app, and single exchanges."""

import gzip
import io
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import brotli
import pytest

from actors.clock import Clock
from service.api.operations import OPERATIONS
from tests.api.asgi import Client, Response
from tests.api.world import open_world
from tests.document import demo
from tests.judge.judging import judge
from tests.judge.lines import read_history, write_history
from tests.judge.records import (
    NOTHING,
    VERSION,
    Answer,
    Campaign,
    Event,
    Header,
    History,
    Key,
    Limit,
    Login,
    Money,
    Operation,
    Record,
)
from tests.judge.small import NOON
from tests.judge.wire import MCP, MOST_BYTES, PAGE, Exchange, caller_of, digest, operation_of
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
    relayed = visitor("10.0.0.1", "relay", clientAddress="203.0.113.7", userAgent="A")
    assert visitor("203.0.113.7") == visitor("::ffff:203.0.113.7") == relayed
    assert visitor("10.0.0.1", "one", clientAddress="203.0.113.7") == visitor("203.0.113.7", "")
    assert visitor("2001:db8::1") == visitor("2001:db8::2") != visitor("2001:db8:0:1::1")
    assert len({visitor("203.0.113.7"), visitor("203.0.113.8"), visitor("203.0.113.7", "B")}) == 3
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


def test_a_value_of_another_type_than_the_documents_is_no_fact() -> None:
    odd = seen("GET", "/api/v1/usage", answer={"status": "claimed", "requestsUsed": "3", "requestLimit": 9}).answer
    assert odd is not None
    assert odd.code == "undocumented"
    assert odd.usage is None


def test_a_body_that_is_too_long_once_decompressed_is_not_read() -> None:
    long = b"[" + b" " * MOST_BYTES + b"]"
    for name, packed in (("gzip", gzip.compress(long)), ("br", brotli.compress(long))):
        found = operation_of("GET", "/api/v1/changes", "", {}, b"", 200, {"Content-Encoding": name}, packed)
        assert found is not None
        assert found.answer == Answer(200, "unread")


def test_texts_that_the_service_takes_for_the_same_are_the_same() -> None:
    upper = {**EVENT, "visitorId": EVENT["visitorId"].upper().replace("1", "A")}
    lower = {**upper, "visitorId": upper["visitorId"].lower()}
    events = [seen("POST", "/api/v1/sponsors/events", body).asked.events for body in (upper, lower)]
    assert events[0] == events[1]
    keys = [{"idempotencyKey": each["visitorId"], "slotId": "left"} for each in (upper, lower)]
    assert len({seen("POST", "/api/v1/sponsors/bookings", body).asked.key for body in keys}) == 1
    emails = [{"email": each} for each in ("Ann@Example.com", "ann@example.com ")]
    assert len({seen("POST", "/api/v1/auth/session", body).asked.id for body in emails}) == 1


def test_the_caller_is_who_the_service_takes_for_it() -> None:
    def caller(*headers: tuple[str, str]) -> str | None:
        found = operation_of("GET", "/api/v1/usage", "", headers, b"", 401)
        assert found is not None
        return found.asked.caller

    alone = caller(("Cookie", "session=b"))
    assert alone is not None
    assert (
        caller(("Cookie", "session=a; session=b")) == caller(("Cookie", "session=a"), ("cookie", "session=b")) == alone
    )
    assert caller(("Authorization", "Basic eA=="), ("Cookie", "session=b")) is None
    assert caller(("Authorization", "Bearer x"), ("Cookie", "session=b")) == caller(("Authorization", "bearer x"))


def test_what_opens_something_is_told_apart_by_its_digest() -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    body = b"grant_type=refresh_token&refresh_token=old&client_id=me"
    told = json.dumps({"access_token": "cs_x", "refresh_token": "new", "expires_in": 60}).encode()
    tokens = operation_of("POST", "/oauth/token", "", form, body, 200, {}, told)
    assert tokens is not None
    assert (tokens.asked.id, tokens.asked.body) == (digest("old"), digest("me"))
    assert tokens.answer is not None
    assert tokens.answer.keys == (Key(caller_of("cs_x"), claim=digest("new"), lives=60),)
    entered = seen(
        "POST",
        "/api/v1/auth/session/complete",
        {"email": "a@example.org", "code": "123456"},
        {"id": "ses_1", "email": "a@example.org", "expiresAt": NOON},
        back={"Set-Cookie": "__Host-session=sst_1; Path=/"},
    )
    assert (entered.asked.id, entered.asked.body) == (digest("a@example.org"), digest("123456"))
    assert entered.answer is not None
    assert entered.answer.keys == (Key(f"session-{digest('sst_1')}", "ses_1", ends=NOON),)


def test_a_device_login_is_known_by_both_of_its_codes() -> None:
    codes = {"device_code": "dc", "user_code": "BCDF-GHJK", "expires_in": 600, "interval": 5}
    begun = seen("POST", "/api/v1/auth/device", {}, codes).answer
    looked = seen("GET", "/api/v1/auth/device/approval", query="userCode=bcdf%20ghjk", answer={"status": "pending"})
    slow = seen("POST", "/api/v1/auth/device/token", {"device_code": "dc"}, {"error": "slow_down", "interval": 10}, 400)
    assert begun is not None
    assert begun.login == Login("pending", digest("dc"), looked.asked.id, 600, 5)
    assert looked.answer is not None
    assert looked.answer.login == Login("pending")
    assert slow.asked.id == digest("dc")
    assert slow.answer is not None
    assert (slow.answer.code, slow.answer.retry) == ("slow_down", 10)


MOVES = [{"amount": cents, "currency": currency} for cents, currency in ((-3, "usd"), (2, "usd"), (9, "eur"))]
"""Of a dispute that was lost and given back in part, as the processor tells it."""


@pytest.mark.parametrize(
    ("thing", "kind", "money"),
    [
        (
            {"object": "checkout.session", "payment_status": "paid", "amount_total": 5},
            "checkout.session.completed",
            Money("evt", "paid", "pi", 5),
        ),
        ({"object": "checkout.session", "payment_status": "unpaid"}, "checkout.session.completed", None),
        ({"object": "charge", "refunded": True}, "charge.refunded", Money("evt", "total", "pi", at=7)),
        (
            {"object": "charge", "refunded": False, "amount_refunded": 3},
            "charge.refunded",
            Money("evt", "total", "pi", 3, at=7),
        ),
        (
            {
                "object": "refund",
                "id": "re",
                "amount": 3,
                "created": 6,
                "status": "failed",
                "metadata": {"booking": "bok_1"},
            },
            "refund.failed",
            Money("evt", "refund", "pi", 3, "re", "failed", 7, 6),
        ),
        (
            {"object": "dispute", "id": "dp", "amount": 3, "status": "lost"},
            "charge.dispute.closed",
            Money("evt", "dispute", "pi", 3, "dp", "lost", 7),
        ),
        (
            {
                "object": "dispute",
                "id": "dp",
                "amount": 3,
                "status": "lost",
                "currency": "usd",
                "balance_transactions": MOVES,
            },
            "charge.dispute.funds_reinstated",
            Money("evt", "dispute", "pi", 1, "dp", "lost", 7),
        ),
    ],
)
def test_an_event_of_the_processor_tells_what_it_is_about(thing: Any, kind: str, money: Money | None) -> None:
    event = {"id": "evt", "type": kind, "created": 7, "data": {"object": thing | {"payment_intent": "pi"}}}
    assert seen("POST", "/api/v1/webhooks/stripe", event).asked.money == money


def test_an_event_of_the_feed_tells_its_type_and_its_booking() -> None:
    items = [
        {"id": "evt_1", "type": "booking.paid", "timestamp": "now", "data": {"bookingId": "bok_1"}},
        {"id": "evt_2", "type": "campaign.approved", "timestamp": "now", "data": {"campaignId": "cmp_1"}},
    ]
    found = seen("GET", "/api/v1/sponsors/webhook-events", None, {"items": items, "cursor": "c", "hasMore": False})
    records = [(each.id, *each.digest.split()[:-1]) for each in (found.answer or NOTHING).records]
    assert records == [("evt_1", "booking.paid", "bok_1"), ("evt_2", "campaign.approved", "-")]


def test_a_review_of_a_submission_tells_its_state_and_its_entry() -> None:
    told = {"submission": {"id": "sub_1", "kind": "bots", "slug": "one", "status": "accepted"}}
    found = seen("POST", "/api/v1/admin/catalog/submissions/sub_1/review", {"decision": "accept"}, told)
    assert (found.asked.id, found.asked.decision) == ("sub_1", "accept")
    assert found.answer == Answer(200, campaigns=(Campaign("sub_1", "accepted"),), entry="bots/one")


def test_an_entry_has_a_time_and_the_digest_of_all_else() -> None:
    shown = {"slug": "one", "name": "One", "addedAt": NOON, "updatedAt": NOON + 1}
    read = seen("GET", "/api/v1/bots/one", answer=shown).answer
    assert read is not None
    [record] = read.records
    assert record[:2] == ("bots/one", NOON + 1)
    put = seen("PUT", "/api/v1/admin/catalog/bots/one", {"name": "One"}, {"bot": shown | {"updatedAt": NOON + 2}})
    assert put.asked.id == "one"
    assert put.answer is not None
    assert put.answer.records == (record._replace(at=NOON + 2),)
    gone = seen("DELETE", "/api/v1/admin/catalog/usecases/one", answer={"useCase": shown, "retiredAt": NOON + 3}).answer
    assert gone is not None
    assert gone.records == (Record("usecases/one", NOON + 3, "removed"),)
    older = seen("GET", "/api/v1/bots/one", answer={"slug": "one", "name": "One"}).answer
    assert older == Answer(200)
