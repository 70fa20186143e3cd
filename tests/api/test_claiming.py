"""Operations 2 and 3: claiming a key by an emailed code (ADR 0056)."""

from dataclasses import replace
from typing import Any

import pytest

from actors.values import Tier
from tests.api.asgi import Response
from tests.api.passkeys import owner_with_passkey
from tests.api.world import World, away, open_world

START, COMPLETE = "/api/v1/auth/claim", "/api/v1/auth/claim/complete"
ANN, BOB = "ann@example.com", "bob@example.com"
NOBODYS = "clm_" + "0" * 32


class Claimant:
    """A person with a fresh anonymous key: `key` and `token` as minted."""

    def __init__(self, world: World, key: str, token: str) -> None:
        self._world = world
        self.key = key
        self.token = token

    async def start(self, email: str = ANN, **rest: Any) -> Response:
        return await self._world.client.post(START, json={"claimToken": self.token, "email": email}, **rest)

    async def complete(self, code: str, email: str = ANN) -> Response:
        body = {"claimToken": self.token, "email": email, "code": code}
        return await self._world.client.post(COMPLETE, json=body)

    async def claim(self, email: str = ANN) -> Response:
        assert (await self.start(email)).json == {"sent": True}
        return await self.complete(await self._world.emailed_code(email), email)

    async def usage(self) -> Any:
        return (await self._world.client.get("/api/v1/usage", self.key)).json


async def claimant(world: World) -> Claimant:
    minted = await world.services.keys.mint()
    return Claimant(world, minted.api_key, minted.claim_token)


def wrong(code: str) -> str:
    return f"{(int(code) + 1) % 1_000_000:06d}"


async def test_an_account_with_a_passkey_takes_no_key_by_email(world: World) -> None:
    """Otherwise reading the owner's mail would be enough for a key that acts for the account."""
    await owner_with_passkey(world, ANN)
    thief = await claimant(world)
    refused = await thief.claim()
    assert refused.words == "403 forbidden"
    assert refused.json["hint"] == "/dashboard"
    assert (await thief.usage())["status"] == "anonymous"


# Success.


async def test_a_claimed_key_stays_the_same_and_loses_its_expiry_and_cap(world: World) -> None:
    ann = await claimant(world)
    before = await ann.usage()
    await world.client.get("/api/v1/bots", ann.key)
    claimed = await ann.claim()
    assert claimed.json == {
        "tenantId": before["tenantId"],
        "status": "claimed",
        "keyPrefix": ann.key[:12],
        "requestsUsed": 1,
        "requestLimit": 100_000,
        "dailyRequestsUsed": 1,
        "dailyRequestLimit": 10_000,
        "email": ANN,
    }
    assert await ann.usage() == claimed.json
    await world.pass_seconds(73 * 3_600)
    assert (await world.client.get("/api/v1/bots", ann.key)).words == "200"


async def test_a_claim_lifts_the_cap_at_once(world: World) -> None:
    ann = await claimant(world)
    tenant = world.tenant_of(ann.key)
    world.memory.tenants[tenant.id] = replace(tenant, lifetime_used=1_000)
    assert (await world.client.get("/api/v1/bots", ann.key)).words == "403 quota_exhausted"
    await ann.claim()
    assert (await world.client.get("/api/v1/bots", ann.key)).words == "200"


@pytest.mark.parametrize("announced", [True, False])
async def test_an_expired_key_can_still_be_claimed_and_works_at_once(world: World, announced: bool) -> None:
    if not announced:
        world.memory.listeners.clear()
    ann = await claimant(world)
    await world.pass_seconds(80 * 3_600)
    assert (await world.client.get("/api/v1/usage", ann.key)).words == "403 key_expired"
    assert (await ann.claim()).words == "200"
    assert (await world.client.get("/api/v1/usage", ann.key)).words == "200"


async def test_the_code_goes_by_mail_and_nowhere_else(world: World) -> None:
    ann = await claimant(world)
    started = await ann.start()
    code = await world.emailed_code(ANN)
    [mail] = world.postbox.mails
    assert code in mail.text
    assert code not in mail.subject
    assert code not in started.body.decode()
    assert ann.token not in mail.text


