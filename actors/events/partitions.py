"""The partition manager: creates the daily partitions ahead of time and drops expired ones. Every node runs one."""

from actors.clock import Clock
from actors.events.state import EventRules, days_to_keep
from actors.events.store import EventStore
from actors.kernel.periodic import PeriodicTask
from actors.values import Contended

RETRY_SECONDS = 5.0


class PartitionManager(PeriodicTask):
    """Keeps one partition per day. Sweeping twice, or on many nodes, is harmless. The first event of a day creates a
    missing partition, so a late sweep loses nothing."""

    name = "partitions"

    def __init__(self, store: EventStore, clock: Clock, rules: EventRules, *, sweep_seconds: float = 600.0) -> None:
        super().__init__(sweep_seconds, retry_seconds=RETRY_SECONDS)
        self._store = store
        self._clock = clock
        self._rules = rules

    async def _round(self) -> None:
        days = days_to_keep(self._clock.now_ms(), self._rules)
        try:
            await self._store.prepare(days[-1 - self._rules.ahead_days :])
            dropped = await self._store.drop_before(days.start)
        except Contended as error:
            # Wait for the next sweep: while a backup, say, reads the partitions, each attempt blocks the events behind it.
            self._log.info("event partitions are in use, retrying at the next sweep: %s", error)
            return
        if dropped:
            self._log.info("dropped the event keys of %d days", len(dropped))
