"""Counting of requests, and each limit (ADR 0003)."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
import trio

from actors.bookings.records import BookingStatus
from actors.values import Scope, Tier
from tests.api.asgi import Response
from tests.api.world import World, away, broken, fails_once, open_world
from tests.snapshots.rows import booking

USECASES, USECASE, BOTS, BOT = "/api/v1/usecases", "/api/v1/usecases/case-04", "/api/v1/bots", "/api/v1/bots/bot-00"


def counters(world: World, key: str) -> tuple[int, int, int, int]:
    """The lifetime, monthly and daily limits, and use case reads."""
    tenant = world.tenant_of(key)
    return tenant.lifetime_used, tenant.month_used, tenant.day_used, tenant.usecase_reads


def limits_of(response: Response) -> dict[str, dict[str, int]]:
    """RateLimit-Policy and RateLimit by the name of the limit. Both are structured fields (RFC 8941)."""
    merged: dict[str, dict[str, int]] = {}
    for header in ("ratelimit-policy", "ratelimit"):
        value = response.header(header)
        assert value is not None
        for item in value.split(", "):
            match = re.fullmatch(r'"([a-z]+)"((?:;[a-z]=\d{1,15})+)', item)
            assert match, f"{item!r} is no item of a structured field"
            parameters = dict(pair.split("=") for pair in match[2][1:].split(";"))
            merged.setdefault(match[1], {}).update((name, int(number)) for name, number in parameters.items())
    return merged


async def test_a_hint_names_what_resolves_a_used_up_quota_and_time_has_none(world: World) -> None:
    for scopes in (None, (Scope.LIBRARY_READ,)):
        key = world.key(tier=Tier.CLAIMED, email="ann@example.com", scopes=scopes, used=100_000)
        for target in (USECASES, BOT):
            refused = await world.client.get(target, key)
            assert (refused.words, "hint" in refused.json) == ("403 quota_exhausted", False)
    minted = (await world.client.post("/api/v1/auth/agent")).json
    key_id = world.id_of(minted["apiKey"])
    tenant_id = world.memory.keys[key_id].tenant_id
    world.memory.tenants[tenant_id] = replace(world.memory.tenants[tenant_id], lifetime_used=1_000)
    hint = (await world.client.get(BOTS, minted["apiKey"])).json["hint"]
    claim = {"claimToken": minted["claimToken"], "email": "bob@example.com"}
    assert (await world.client.post(hint, json=claim)).words == "200"
    claim["code"] = await world.emailed_code("bob@example.com")
    assert (await world.client.post(f"{hint}/complete", json=claim)).words == "200"
    assert (await world.client.get(BOTS, minted["apiKey"])).words == "200"


# Counting.


@pytest.mark.parametrize(
    ("target", "words", "counted"),
    [
        *((target, "200", (1, 1, 1, 1)) for target in (USECASES, USECASE)),
        *((target, "200", (1, 1, 1, 0)) for target in (BOTS, BOT, f"{BOTS}?q=receipts")),
        (f"{USECASES}/nobody", "404 not_found", (1, 1, 1, 1)),
        (f"{BOTS}/nobody", "404 not_found", (1, 1, 1, 0)),
        (f"{BOTS}?limit=0", "400 invalid_request", (1, 1, 1, 0)),
        (f"{BOTS}?q=%FF", "400 invalid_request", (1, 1, 1, 0)),
        *((target, "200", (0,) * 4) for target in ("/api/v1/usage", "/healthz", "/readyz", "/openapi.json", "/")),
        *((target, "404 not_found", (0,) * 4) for target in ("/nowhere", f"{BOTS}/")),
    ],
)
async def test_what_a_request_counts(world: World, target: str, words: str, counted: tuple[int, ...]) -> None:
    key = world.key()
    assert (await world.client.get(target, key)).words == words
    assert counters(world, key) == counted


PUBLIC = (USECASES, USECASE, BOTS, BOT, f"{BOTS}?q=receipts", "/api/v1/categories")
SHOWN = tuple(f"/api/v1/sponsors/{name}" for name in ("inventory", "calendar", "placements", "rate-card"))


@pytest.mark.parametrize("target", [*PUBLIC, *SHOWN])
async def test_a_304_charges_nothing_and_every_other_answer_one(world: World, target: str) -> None:
    key = world.key(tier=Tier.CLAIMED, email="ann@example.com")
    first = await world.client.get(target, key)
    tag = first.header("etag") or ""
    assert tag == (await world.client.get(target)).header("etag")
    before = counters(world, key)
    assert before[1] == 1
    for _ in range(3):
        known = await world.client.get(target, key, headers={"If-None-Match": tag})
        assert (known.status, known.body, known.header("etag")) == (304, b"", tag)
        assert limits_of(known).keys() == {"minute"}, "nothing was charged, so no other counter was read"
    assert counters(world, key) == before
    other = await world.client.get(target, key, headers={"If-None-Match": '"other"'})
    assert (other.status, other.body) == (200, first.body)
    assert limits_of(other).keys() == {"minute", "day", "month"}
    assert counters(world, key)[1] == 2


@pytest.mark.parametrize("target", [f"{USECASES}/nobody", f"{USECASES}?limit=0"])
async def test_a_refusal_is_charged_whatever_tag_the_request_names(world: World, target: str) -> None:
    key = world.key()
    assert (await world.client.get(target, key, headers={"If-None-Match": "*"})).status in (400, 404)
    assert counters(world, key) == (1, 1, 1, 1)


async def test_a_tag_gets_nothing_past_a_cap(world: World) -> None:
    tag = (await world.client.get(USECASES)).header("etag") or ""
    used_up = {
        "403 claim_required": world.key(used=600, usecase_reads=200),
        "429 rate_limited": world.key(used=600, used_today=500),
        "403 quota_exhausted": world.key(used=1_000),
    }
    for words, key in used_up.items():
        before = counters(world, key)
        assert (await world.client.get(USECASES, key, headers={"If-None-Match": '"other"'})).words == words
        assert (await world.client.get(USECASES, key, headers={"If-None-Match": tag})).status == 304
        assert counters(world, key) == before
    paced = [(await world.client.get(USECASES, key, headers={"If-None-Match": tag})).status for _ in range(60)]
    assert paced[-1] == 429


async def test_minting_and_claiming_do_not_count(world: World) -> None:
    key = world.key()
    for target in ("/api/v1/auth/agent", "/api/v1/auth/claim", "/api/v1/auth/claim/complete"):
        await world.client.post(target, key, json={})
    assert counters(world, key) == (0, 0, 0, 0)


async def test_a_refused_request_does_not_count(world: World) -> None:
    refused: dict[str, Callable[[], str]] = {
        "403 key_expired": lambda: world.key(expires_in_ms=-1, used=5, used_today=5, usecase_reads=5),
        "403 insufficient_scope": lambda: world.key(
            scopes=(Scope.SPONSOR_READ,), used=5, used_today=5, usecase_reads=5
        ),
        "403 claim_required": lambda: world.key(usecase_reads=200, used=300, used_today=20),
        "403 quota_exhausted": lambda: world.key(used=1_000, used_today=20),
        "429 rate_limited": lambda: world.key(used=600, used_today=500),
    }
    for words, make in refused.items():
        key = make()
        before = counters(world, key)
        assert (await world.client.get(USECASES, key)).words == words
        assert counters(world, key) == before


async def test_a_key_without_the_scope_is_paced_all_the_same(world: World) -> None:
    key = world.key(scopes=(Scope.SPONSOR_READ,))
    answers = [(await world.client.get(USECASES, key)).words for _ in range(61)]
    assert answers == ["403 insufficient_scope"] * 60 + ["429 rate_limited"]


async def test_a_5xx_does_not_count(world: World) -> None:
    for failing, words in ((away, "503 service_unavailable"), (broken, "500 internal_error")):
        key = world.key(used=7, used_today=3, usecase_reads=2)
        fails_once(world.searching, failing)
        response = await world.client.get(f"{USECASES}?q={words[:3]}", key)
        assert response.words == words
        assert counters(world, key) == (7, 7, 3, 2)
        assert (await world.client.get(f"{USECASES}?q={words[:3]}", key)).words == "200"
        assert counters(world, key) == (8, 8, 4, 3)


async def test_without_the_accountants_store_nothing_is_let_through(world: World) -> None:
    key = world.key()
    assert (await world.client.get(BOTS, key)).words == "200"
    before = world.memory.before
    world.memory.before = away
    response = await world.client.get(BOTS, key)
    assert response.words == "503 service_unavailable"
    assert (await world.client.get(BOTS)).words == "200", "who has no key is not counted, and goes on reading"
    world.memory.before = before
    assert counters(world, key) == (1, 1, 1, 0)


async def test_an_answer_that_takes_too_long_is_a_503_and_does_not_count(world: World) -> None:
    anonymous, claimed = world.key(), world.key(tier=Tier.CLAIMED, email="ann@example.com")
    world.searching.before = trio.sleep_forever
    for key in (anonymous, claimed):
        began = trio.current_time()
        answer = await world.client.get(f"{BOTS}?q=a", key)
        assert (answer.words, answer.header("retry-after")) == ("503 service_unavailable", "1")
        assert answer.json["message"].startswith("Too many searches are running.")
        assert trio.current_time() - began == pytest.approx(world.config.http.answer_seconds)
        assert counters(world, key) == (0, 0, 0, 0)


# Limits.


async def test_an_address_without_a_key_reads_thirty_times_a_minute(world: World) -> None:
    statuses = [(await world.client.get(target)).status for target in (USECASES, USECASE, BOTS, BOT) * 8]
    assert statuses == [200] * 30 + [429] * 2
    await world.pass_seconds(59)
    refused = await world.client.get(BOTS)
    assert refused.json == {"error": "rate_limited", "message": "Too many requests. Try again in 1 s.", "retryAfter": 1}
    await world.pass_seconds(1)
    assert (await world.client.get(BOTS)).words == "200"


async def test_bad_requests_without_a_key_use_the_limit_too(world: World) -> None:
    statuses = [(await world.client.get(f"{BOTS}?limit=0")).status for _ in range(31)]
    assert statuses == [400] * 30 + [429]


# Response headers.


async def test_an_anonymous_key_is_told_what_is_left_of_each_limit(world: World) -> None:
    key = world.key(used=10, used_today=5)
    assert limits_of(await world.client.get(BOTS, key)) == {
        "minute": {"q": 60, "w": 60, "r": 59, "t": 60},
        "day": {"q": 500, "w": 86_400, "r": 494},
        "lifetime": {"q": 1_000, "r": 989},
    }
    await world.pass_seconds(25)
    assert limits_of(await world.client.get(BOTS, key)) == {
        "minute": {"q": 60, "w": 60, "r": 58, "t": 35},
        "day": {"q": 500, "w": 86_400, "r": 493},
        "lifetime": {"q": 1_000, "r": 988},
    }


async def test_an_account_is_told_of_its_month(world: World) -> None:
    key = world.key(tier=Tier.UPGRADED, used=10, used_today=5)
    assert limits_of(await world.client.get(BOTS, key)) == {
        "minute": {"q": 1_200, "w": 60, "r": 1_199, "t": 60},
        "day": {"q": 100_000, "w": 86_400, "r": 99_994},
        "month": {"q": 1_000_000, "r": 999_989},
    }


async def test_usage_tells_the_limit_of_its_own_minute(world: World) -> None:
    key = world.key()
    await world.client.get(BOTS, key)
    assert limits_of(await world.client.get("/api/v1/usage", key)) == {"minute": {"q": 60, "w": 60, "r": 59, "t": 60}}


async def test_accounts_of_one_mailbox_share_their_quota_until_one_has_paid() -> None:
    async with open_world(TIERS__CLAIMED__MONTHLY=10, TIERS__CLAIMED__DAILY=10, TIERS__CLAIMED__PER_MINUTE=12) as world:
        one, two, other = (
            world.key(tier=Tier.CLAIMED, email=f"{name}@example.com", used=4, used_today=4)
            for name in ("one+0", "one+1", "other")
        )
        words = [(await world.client.get(BOTS, key)).words for key in (one, two, one)]
        assert words == ["200", "200", "403 quota_exhausted"]
        refused = await world.client.get(BOTS, two)
        assert "by the accounts of your mailbox" in refused.json["message"]
        assert (await world.client.get(BOTS, other)).words == "200"
        usage = (await world.client.get("/api/v1/usage", two)).json
        assert usage["requestsUsed"] == 5, "an account reads what it used itself"
        for _ in range(8):
            await world.client.get(BOTS, one)
        assert (await world.client.get(BOTS, two)).words == "429 rate_limited", "the minute is shared as well"
        paid = booking("bok_1", tenant_id=world.tenant_of(two).id, status=BookingStatus.PAID, paid_ms=world.now_ms)
        world.memory.bookings[paid.id] = paid
        await world.pass_for_memory(60)
        assert (await world.client.get(BOTS, two)).words == "200"
