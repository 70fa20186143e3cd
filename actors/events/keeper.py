"""The partition keeper: makes the days' partitions ahead and drops them late. A member of the troupe on every node."""

import logging

import trio

from actors.clock import Clock
from actors.events.state import EventRules, days_to_keep
from actors.events.store import EventStore
from actors.values import Contended, OutcomeUnknown, StorageUnavailable

AGAIN_SECONDS = 5.0
"""The pause after the store did not answer. Where something is in the way, such as a backup that reads the partitions, the
next sweep is early enough: each try makes the events behind it wait."""

log = logging.getLogger(__name__)


class PartitionKeeper:
    """Keeps a partition for each day that has one; doing it twice, or on many nodes, is harmless.

    A day that has none when its first event comes gets one then, so being late here loses nothing.
    """

    name = "partitions"

    def __init__(self, store: EventStore, clock: Clock, rules: EventRules, *, sweep_seconds: float = 600.0) -> None:
        self._store = store
        self._clock = clock
        self._rules = rules
        self._sweep_seconds = sweep_seconds
        self._closed = trio.Event()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Sweep at once, and then at every interval until closed."""
        task_status.started()
        while not self._closed.is_set():
            seconds = self._sweep_seconds if await self._swept() else min(AGAIN_SECONDS, self._sweep_seconds)
            with trio.move_on_after(seconds):
                await self._closed.wait()

    def close(self) -> None:
        self._closed.set()

    def abandon(self) -> None:
        self.close()

    async def _swept(self) -> bool:
        now_ms = self._clock.now_ms()
        days = days_to_keep(now_ms, self._rules)
        try:
            await self._store.prepare(days[-1 - self._rules.ahead_days :])
            dropped = await self._store.drop_before(days.start)
        except Contended as error:
            log.info("the partitions of events are in use, and kept later: %s", error)
            return True
        except (StorageUnavailable, OutcomeUnknown) as error:
            log.warning("the partitions of events could not be kept: %s", error)
            return False
        if dropped:
            log.info("dropped the event keys of %d days", len(dropped))
        return True

    def __repr__(self) -> str:
        return f"<PartitionKeeper {self._rules!r}>"
