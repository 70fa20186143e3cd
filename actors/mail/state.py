"""The rules of sending: whether to try a message, and what to do after a failure. Pure.

Knows nothing of transports and stores.
"""

import re
from dataclasses import dataclass

from actors.mail.messages import GivenUp, QueuedMessage, RetryLater
from actors.times import MINUTE_MS, SECOND_MS

ERROR_LENGTH = 200

_READ_LENGTH = 2_000
_CODE = re.compile(r"(?<!\d)\d{6}(?!\d)")


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a message is tried, and the pause in between: doubling from `pause_ms` to `pause_max_ms`."""

    attempts: int = 20
    pause_ms: int = SECOND_MS
    pause_max_ms: int = MINUTE_MS

    def __post_init__(self) -> None:
        assert self.attempts > 0
        assert 0 < self.pause_ms <= self.pause_max_ms


def expire_unsent(message: QueuedMessage, now_ms: int, retries: Retries) -> GivenUp | None:
    """Give up a leased message that expired or was tried too often. The lease has already counted an attempt."""
    if now_ms >= message.expires_ms:
        return _given_up(message, now_ms, _because("expired", message.last_error))
    if message.attempts > retries.attempts:
        return _given_up(message, now_ms, _because(f"{retries.attempts} attempts", message.last_error))
    return None


def after_failure(message: QueuedMessage, error: str, now_ms: int, retries: Retries) -> RetryLater | GivenUp:
    """Retry a failed message after a pause, unless it will have expired or was tried too often."""
    error = cleaned(error, message.recipient)
    due_ms = now_ms + pause_ms(message.attempts, retries)
    if due_ms >= message.expires_ms:
        return _given_up(message, now_ms, _because("expires before another attempt", error))
    if message.attempts >= retries.attempts:
        return _given_up(message, now_ms, _because(f"{retries.attempts} attempts", error))
    return RetryLater(message.id, message.attempts, due_ms, error)


def after_refusal(message: QueuedMessage, error: str, now_ms: int) -> GivenUp:
    """Give up a message that was refused for good."""
    return _given_up(message, now_ms, cleaned(error, message.recipient))


def pause_ms(attempt: int, retries: Retries) -> int:
    """The pause after the `attempt`-th attempt, counted from 1."""
    assert attempt > 0
    # The exponent is bounded because the power is not: `attempts` comes from the database.
    return int(min(retries.pause_ms * 2 ** min(attempt - 1, 32), retries.pause_max_ms))


def masked(address: str) -> str:
    """The address as logged: `a***@example.com`."""
    name, at, domain = address.rpartition("@")
    return f"{name[:1]}***@{domain}" if at else "***"


def cleaned(error: str, recipient: str) -> str:
    """A server's reply, safe to store: one printable line of bounded length, without the address or any code."""
    line = " ".join("".join(char if char.isprintable() else " " for char in error[:_READ_LENGTH]).split())
    if recipient:
        line = re.sub(re.escape(recipient), lambda _: masked(recipient), line, flags=re.IGNORECASE)
    return _CODE.sub("######", line)[:ERROR_LENGTH]


def _given_up(message: QueuedMessage, now_ms: int, error: str) -> GivenUp:
    return GivenUp(message.id, message.attempts, now_ms, error)


def _because(why: str, last_error: str | None) -> str:
    return (f"{why}; last: {last_error}" if last_error else why)[:ERROR_LENGTH]
