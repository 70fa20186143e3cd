"""The rules of sending, and which parts of an error may be stored and shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.clock import MINUTE_MS
from actors.mail.messages import GivenUp, QueuedMessage, RetryLater
from actors.mail.state import (
    ERROR_LENGTH,
    Retries,
    after_failure,
    after_refusal,
    cleaned,
    expire_unsent,
    masked,
    pause_ms,
)

RETRIES = Retries()
NOW_MS = 1_763_640_000_000


def message(attempts: int = 1, life_ms: int = 10 * MINUTE_MS, last_error: str | None = None) -> QueuedMessage:
    return QueuedMessage(
        id="let_1",
        recipient="anna@example.com",
        template="claim_code",
        nonce=b"nonce",
        created_ms=NOW_MS,
        expires_ms=NOW_MS + life_ms,
        due_ms=NOW_MS + MINUTE_MS,
        attempts=attempts,
        last_error=last_error,
    )


def test_pauses_double_from_a_second_to_a_minute() -> None:
    assert [pause_ms(attempt, RETRIES) // 1_000 for attempt in range(1, 10)] == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert pause_ms(2**31 - 1, RETRIES) == 60_000


def test_attempts_are_counted_from_one() -> None:
    with pytest.raises(AssertionError):
        pause_ms(0, RETRIES)


def test_a_single_attempt_and_a_pause_that_does_not_grow_will_do() -> None:
    assert pause_ms(9, Retries(attempts=1, pause_ms=1, pause_max_ms=1)) == 1


@pytest.mark.parametrize("wrong", [{"attempts": 0}, {"pause_ms": 0}, {"pause_ms": 2, "pause_max_ms": 1}])
def test_retries_that_contradict_one_another_are_a_mistake(wrong: dict[str, int]) -> None:
    with pytest.raises(AssertionError):
        Retries(**wrong)


def test_a_fresh_mail_is_tried() -> None:
    assert expire_unsent(message(), NOW_MS, RETRIES) is None


def test_a_mail_is_given_up_from_the_moment_it_expires() -> None:
    expires_ms = message().expires_ms
    assert expire_unsent(message(), expires_ms - 1, RETRIES) is None
    assert expire_unsent(message(), expires_ms, RETRIES) == GivenUp("let_1", 1, expires_ms, "expired")
    tried = message(last_error="451 busy")
    assert expire_unsent(tried, expires_ms, RETRIES) == GivenUp("let_1", 1, expires_ms, "expired; last: 451 busy")


def test_a_mail_whose_last_attempts_never_ended_is_given_up_with_its_last_error() -> None:
    assert expire_unsent(message(attempts=RETRIES.attempts), NOW_MS, RETRIES) is None, "it begins the last attempt"
    worn = message(attempts=RETRIES.attempts + 1, last_error="451 busy")
    assert expire_unsent(worn, NOW_MS, RETRIES) == GivenUp("let_1", 21, NOW_MS, "20 attempts; last: 451 busy")


def test_a_failure_means_again_after_the_pause() -> None:
    assert after_failure(message(3), "451 busy", NOW_MS, RETRIES) == RetryLater("let_1", 3, NOW_MS + 4_000, "451 busy")


def test_a_mail_that_would_expire_in_the_pause_is_given_up_at_once() -> None:
    assert isinstance(after_failure(message(1, life_ms=1_001), "451", NOW_MS, RETRIES), RetryLater)
    expires = GivenUp("let_1", 1, NOW_MS, "expires before another attempt; last: 451")
    assert after_failure(message(1, life_ms=1_000), "451", NOW_MS, RETRIES) == expires


def test_the_last_attempt_is_the_last() -> None:
    retries = Retries(attempts=2)
    assert isinstance(after_failure(message(1), "451", NOW_MS, retries), RetryLater)
    assert after_failure(message(2), "451", NOW_MS, retries) == GivenUp("let_1", 2, NOW_MS, "2 attempts; last: 451")


def test_a_refusal_gives_up_and_does_not_keep_the_address() -> None:
    refused = after_refusal(message(), "550 <anna@example.com> no", NOW_MS)
    assert refused == GivenUp("let_1", 1, NOW_MS, "550 <a***@example.com> no")
    assert after_refusal(message(), "550 no", NOW_MS) == GivenUp("let_1", 1, NOW_MS, "550 no")


@given(st.text(), st.integers(0, 10_000_000), st.integers(1, 100))
def test_whatever_a_server_says_the_error_is_short_and_a_pause_ends_before_the_mail_expires(
    error: str, late_ms: int, attempts: int
) -> None:
    mark = after_failure(message(attempts), error, NOW_MS + late_ms, RETRIES)
    assert len(mark.error) <= ERROR_LENGTH
    assert mark.error.isprintable()
    if isinstance(mark, RetryLater):
        assert NOW_MS + late_ms < mark.due_ms < message().expires_ms


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("anna@example.com", "a***@example.com"),
        ("@example.com", "***@example.com"),
        ("anna", "***"),
        ("", "***"),
        ('"a@b"@example.com', '"***@example.com'),
    ],
)
def test_an_address_is_masked_but_for_its_first_letter_and_domain(address: str, shown: str) -> None:
    assert masked(address) == shown


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        ("550 <Anna@Example.com>: unknown", "550 <a***@example.com>: unknown"),
        ("552 spam: 042137.", "552 spam: ######."),
        ("451 queue 1234567 is full", "451 queue 1234567 is full"),
        ("250\r\n\x00 ok\u2028", "250 ok"),
        ("x" * 10_000, "x" * ERROR_LENGTH),
    ],
)
def test_errors_are_cleaned(error: str, kept: str) -> None:
    assert cleaned(error, "anna@example.com") == kept


def test_an_address_of_six_digits_is_masked_like_any_other() -> None:
    assert cleaned("550 <123456@example.com>", "123456@example.com") == "550 <1***@example.com>"
