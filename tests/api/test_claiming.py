"""Operations 2 and 3: claiming a key by an emailed code (ADR 0056)."""

from typing import Any

import pytest

from actors.values import Tier
from tests.api.asgi import Response
from tests.api.world import World

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


async def test_a_code_is_read_as_people_paste_it_and_one_that_is_none_costs_no_attempt(world: World) -> None:
    ann = await claimant(world)
    await ann.start()
    code = await world.emailed_code(ANN)
    for malformed in (code[:5], f"{code}0", "abcdef", f"{code[:5]}x", "----", code[:4], "12345"):
        assert (await ann.complete(malformed)).words == "400 invalid_code"
    assert (await ann.complete(f" {code[:3]}\u00a0\u200b{code[3:]}\n")).words == "200"


# Starts that are refused.


@pytest.mark.parametrize(
    "change",
    [
        {"claimToken": None},
        {"claimToken": "short"},
        {"claimToken": "x" * 201},
        {"email": None},
        {"email": "ann"},
        {"email": "ann@example.com, bob@example.com"},
        {"email": "Ann <ann@example.com>"},
        {"email": "ann@example.com\nBcc: bob@example.com"},
        {"email": "a" * 250 + "@example.com"},
        {"email": "a" * 65 + "@example.com"},
        {"email": "a@" + "b" * 64 + ".com"},
        {"email": "a@" + f"{'b' * 60}." * 4 + "example.com"},
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
