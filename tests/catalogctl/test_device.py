"""Polling of a device login (RFC 8628, 3.5): the meaning of each response, and the time of the next poll."""

import json
from typing import Any

import pytest

from service.catalogctl.client import Reply
from service.catalogctl.credentials import Credential
from service.catalogctl.failures import Exit
from service.catalogctl.login import Ended, Polling, Started, Wait


def reply(status: int, document: object, **headers: str) -> Reply:
    return Reply(
        status, {name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(document).encode()
    )


def refusal(error: str, status: int = 400, **fields: object) -> Reply:
    return reply(status, {"error": error, "message": "No.", **fields})


PENDING = refusal("authorization_pending")


def polling(interval: float = 5.0, life: float = 900.0) -> Polling:
    return Polling(life, interval)


def test_the_interval_stays_while_the_login_is_pending() -> None:
    state = polling()
    assert [state.after(PENDING, now) for now in (5, 10, 15)] == [Wait(5)] * 3


@pytest.mark.parametrize(
    ("answered", "pace"),
    [
        ({"interval": 10}, 10),
        ({"interval": 12.5}, 12.5),
        ({}, 10),
        ({"interval": "soon"}, 10),
        ({"interval": True}, 10),
        ({"interval": 1}, 5),
        ({"interval": -5}, 10),
        ({"interval": 100_000}, 300),
    ],
)
def test_slow_down_raises_the_interval_and_never_lowers_it(answered: dict[str, Any], pace: float) -> None:
    state = polling()
    assert state.after(refusal("slow_down", **answered), 5) == Wait(pace)
    assert state.after(PENDING, 5 + pace) == Wait(pace)


def test_lost_responses_back_off_until_one_arrives() -> None:
    state = polling()
    assert [state.after(None, 10) for _ in range(5)] == [Wait(10), Wait(20), Wait(40), Wait(60), Wait(60)]
    assert state.after(PENDING, 300) == Wait(5)
    assert state.after(None, 305) == Wait(10)


def test_a_failure_of_the_service_or_a_gateway_counts_as_a_lost_response() -> None:
    state = polling()
    steps = [
        state.after(answer, 10) for answer in (refusal("internal_error", 500), Reply(502, {}, b"<html>bad gateway"))
    ]
    assert steps == [Wait(10), Wait(20)]


@pytest.mark.parametrize(
    ("status", "retry_after", "seconds"),
    [
        (429, "30", 30),
        (429, "2", 5),
        (503, "9", 9),
        (503, "", 5),
        (429, "Wed, 21 Oct 2026 07:28:00 GMT", 5),
        (429, "-1", 5),
    ],
)
def test_overload_waits_for_retry_after_and_at_least_for_the_interval(
    status: int, retry_after: str, seconds: float
) -> None:
    assert polling().after(reply(status, {"error": "rate_limited"}, retry_after=retry_after), 10) == Wait(seconds)


def test_no_wait_exceeds_the_life_of_the_code_and_the_last_poll_is_at_its_end() -> None:
    state = polling(life=12)
    assert state.after(PENDING, 5) == Wait(5)
    assert state.after(PENDING, 10) == Wait(2)
    ended = state.after(PENDING, 12)
    assert isinstance(ended, Ended)
    assert "expired" in (ended.words or "")


def test_a_key_that_arrives_after_the_expiry_is_accepted() -> None:
    document = {
        "apiKey": "k",
        "access_token": "k",
        "keyPrefix": "cs_user_ab",
        "tenantId": "ten_1",
        "token_type": "Bearer",
    }
    assert polling(life=10).after(reply(200, document), 11) == Credential("k", "cs_user_ab", "ten_1")


@pytest.mark.parametrize(
    ("document", "key"),
    [({"access_token": "a"}, "a"), ({"apiKey": "b"}, "b"), ({"access_token": "a", "apiKey": "a"}, "a")],
)
def test_a_key_is_read_under_either_name(document: dict[str, str], key: str) -> None:
    granted = polling().after(reply(200, document), 5)
    assert isinstance(granted, Credential)
    assert granted.api_key == key


@pytest.mark.parametrize("document", [{}, {"access_token": 7}, {"apiKey": ""}, ["apiKey"]])
def test_a_success_without_a_key_is_a_failure(document: object) -> None:
    ended = polling().after(reply(200, document), 5)
    assert isinstance(ended, Ended)
    assert ended.code is Exit.UNREACHABLE


START = {
    "device_code": "dvc_secret",
    "user_code": "BCDF-GHJK",
    "verification_uri": "https://catalog.example.com/device",
    "verification_uri_complete": "https://catalog.example.com/device?user_code=BCDF-GHJK",
    "expires_in": 900,
    "interval": 5,
}


def test_the_start_is_parsed_according_to_the_rfc() -> None:
    started = Started.of(START)
    assert started is not None
    assert started.page == START["verification_uri_complete"]
    assert (started.expires_in_seconds, started.interval_seconds) == (900, 5)


def test_optional_fields_of_the_start_have_the_defaults_of_the_rfc() -> None:
    bare = {name: START[name] for name in ("device_code", "user_code", "verification_uri", "expires_in")}
    started = Started.of(bare)
    assert started is not None
    assert (started.page, started.interval_seconds) == (START["verification_uri"], 5)


NO_PAGES = ("javascript:alert(1)", "file:///etc/passwd", "https://catalog.example.com/\x1b]8;;")


@pytest.mark.parametrize(
    "change",
    [
        *({"device_code": ""}, {"user_code": None}, {"expires_in": 0}, {"expires_in": "900"}),
        *({"verification_uri": page} for page in NO_PAGES),
    ],
)
def test_an_invalid_start_is_none(change: dict[str, object]) -> None:
    assert Started.of({**START, **change}) is None


def test_only_http_addresses_are_opened_in_a_browser() -> None:
    started = Started.of({**START, "verification_uri_complete": "file:///etc/passwd"})
    assert started is not None
    assert started.page == START["verification_uri"]
