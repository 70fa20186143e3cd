"""Device login over HTTP (RFC 8628; specification, operation 4; ADR 0009)."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from actors.shared.credentials import is_key
from tests.api.conformity import BASE_URL
from tests.api.devices import APPROVAL, DEVICE, FORM, GRANT, TOKEN, decided, in_browser, looked, polled, started
from tests.api.world import World, away, open_world

ANN = "ann@example.com"


# Starting.


async def test_a_start_answers_what_the_rfc_and_the_specification_name(world: World) -> None:
    response = await world.client.post(DEVICE)
    answer = response.json
    assert re.fullmatch(r"dvc_[0-9A-Za-z]{43}", answer["device_code"])
    assert re.fullmatch(r"[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}", answer["user_code"])
    assert answer == {
        "device_code": answer["device_code"],
        "user_code": answer["user_code"],
        "verification_uri": f"{BASE_URL}/device",
        "verification_uri_complete": f"{BASE_URL}/device?user_code={answer['user_code']}",
        "expires_in": 900,
        "interval": 5,
    }
    assert response.header("cache-control") == "no-store"


@pytest.mark.parametrize(
    "rest",
    [
        {"json": {"client_id": "a-program"}},
        {"headers": FORM, "body": b"client_id=a-program&scope=everything"},
        {"headers": FORM, "body": b"client_id=a&client_id=b&%ff"},
        {"body": b"{not json"},
        {"body": b"\x00\xff"},
    ],
)
async def test_a_body_of_a_start_is_ignored(world: World, rest: Mapping[str, Any]) -> None:
    await started(world, **rest)


async def test_what_the_program_calls_itself_is_kept_as_far_as_it_can_be_shown(world: World) -> None:
    for agent, kept in (
        ("a-program/1.0 (a system)", "a-program/1.0 (a system)"),
        ("  two   spaces\t", "two spaces"),
        ("\x1b[31mred\x7f\x85", "[31mred"),
        ("x" * 300, "x" * 200),
        ("", ""),
    ):
        await started(world, headers={"User-Agent": agent}, address="198.51.100.4")
        device = list(world.memory.devices.values())[-1]
        assert (device.agent, device.address) == (kept, "198.51.100.4")


# Polling.


async def test_a_whole_login_from_the_start_to_a_key_that_works(world: World) -> None:
    token, device = world.session(ANN), await started(world)
    waiting = await polled(world, device["device_code"])
    assert waiting.words == "400 authorization_pending"
    assert waiting.header("cache-control") == "no-store"
    assert waiting.json["error_description"] == waiting.json["message"]
    assert (await looked(world, token, device["user_code"])).json["status"] == "pending"
    assert (await decided(world, token, device["user_code"])).json["status"] == "approved"
    response = await polled(world, device["device_code"])
    assert response.words == "200"
    assert (response.header("cache-control"), response.header("pragma")) == ("no-store", "no-cache")
    answer = response.json
    assert is_key(answer["apiKey"])
    assert answer == {
        "apiKey": answer["apiKey"],
        "tenantId": world.memory.accounts[ANN].tenant_id,
        "keyPrefix": answer["apiKey"][: len(answer["keyPrefix"])],
        "access_token": answer["apiKey"],
        "token_type": "Bearer",
    }
    usage = (await world.client.get("/api/v1/usage", answer["apiKey"])).json
    assert (usage["email"], usage["status"], usage["keyPrefix"]) == (ANN, "claimed", answer["keyPrefix"])
    assert (await world.client.get("/api/v1/sponsors/keys", answer["apiKey"])).words == "200", "a full key"
    assert (await polled(world, device["device_code"])).json == answer, "the answer may have been lost"
    await world.pass_seconds(120)
    assert (await polled(world, device["device_code"])).words == "400 invalid_code"


async def test_a_poll_may_be_json_with_the_device_code_alone(world: World) -> None:
    code = (await started(world))["device_code"]
    assert (await world.client.post(TOKEN, json={"device_code": code})).words == "400 authorization_pending"


@pytest.mark.parametrize("grant", [GRANT, ""])
async def test_a_grant_of_this_kind_or_without_a_value_is_taken(world: World, grant: str) -> None:
    code = (await started(world))["device_code"]
    assert (await polled(world, code, grant_type=grant)).words == "400 authorization_pending"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"device_code=",
        b"grant_type=" + GRANT.encode(),
        b"device_code={code}&grant_type=client_credentials",
        b"device_code={code}&grant_type=authorization_code",
        b"device_code={code}&device_code={code}",
        b"device_code={code}&client_id=a&client_id=b",
        b"device_code=%ff",
        b"device_code=" + b"x" * 201,
        b'{"device_code": "{code}"}',
    ],
)
async def test_a_form_that_is_none_of_the_rfc_is_refused_and_changes_nothing(world: World, body: bytes) -> None:
    code = (await started(world))["device_code"]
    before = dict(world.memory.devices)
    response = await world.client.post(TOKEN, headers=FORM, body=body.replace(b"{code}", code.encode()))
    assert response.words == "400 invalid_request"
    assert response.json["error_description"]
    assert world.memory.devices == before


async def test_as_many_devices_as_an_address_may_start_poll_in_peace(world: World) -> None:
    """All devices of one address poll at their interval, in two overlapping windows of starts."""
    devices = [(await started(world))["device_code"] for _ in range(10)]
    world.services.budgets._hours._windows.clear()
    devices += [(await started(world))["device_code"] for _ in range(10)]
    for _ in range(24):
        for code in devices:
            assert (await polled(world, code)).words == "400 authorization_pending"
        await world.pass_seconds(5)


async def test_guessing_at_device_codes_is_bounded(world: World) -> None:
    words = [(await world.client.post(TOKEN, json={"device_code": "dvc_" + "x" * 43})).words for _ in range(481)]
    assert words == ["400 invalid_code"] * 480 + ["429 rate_limited"]
    assert (await world.client.post(TOKEN, json={"device_code": "x"}, address="203.0.113.8")).status == 400
    await world.pass_seconds(60)
    assert (await world.client.post(TOKEN, json={"device_code": "x"})).words == "400 invalid_code"


async def test_without_the_database_a_poll_can_be_sent_again(world: World) -> None:
    token, device = world.session(ANN), await started(world)
    await decided(world, token, device["user_code"])
    before, world.memory.before = world.memory.before, away
    response = await polled(world, device["device_code"])
    assert response.words == "503 service_unavailable"
    assert response.json["error_description"]
    world.memory.before = before
    assert (await polled(world, device["device_code"])).words == "200"


# Approving.


async def test_what_is_asked_is_shown_to_who_types_the_code(world: World) -> None:
    token, device = world.session(ANN), await started(world, headers={"User-Agent": "a-program/1.0"})
    typed = " " + device["user_code"].lower().replace("-", " ")
    response = await looked(world, token, typed)
    assert response.json == {
        "userCode": device["user_code"],
        "status": "pending",
        "agent": "a-program/1.0",
        "address": "203.0.113.7",
        "createdAt": world.now_ms,
        "expiresAt": world.now_ms + 900_000,
    }
    assert response.header("cache-control") == "no-store"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"userCode": "WDJB-MJHT"},
        {"userCode": "WDJB-MJHT", "decision": "maybe"},
        {"userCode": "", "decision": "approve"},
        {"userCode": "x" * 101, "decision": "approve"},
        {"userCode": "WDJB-MJHT", "decision": "approve", "email": ANN},
    ],
)
async def test_a_decision_that_is_not_valid_is_refused_and_charged_to_nobody(world: World, body: Any) -> None:
    response = await world.client.post(APPROVAL, headers=in_browser(world.session(ANN)), json=body)
    assert response.words == "400 invalid_request"
    assert world.memory.device_guesses == {}


async def test_a_code_that_is_not_complete_costs_no_guess(world: World) -> None:
    token, device = world.session(ANN), await started(world)
    for malformed in 4 * ("WDJB", "1234-5678", "WDJBMJHTT"):
        assert (await looked(world, token, malformed)).words == "400 invalid_code"
        assert (await decided(world, token, malformed)).words == "400 invalid_code"
    assert world.memory.device_guesses == {}
    full_width = "".join(chr(ord(each) + 0xFEE0) if each.isalpha() else "\u2011" for each in device["user_code"])
    assert (await looked(world, token, full_width)).words == "200"


async def test_the_numbers_are_those_of_the_configuration() -> None:
    settings = {"DEVICE__EXPIRES_SECONDS": 60, "DEVICE__INTERVAL_SECONDS": 7, "DEVICE__WRONG_CODES": 1}
    async with open_world(**settings, DEVICE__LOCK_MINUTES=2, KEYS__FULL_PER_ACCOUNT=1) as world:
        token, device = world.session(ANN), await started(world)
        assert (device["expires_in"], device["interval"]) == (60, 7)
        assert (await decided(world, token, device["user_code"])).words == "409 key_limit"
        assert (await looked(world, token, "WDJB-MJHT")).words == "400 invalid_code"
        assert (await looked(world, token, device["user_code"])).header("retry-after") == "120"