async def test_the_answer_to_a_start_does_not_tell_whether_an_email_is_known(world: World) -> None:
    world.key(tier=Tier.CLAIMED, email=BOB)
    answers = [await (await claimant(world)).start(email) for email in (ANN, BOB)]
    assert answers[0].body == answers[1].body == b'{"sent":true}'


@pytest.mark.parametrize("email", ["Ann@Example.com", "ANN@EXAMPLE.COM", "ann@EXAMPLE.com"])
async def test_an_email_is_the_same_however_it_is_written(world: World, email: str) -> None:
    ann = await claimant(world)
    await ann.start(email)
    completed = await ann.complete(await world.emailed_code(ANN), "aNN@example.com")
    assert completed.json["email"] == ANN


async def test_spaces_around_a_code_do_no_harm(world: World) -> None:
    ann = await claimant(world)
    await ann.start()
    assert (await ann.complete(f" {await world.emailed_code(ANN)}\n")).words == "200"


async def test_a_second_key_of_an_email_moves_to_its_account_with_its_counts(world: World) -> None:
    first, second = await claimant(world), await claimant(world)
    for each in (first, second):
        await world.client.get("/api/v1/bots", each.key)
        await each.claim()
    usage, other = await first.usage(), await second.usage()
    assert usage["tenantId"] == other["tenantId"]
    assert usage["requestsUsed"] == other["requestsUsed"] == 2
    assert usage["dailyRequestsUsed"] == 2
    assert usage["keyPrefix"] != other["keyPrefix"]
    await world.client.get("/api/v1/bots", second.key)
    assert (await first.usage())["requestsUsed"] == 3


async def test_an_audit_record_says_that_a_key_was_claimed(world: World) -> None:
    ann = await claimant(world)
    await ann.start()
    code = await world.emailed_code(ANN)
    body = {"claimToken": ann.token, "email": ANN, "code": code}
    await world.client.post(COMPLETE, json=body, headers={"X-Request-Id": "req-7"})
    [record] = world.memory.audits
    assert (record.action, record.actor_email, record.request_id) == ("key.claimed", ANN, "req-7")


# Starts that are refused.


@pytest.mark.parametrize("token", [NOBODYS, "clm_" + "0" * 31, "x" * 8, "x" * 200, "clm_" + "é" * 32])
async def test_an_unknown_token_is_an_invalid_claim(world: World, token: str) -> None:
    body = {"claimToken": token, "email": ANN}
    assert (await world.client.post(START, json=body)).words == "400 invalid_claim"
    assert (await world.client.post(COMPLETE, json=body | {"code": "123456"})).words == "400 invalid_claim"


@pytest.mark.parametrize(
    "change",
    [
        {"claimToken": None},
        {"claimToken": 12345678},
        {"claimToken": "short"},
        {"claimToken": "x" * 201},
        {"claimToken": ["clm_"]},
        {"email": None},
        {"email": ""},
        {"email": "ann"},
        {"email": "ann@"},
        {"email": "@example.com"},
        {"email": "ann@example.com, bob@example.com"},
        {"email": "Ann <ann@example.com>"},
        {"email": "ann@example.com\nBcc: bob@example.com"},
        {"email": "ann@example.com\x00"},
        {"email": "a" * 250 + "@example.com"},
        {"email": {"address": ANN}},
        {"email": "ann@[127.0.0.1]"},
        {"email": "änn@example.com"},
    ],
)
async def test_a_start_that_is_not_valid_is_refused_and_sends_nothing(world: World, change: dict[str, Any]) -> None:
    ann = await claimant(world)
    body = {"claimToken": ann.token, "email": ANN} | change
    assert (await world.client.post(START, json=body)).words == "400 invalid_request"
    assert (await world.client.post(COMPLETE, json=body | {"code": "123456"})).words == "400 invalid_request"
    await world.settled()
    assert world.postbox.mails == []


@pytest.mark.parametrize("code", [None, 123456, "123", "", "1" * 65, ["1234"], {"code": "123456"}])
async def test_a_code_that_is_not_valid_is_refused(world: World, code: Any) -> None:
    ann = await claimant(world)
    await ann.start()
    response = await ann.complete(code)
    assert response.words == "400 invalid_request"


async def test_a_minute_lies_between_two_codes_for_one_token(world: World) -> None:
    ann = await claimant(world)
    await ann.start()
    await world.pass_seconds(20)
    refused = await ann.start()
    assert refused.words == "429 rate_limited"
    assert refused.json["retryAfter"] == 40
    await world.pass_seconds(40)
    assert (await ann.start()).words == "200"


