"""Time and randomness as ports, so that tests and the simulation can pass their own.

Code that decides takes `now_ms` as an argument; only intents and background tasks ask a clock or a source of entropy.
"""

import secrets
import time
from typing import Protocol

import trio

from actors.times import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, day_of, month_of

__all__ = [
    "DAY_MS",
    "HOUR_MS",
    "MINUTE_MS",
    "SECOND_MS",
    "Clock",
    "Entropy",
    "SystemClock",
    "SystemEntropy",
    "TrioClock",
    "day_of",
    "month_of",
]


class Clock(Protocol):
    """Wall time in UTC epoch milliseconds."""

    def now_ms(self) -> int: ...


class Entropy(Protocol):
    """A source of unpredictable bytes."""

    def token(self, size: int) -> bytes: ...


class SystemClock:
    """The wall clock of this machine."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


class TrioClock:
    """Wall time derived from Trio's clock and a base: virtual in tests, with an optional skew."""

    def __init__(self, base_ms: int, skew_ms: int = 0) -> None:
        self._base_ms = base_ms + skew_ms

    def now_ms(self) -> int:
        return self._base_ms + int(trio.current_time() * SECOND_MS)


class SystemEntropy:
    """The operating system's CSPRNG."""

    def token(self, size: int) -> bytes:
        return secrets.token_bytes(size)
