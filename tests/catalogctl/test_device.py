"""What each answer of a device login means, and when to ask again (RFC 8628, 3.5). Pure: the time is an argument."""

import json
from typing import Any

import pytest

from service.catalogctl.client import Reply
from service.catalogctl.device import Ended, Granted, Polling, Started, Wait
from service.catalogctl.failures import Exit


def reply(status: int, document: object, **headers: str) -> Reply:
    return Reply(
        status, {name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(document).encode()
    )


def refusal(error: str, status: int = 400, **fields: object) -> Reply:
    return reply(status, {"error": error, "message": "No.", **fields})


PENDING = refusal("authorization_pending")


def polling(interval: float = 5.0, life: float = 900.0) -> Polling:
    return Polling(life, interval)


def test_the_first_poll_waits_for_the_interval() -> None:
    assert polling(7).first() == Wait(7)


def test_while_it_is_pending_the_pace_stays() -> None:
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
def test_slow_down_sets_the_pace_for_good_and_never_a_quicker_one(answered: dict[str, Any], pace: float) -> None:
    state = polling()
    assert state.after(refusal("slow_down", **answered), 5) == Wait(pace)
    assert state.after(PENDING, 5 + pace) == Wait(pace)


def test_lost_answers_are_asked_for_more_and_more_rarely_until_one_comes() -> None:
    state = polling()
    assert [state.after(None, 10) for _ in range(5)] == [Wait(10), Wait(20), Wait(40), Wait(60), Wait(60)]
    assert state.after(PENDING, 300) == Wait(5)
    assert state.after(None, 305) == Wait(10)


def test_a_failure_of_the_service_or_of_what_stands_before_it_is_as_a_lost_answer() -> None:
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
def test_overload_is_waited_for_as_long_as_it_asks_and_never_less_than_the_pace(
    status: int, retry_after: str, seconds: float
) -> None:
    assert polling().after(reply(status, {"error": "rate_limited"}, retry_after=retry_after), 10) == Wait(seconds)


@pytest.mark.parametrize(
    ("error", "words"),
    [("expired_token", "expired"), ("access_denied", "denied"), ("invalid_code", "revoke its key in the dashboard")],
)
def test_what_ends_a_login_ends_it_in_words(error: str, words: str) -> None:
    ended = polling().after(refusal(error), 10)
    assert isinstance(ended, Ended)
    assert words in (ended.words or "")
    assert ended.code is Exit.REFUSED


def test_a_refusal_that_the_protocol_does_not_know_is_told_in_the_services_words() -> None:
    assert polling().after(refusal("unsupported_grant_type"), 10) == Ended(None)
    assert polling().after(refusal("invalid_request"), 10) == Ended(None)


def test_no_wait_outlasts_the_code_and_the_last_poll_is_at_its_end() -> None:
    state = polling(life=12)
    assert state.after(PENDING, 5) == Wait(5)
    assert state.after(PENDING, 10) == Wait(2)
    ended = state.after(PENDING, 12)
    assert isinstance(ended, Ended)
    assert "expired" in (ended.words or "")


def test_a_code_that_ran_out_while_the_service_was_away_says_that_it_was() -> None:
    state = polling(life=20)
    assert state.after(None, 12) == Wait(8)
    ended = state.after(None, 20)
    assert isinstance(ended, Ended)
    assert ended.code is Exit.UNREACHABLE


def test_a_key_at_the_very_end_is_taken() -> None:
    document = {
        "apiKey": "k",
        "access_token": "k",
        "keyPrefix": "cs_user_ab",
        "tenantId": "ten_1",
        "token_type": "Bearer",
    }
    assert polling(life=10).after(reply(200, document), 11) == Granted("k", "cs_user_ab", "ten_1")


@pytest.mark.parametrize(
    ("document", "key"),
    [({"access_token": "a"}, "a"), ({"apiKey": "b"}, "b"), ({"access_token": "a", "apiKey": "a"}, "a")],
)
def test_a_key_may_come_by_either_name(document: dict[str, str], key: str) -> None:
    granted = polling().after(reply(200, document), 5)
    assert isinstance(granted, Granted)
    assert granted.api_key == key


@pytest.mark.parametrize("document", [{}, {"access_token": 7}, {"apiKey": ""}, ["apiKey"]])
def test_a_success_without_a_key_is_none(document: object) -> None:
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


def test_the_start_is_read_as_the_rfc_has_it() -> None:
    started = Started.of(START)
    assert started is not None
    assert started.page == START["verification_uri_complete"]
    assert (started.expires_in_seconds, started.interval_seconds) == (900, 5)


def test_what_is_optional_in_the_start_has_the_defaults_of_the_rfc() -> None:
    bare = {name: START[name] for name in ("device_code", "user_code", "verification_uri", "expires_in")}
    started = Started.of(bare)
    assert started is not None
    assert (started.page, started.interval_seconds) == (START["verification_uri"], 5)


@pytest.mark.parametrize(
    "change",
    [
        {"device_code": ""},
        {"user_code": None},
        {"verification_uri": "javascript:alert(1)"},
        {"verification_uri": "file:///etc/passwd"},
        {"verification_uri": "https://catalog.example.com/\x1b]8;;"},
        {"expires_in": 0},
        {"expires_in": "900"},
    ],
)
def test_a_start_that_cannot_be_used_is_none(change: dict[str, object]) -> None:
    assert Started.of({**START, **change}) is None


def test_a_browser_is_sent_to_no_address_but_one_of_the_web() -> None:
    started = Started.of({**START, "verification_uri_complete": "file:///etc/passwd"})
    assert started is not None
    assert started.page == START["verification_uri"]