async def test_five_codes_a_day_are_sent_for_one_token(world: World) -> None:
    ann = await claimant(world)
    for _ in range(5):
        assert (await ann.start()).words == "200"
        await world.pass_seconds(60)
    refused = await ann.start()
    assert refused.words == "429 rate_limited"
    assert refused.json["retryAfter"] == 12 * 3_600 - 300
    await world.pass_seconds(12 * 3_600 - 300)
    assert (await ann.start()).words == "200"


async def test_an_address_starts_twelve_claims_an_hour(world: World) -> None:
    statuses = [(await (await claimant(world)).start(f"a{number}@example.com")).status for number in range(13)]
    assert statuses == [200] * 12 + [429]
    ann = await claimant(world)
    assert (await ann.start(address="198.51.100.1")).words == "200"
    await world.pass_seconds(3_600)
    assert (await (await claimant(world)).start()).words == "200"


async def test_refused_starts_use_the_addresss_budget_too(world: World) -> None:
    body = {"claimToken": NOBODYS, "email": ANN}
    statuses = [(await world.client.post(START, json=body)).status for _ in range(13)]
    assert statuses == [400] * 12 + [429]


async def test_a_claimed_token_starts_no_claim(world: World) -> None:
    ann = await claimant(world)
    await ann.claim()
    await world.pass_seconds(60)
    for email in (ANN, BOB):
        assert (await ann.start(email)).words == "409 already_upgraded"


# Completions that are refused.


async def test_a_token_without_a_code_is_an_invalid_claim(world: World) -> None:
    assert (await (await claimant(world)).complete("123456")).words == "400 invalid_claim"


async def test_a_wrong_code_is_refused_and_the_right_one_still_goes(world: World) -> None:
    ann = await claimant(world)
    await ann.start()
    code = await world.emailed_code(ANN)
    assert (await ann.complete(wrong(code))).words == "400 invalid_code"
    assert (await ann.complete("not digits")).words == "400 invalid_code"
    assert (await ann.complete(code)).words == "200"


async def test_the_fifth_wrong_code_is_the_last(world: World) -> None:
    ann = await claimant(world)
    await ann.start()
    code = await world.emailed_code(ANN)
    answers = [await ann.complete(wrong(code)) for _ in range(5)] + [await ann.complete(code)]
    assert {answer.words for answer in answers} == {"400 invalid_code"}
    assert len({answer.body for answer in answers}) == 1, "one answer for all, so that nobody learns which it was"


async def test_a_code_ends_after_ten_minutes(world: World) -> None:
    late, timely = await claimant(world), await claimant(world)
    await late.start()
    await timely.start(BOB)
    codes = [await world.emailed_code(email) for email in (ANN, BOB)]
    await world.pass_seconds(599)
    assert (await timely.complete(codes[1], BOB)).words == "200"
    await world.pass_seconds(1)
    assert (await late.complete(codes[0])).words == "400 invalid_code"


async def test_a_new_code_kills_the_old_one_and_brings_new_attempts(world: World) -> None:
    ann = await claimant(world)
    await ann.start()
    old = await world.emailed_code(ANN)
    for _ in range(5):
        await ann.complete(wrong(old))
    await world.pass_seconds(60)
    await ann.start()
    new = await world.emailed_code(ANN)
    assert old != new
    assert (await ann.complete(old)).words == "400 invalid_code"
    assert (await ann.complete(new)).words == "200"


async def test_a_code_goes_with_the_email_it_was_sent_to(world: World) -> None:
    ann = await claimant(world)
    await ann.start()
    code = await world.emailed_code(ANN)
    assert (await ann.complete(code, BOB)).words == "400 invalid_claim"
    assert (await ann.complete(code)).words == "200"


async def test_a_code_goes_with_the_token_it_was_sent_for(world: World) -> None:
    one, other = await claimant(world), await claimant(world)
    await one.start()
    code = await world.emailed_code(ANN)
    await other.start()
    assert (await other.complete(code)).words == "400 invalid_code"


