"""Repeats a change of a store that another node or a broken connection has interrupted."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

from actors.values import Contended, OutcomeUnknown, StorageUnavailable

ATTEMPTS = 5
PAUSE_SECONDS = 0.2

T = TypeVar("T")


async def retried(change: Callable[[], Awaitable[T]]) -> T:
    """The result of `change`, which may run up to 5 times. Raises `StorageUnavailable` if none of them is kept."""
    for attempt in range(ATTEMPTS):
        try:
            return await change()
        except (Contended, OutcomeUnknown):
            await trio.sleep(PAUSE_SECONDS * (attempt + 1))
    raise StorageUnavailable(f"interrupted {ATTEMPTS} times by other changes")
