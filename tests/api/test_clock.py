"""The clock of a service for developers at `/dev/clock`: who may move it, how far, and what happens on the way."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
import trio

from actors.clock import DAY_MS, HOUR_MS, MINUTE_MS
from actors.times import WEEK_MS
from tests.api.asgi import Client, Response
from tests.api.conformity import check
from tests.api.sponsors import API, NEXT_WEEK, sponsor
from tests.api.world import LOCAL, NOON_MS, World, open_world
from tests.fakes import together
from tests.payments.bank import LIVE
from tests.web.visitors import Visitor

PATH = "/dev/clock"
LATER = {"advanceSeconds": 3_600}
FORM = "application/x-www-form-urlencoded"
MIDNIGHT_MS, FUTURE_MS = NOON_MS + 12 * HOUR_MS, NOON_MS + 1_000 * DAY_MS


@pytest.fixture
async def here() -> AsyncIterator[World]:
    async with open_world(**LOCAL) as opened:
        yield opened


async def move(world: World, body: Any, **rest: Any) -> Response:
    return await world.client.post(PATH, json=body, **{"address": "127.0.0.1", **rest})


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"SERVER__BIND": "0.0.0.0:8080"},
        {"TLS__BIND": "0.0.0.0:8443", "TLS__CERTIFICATE": "a", "TLS__KEY": "b"},
        {"SERVER__BASE_URL": "https://catalog.example.com"},
        {"MAIL__SMTP_URL": "smtp://mail.example:25"},
        {"DATABASE__URL": "postgres://db.example/catalog"},
        {"SERVER__WORKERS": "2"},
        LIVE,
    ],
    ids=lambda settings: " ".join(settings) or "for developers",
)
async def test_only_a_service_for_developers_has_a_clock_to_move(settings: Mapping[str, str]) -> None:
    status = 404 if settings else 200
    async with open_world(**(LOCAL | dict(settings))) as world:
        there = Client(world.client.app, check, "127.0.0.1:8080")
        assert (await there.get(PATH, address="127.0.0.1")).status == status
        assert (await there.post(PATH, json=LATER, address="127.0.0.1")).status == status
        assert world.services.clock.now_ms() == NOON_MS + (0 if settings else HOUR_MS)


@pytest.mark.parametrize(
    "asked",
    [{"address": "203.0.113.7"}, {"headers": {"X-Forwarded-For": "127.0.0.1"}}, {"headers": {"Via": "1.1 proxy"}}],
    ids=["another machine", "a proxy", "another proxy"],
)
async def test_nobody_else_moves_it(here: World, asked: Mapping[str, Any]) -> None:
    assert (await move(here, LATER, **asked)).status == 404
    rebound = Client(here.client.app, check, "rebound.example.com:8080")
    assert (await rebound.post(PATH, json=LATER, address="127.0.0.1")).status == 404
    assert here.services.clock.now_ms() == NOON_MS


async def test_pages_of_other_sites_do_not_move_it(here: World) -> None:
    """Browsers send JSON to another site only after a preflight, and all that needs none is read as a form."""
    other = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    for kind, body in ((FORM, b"do=hour"), ("text/plain", b'{"advanceSeconds": 1}')):
        told = {**other, "Content-Type": kind}
        assert (await here.client.post(PATH, headers=told, body=body, address="127.0.0.1")).status == 403
    asked = {**other, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    preflight = await here.client.request("OPTIONS", PATH, headers=asked, address="127.0.0.1")
    assert preflight.header("access-control-allow-origin") is None
    assert here.services.clock.now_ms() == NOON_MS


MOVES: tuple[tuple[Mapping[str, Any], int], ...] = (
    ({"advanceSeconds": 0}, NOON_MS),
    ({"advanceSeconds": 90}, NOON_MS + 90_000),
    ({"to": NOON_MS + 90_000}, NOON_MS + 90_000),
    ({"to": "2026-11-19"}, MIDNIGHT_MS),
    ({"to": "2026-11-19T01:00:00"}, MIDNIGHT_MS + HOUR_MS),
    ({"to": "2026-11-19T03:00:00+01:00"}, MIDNIGHT_MS + 2 * HOUR_MS),
    ({"to": "2026-11-23T00:00:00Z"}, NEXT_WEEK),
    ({"to": FUTURE_MS}, FUTURE_MS),
)


async def test_it_moves_by_seconds_or_to_a_time(here: World) -> None:
    for body, now_ms in MOVES:
        answer = await move(here, body)
        assert (answer.status, answer.json) == (200, {"now": now_ms, "aheadSeconds": (now_ms - NOON_MS) // 1_000})
        assert here.memory.clock_ahead_ms == now_ms - NOON_MS


WRONG: tuple[tuple[Mapping[str, Any], list[str], str], ...] = (
    ({}, [], "must have either advanceSeconds or to"),
    ({"advanceSeconds": 1, "to": FUTURE_MS}, [], "must have either advanceSeconds or to"),
    ({"advanceSeconds": -1}, ["advanceSeconds"], "must be at least 0"),
    ({"advanceSeconds": 1.5}, ["advanceSeconds"], "must be a whole number"),
    ({"advanceSeconds": 86_400_001}, ["advanceSeconds"], "must be at most 86400000"),
    ({"to": NOON_MS - 1}, ["to"], "never goes back"),
    ({"to": "2026-11-18T11:59:59"}, ["to"], "never goes back"),
    ({"to": FUTURE_MS + 1}, ["to"], "must be at most 2029-08-14 12:00:00 UTC"),
    ({"to": "tomorrow"}, ["to"], "must be a time such as"),
    ({"to": "9999-12-31T23:59:59-14:00"}, ["to"], "must be at most"),
    ({"to": True}, ["to"], "must be a whole number"),
    ({"by": 1}, ["by"], "is not a known property"),
)


async def test_what_it_cannot_do_changes_nothing(here: World) -> None:
    for body, fields, words in WRONG:
        answer = await move(here, body)
        assert answer.words == "400 invalid_request", body
        assert words in answer.json["message"], body
        assert [each["name"] for each in answer.json.get("fields", [])] == fields
    assert here.services.clock.now_ms() == NOON_MS


async def test_of_two_moves_at_once_the_second_is_refused(here: World) -> None:
    answers = await together(*[partial(move, here, LATER)] * 2)
    assert sorted(each.words for each in answers) == ["200", "409 invalid_state"]
    assert here.services.clock.now_ms() == NOON_MS + HOUR_MS


async def test_a_move_that_takes_too_long_says_where_it_is(here: World) -> None:
    mover = here.services.clock_mover
    assert mover is not None
    mover.seconds = 0.0
    answer = await move(here, LATER)
    assert answer.words == "503 service_unavailable"
    assert "2026-11-18 12:00:00 UTC" in answer.json["message"]


async def test_a_move_may_take_longer_than_other_requests(here: World) -> None:
    here.memory.before = partial(trio.sleep, 0.2)
    for send in (partial(move, here, LATER), partial(Visitor(here).send, PATH, do="day")):
        began = trio.current_time()
        assert (await send()).status in (200, 303)
        assert trio.current_time() - began > here.config.http.answer_seconds + 1


async def test_a_move_does_in_order_what_time_would_have_done(here: World) -> None:
    """A booking that nobody pays, one that is paid and never shown, and the webhooks and mails about both."""
    ann, ben = sponsor(here), sponsor(here, "ben@example.com")
    for each in (ann, ben):
        events = ["booking.expired", "delivery.day", "booking.refunded"]
        await each.post(f"{API}/webhooks", {"url": "https://tools.example.com/hook", "events": events})
    paid = await ann.buys()
    await ben.profile()
    held = (await ben.booking(await ben.campaign(), week=NEXT_WEEK + WEEK_MS))["id"]
    assert (await move(here, {"advanceSeconds": 30 * 86_400})).status == 200
    ended_ms = NEXT_WEEK + WEEK_MS + 5 * MINUTE_MS
    assert [(row.created_ms, row.action, row.target_id) for row in here.memory.audits if row.created_ms > NOON_MS] == [
        (NOON_MS + 30 * MINUTE_MS, "booking.expired", held),
        (ended_ms, "booking.refund_ordered", paid),
        (ended_ms, "booking.refunded", paid),
    ]
    assert [(task.delivery.created_ms, task.delivery.type) for task in here.endpoints.tasks] == [
        (NOON_MS + 30 * MINUTE_MS, "booking.expired"),
        *((NEXT_WEEK + day * DAY_MS + 5 * MINUTE_MS, "delivery.day") for day in range(1, 8)),
        (ended_ms, "booking.refunded"),
    ]
    subjects = [
        mail.subject.partition(" ")[0] for mail in here.postbox.mails if mail.recipient == "sponsor@example.com"
    ]
    assert (subjects[:3], sorted(subjects[3:])) == (["Held", "Test", "Your"], ["Refunded:", "Your"])
    assert not here.memory.messages, "mails are pruned after a week"


async def test_the_page_moves_it_and_all_pages_say_that_it_is_ahead(here: World) -> None:
    visitor = Visitor(here)
    assert "of this service is" not in (await visitor.look("/")).text
    for button, now_ms in (
        ("hour", NOON_MS + HOUR_MS),
        ("day", NOON_MS + HOUR_MS + DAY_MS),
        ("next-week", NEXT_WEEK),
        ("week", NEXT_WEEK + WEEK_MS),
    ):
        assert "The clock is moved." in (await visitor.led(PATH, do=button)).text
        assert here.services.clock.now_ms() == now_ms
    assert "The clock of this service is 11 days 12 h ahead." in (await visitor.look("/")).text
    await visitor.led(PATH, do="time", to="2026-12-24T18:00")
    assert datetime.fromtimestamp(here.services.clock.now_ms() / 1_000, UTC) == datetime(2026, 12, 24, 18, tzinfo=UTC)


async def test_the_page_says_what_is_wrong(here: World) -> None:
    visitor = Visitor(here)
    assert (await move(here, {"to": FUTURE_MS})).status == 200
    for do, to, words in (
        ("time", "", "Choose a date and time."),
        ("time", "soon", "Choose a date and time."),
        ("time", "2026-11-17T12:00", "Choose a time that is not over"),
        ("time", "2036-11-17T12:00", "at most 1,000 days from today"),
        ("week", "", "The clock can be at most 1,000 days ahead"),
        ("next-week", "", "The clock can be at most 1,000 days ahead"),
    ):
        answer = await visitor.send(PATH, do=do, to=to)
        assert answer.status == 400
        assert words in answer.body.decode()
    assert here.services.clock.now_ms() == FUTURE_MS


async def test_a_session_ends_on_the_way_and_its_page_asks_to_sign_in_again(here: World) -> None:
    token = here.session("ann@example.com")
    person = Visitor(here, token)
    assert (await person.get("/dashboard")).status == 200
    assert (await person.send(PATH, do="week")).header("location") == f"{PATH}?notice=clock_moved"
    assert (await person.get("/dashboard")).header("location") == "/sign-in?next=%2Fdashboard"
    assert "outbox" in (await person.look(PATH)).text
