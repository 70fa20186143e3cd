"""The rules of sending, pure: whether a letter is worth a try, and what a failure means for it.

Knows nothing of transports and stores; now is an argument.
"""

import re
from dataclasses import dataclass

from actors.clock import MINUTE_MS, SECOND_MS
from actors.mail.messages import GivenUp, QueuedMessage, RetryLater

ERROR_LENGTH = 200

_READ_LENGTH = 2_000
_CODE = re.compile(r"(?<!\d)\d{6}(?!\d)")


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a letter is tried and how long it rests in between: doubling from `pause_ms` to `pause_max_ms`."""

    attempts: int = 20
    pause_ms: int = SECOND_MS
    pause_max_ms: int = MINUTE_MS

    def __post_init__(self) -> None:
        assert self.attempts > 0
        assert 0 < self.pause_ms <= self.pause_max_ms


def give_up_unsent(message: QueuedMessage, now_ms: int, retries: Retries) -> GivenUp | None:
    """Why a leased letter is not tried at all, if so. Its attempt is counted already, by the lease."""
    if now_ms >= message.expires_ms:
        return _given_up(message, now_ms, _because("expired", message.last_error))
    if message.attempts > retries.attempts:
        return _given_up(message, now_ms, _because(f"{retries.attempts} attempts", message.last_error))
    return None


def after_failure(message: QueuedMessage, error: str, now_ms: int, retries: Retries) -> RetryLater | GivenUp:
    """A letter that failed is tried again after a pause, unless it will have expired or was tried often enough."""
    error = cleaned(error, message.recipient)
    due_ms = now_ms + pause_ms(message.attempts, retries)
    if due_ms >= message.expires_ms:
        return _given_up(message, now_ms, _because("expires before another attempt", error))
    if message.attempts >= retries.attempts:
        return _given_up(message, now_ms, _because(f"{retries.attempts} attempts", error))
    return RetryLater(message.id, message.attempts, due_ms, error)


def after_refusal(message: QueuedMessage, error: str, now_ms: int) -> GivenUp:
    """A letter that was refused for good is given up at once."""
    return _given_up(message, now_ms, cleaned(error, message.recipient))


def pause_ms(attempt: int, retries: Retries) -> int:
    """The pause after the `attempt`-th attempt, counted from 1."""
    assert attempt > 0
    # The exponent is bounded because the power is not: attempts are a number of the database's.
    return int(min(retries.pause_ms * 2 ** min(attempt - 1, 32), retries.pause_max_ms))


def masked(address: str) -> str:
    """An address as logs may show it: `a***@example.com`."""
    name, at, domain = address.rpartition("@")
    return f"{name[:1]}***@{domain}" if at else "***"


def cleaned(error: str, recipient: str) -> str:
    """What a server said, fit to keep: one printable line, bounded, without the address and without any code."""
    line = " ".join("".join(char if char.isprintable() else " " for char in error[:_READ_LENGTH]).split())
    if recipient:
        line = re.sub(re.escape(recipient), lambda _: masked(recipient), line, flags=re.IGNORECASE)
    return _CODE.sub("######", line)[:ERROR_LENGTH]


def _given_up(message: QueuedMessage, now_ms: int, error: str) -> GivenUp:
    return GivenUp(message.id, message.attempts, now_ms, error)


def _because(why: str, last_error: str | None) -> str:
    return (f"{why}; last: {last_error}" if last_error else why)[:ERROR_LENGTH]
