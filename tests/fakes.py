"""Small fakes shared by the tests: seeded entropy, a clock set by hand, a script of a store's failures."""

import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import trio

from actors.clock import SECOND_MS
from actors.stores import PoolStatistics

HANGS_SECONDS = 24 * 3_600.0
"""A call that takes longer than a day of virtual time has hung."""


class SeededEntropy:
    """Bytes that are the same in each run. A seed stands for one machine."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)

    def token(self, size: int) -> bytes:
        return self._random.randbytes(size)


class HandClock:
    """Wall time that stands still until a test moves it."""

    def __init__(self, now_ms: int) -> None:
        self.at_ms = now_ms

    def now_ms(self) -> int:
        return self.at_ms


class TrioClock:
    """Wall time derived from Trio's clock and a base: virtual in tests, with an optional skew."""

    def __init__(self, base_ms: int, skew_ms: int = 0) -> None:
        self._base_ms = base_ms + skew_ms

    def now_ms(self) -> int:
        return self._base_ms + int(trio.current_time() * SECOND_MS)


Step = float | Exception | None


class Script:
    """The effects of successive calls: a wait in seconds, an error, or None. Nothing after the last step."""

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._steps = iter(steps)
        self.calls = 0

    async def __call__(self) -> None:
        self.calls += 1
        step = next(self._steps, None)
        await trio.sleep(step if isinstance(step, float) else 0)
        if isinstance(step, Exception):
            raise step


async def together(*calls: Callable[[], Awaitable[Any]]) -> list[Any]:
    """Run all calls at once. Returns their results in order, errors as values. Fails if one hangs."""
    results: list[Any] = [None] * len(calls)

    async def run(place: int, call: Callable[[], Awaitable[Any]]) -> None:
        try:
            results[place] = await call()
        except Exception as error:
            results[place] = error

    with trio.fail_after(HANGS_SECONDS):
        async with trio.open_nursery() as nursery:
            for place, call in enumerate(calls):
                nursery.start_soon(run, place, call)
    return results


def after(seconds: float, call: Callable[..., Awaitable[Any]], *args: Any) -> Callable[[], Awaitable[Any]]:
    """A call after a wait, so that several happen in a known order regardless of the scheduler."""

    async def wait_and_call() -> Any:
        await trio.sleep(seconds)
        return await call(*args)

    return wait_and_call


def now(call: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Callable[[], Awaitable[Any]]:
    """A call without a wait."""
    return partial(call, *args, **options)


def kinds(results: Iterable[Any]) -> list[type]:
    """The types of the results."""
    return [type(result) for result in results]


def utc_ms(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> int:
    """A moment in UTC, in milliseconds since the epoch."""
    return int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()) * 1_000


IDLE = PoolStatistics(open=1)


@dataclass(frozen=True, slots=True)
class MemoryDatabase:
    """A database whose ping calls `before`, and whose pool is idle."""

    before: Callable[[], Awaitable[None]]

    async def ping(self) -> None:
        await self.before()

    def statistics(self) -> PoolStatistics:
        return IDLE
