"""Time and randomness as ports, so that tests and the simulation can pass their own.

Code that decides takes `now_ms` as an argument; only intents and background tasks ask a clock or a source of entropy.
"""

import secrets
import time
from typing import Protocol

from actors.times import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, day_of, month_of

__all__ = [
    "DAY_MS",
    "HOUR_MS",
    "MINUTE_MS",
    "SECOND_MS",
    "Clock",
    "Entropy",
    "MovableClock",
    "SystemClock",
    "SystemEntropy",
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


class MovableClock:
    """The clock of the `machine`, ahead of it by `ahead_ms`. Only a service for developers has one, see `ClockMover`."""

    def __init__(self, machine: Clock, ahead_ms: int = 0) -> None:
        self.machine = machine
        self.ahead_ms = ahead_ms

    def now_ms(self) -> int:
        return self.machine.now_ms() + self.ahead_ms


class SystemEntropy:
    """The operating system's CSPRNG."""

    def token(self, size: int) -> bytes:
        return secrets.token_bytes(size)