async def test_a_success_can_be_repeated_for_ten_minutes(world: World) -> None:
    ann = await claimant(world)
    await ann.start()
    code = await world.emailed_code(ANN)
    first = await ann.complete(code)
    await world.pass_seconds(600)
    assert (await ann.complete(code)).body == first.body
    assert (await ann.complete(wrong(code))).words == "400 invalid_code"
    await world.pass_seconds(1)
    assert (await ann.complete(code)).words == "400 invalid_code"


async def test_a_claimed_token_cannot_be_claimed_by_another_email(world: World) -> None:
    ann = await claimant(world)
    await ann.start()
    code = await world.emailed_code(ANN)
    await ann.complete(code)
    assert (await ann.complete(code, BOB)).words == "409 already_upgraded"
    assert (await ann.usage())["email"] == ANN


async def test_the_eleventh_live_key_of_an_account_is_refused() -> None:
    async with open_world(KEYS__FULL_PER_ACCOUNT=2) as world:
        for _ in range(2):
            assert (await (await claimant(world)).claim()).words == "200"
        third = await claimant(world)
        assert (await third.claim()).words == "409 key_limit"
        assert (await third.usage())["status"] == "anonymous"


async def test_ten_keys_are_the_limit_unless_configured(world: World) -> None:
    assert world.config.keys.full_per_account == 10


async def test_an_address_completes_at_most_sixty_times_an_hour() -> None:
    async with open_world(CLAIM__COMPLETIONS_PER_HOUR=3) as world:
        ann = await claimant(world)
        assert [(await ann.complete("123456")).status for _ in range(4)] == [400] * 3 + [429]


async def test_letters_to_an_email_are_limited_by_network_and_guesses_cost_it_nothing() -> None:
    async with open_world(CLAIM__LETTERS_PER_EMAIL=3, CLAIM__GUESSES_PER_EMAIL=5) as world:
        anns = [await claimant(world) for _ in range(8)]
        stranger, new, late = "198.51.100.1", "2001:db8::1", "2001:db8::ffff"
        starts = [(await ann.start(address=stranger)).status for ann in anns[:4]]
        assert starts == [200] * 3 + [429], "a network has a limit of its own"
        assert (await anns[4].start(address=new)).status == 200, "a network's first letter passes"
        refused = await anns[5].start(address=late)
        assert refused.words == "429 rate_limited"
        assert "from a network that is new to it today" in refused.json["message"]
        for ann in anns * 7:
            await ann.complete("000000")
        code = await world.emailed_code(ANN)
        assert len(code) == 12, "a code is long once many guesses are possible"
        assert (await anns[4].complete(code)).words == "400 invalid_code", "its own guesses are used up"
        assert (await (await claimant(world)).start("other@example.com")).words == "200"


async def test_made_up_tokens_and_guesses_lock_nobody_out() -> None:
    async with open_world(CLAIM__COMPLETIONS_PER_HOUR=1_000) as world:
        for number in range(100):
            body = {"claimToken": f"clm_{number:032d}", "email": ANN, "code": "123456"}
            for path in (START, COMPLETE):
                answer = await world.client.post(path, json=body, address=f"198.51.100.{number}")
                assert answer.words == "400 invalid_claim"
        assert (await (await claimant(world)).claim()).words == "200"
        assert {row.sent_today for row in world.memory.letters.values()} == {1}


async def test_minting_starting_and_completing_have_budgets_of_their_own() -> None:
    settings = {"MINT__PER_HOUR": 2, "CLAIM__STARTS_PER_HOUR": 2, "CLAIM__COMPLETIONS_PER_HOUR": 2}
    async with open_world(**settings) as world:
        for path in ("/api/v1/auth/agent", START, COMPLETE):
            body = {"claimToken": NOBODYS, "email": ANN, "code": "123456"}
            statuses = [(await world.client.post(path, json=body)).status for _ in range(3)]
            assert statuses[2] == 429
            assert 429 not in statuses[:2]


async def test_nothing_is_claimed_while_the_database_is_away(world: World) -> None:
    ann = await claimant(world)
    await ann.start()
    code, before = await world.emailed_code(ANN), world.memory.before
    world.memory.before = away
    assert (await ann.complete(code)).words == "503 service_unavailable"
    assert (await ann.start()).words == "503 service_unavailable"
    world.memory.before = before
    assert (await ann.usage())["status"] == "anonymous"
    assert (await ann.complete(code)).words == "200"
