"""The pruner: deletes rows that are no longer needed, in bounded batches. Every node runs one.

Knows nothing of what it deletes: each concern provides the statement and the retention time.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import trio

from actors.clock import Clock
from actors.kernel.periodic import PeriodicTask
from actors.values import TransientStorageError


@dataclass(frozen=True, slots=True)
class Pruning:
    """Rows of one kind, deleted `keep_ms` after their end. `delete(before_ms, limit)` deletes at most `limit` rows that
    ended before `before_ms` (UTC epoch milliseconds) and returns how many. `what` names the rows in the log."""

    what: str
    keep_ms: int
    delete: Callable[[int, int], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class PrunerLimits:
    """`rows` bounds a transaction and `batches` the transactions per kind in one sweep; the next sweep does the rest. A
    pause between two of them lets others pass."""

    sweep_seconds: float = 3_600.0
    rows: int = 500
    batches: int = 200
    pause_seconds: float = 0.05

    def __post_init__(self) -> None:
        assert self.sweep_seconds > 0
        assert self.rows > 0
        assert self.batches > 0
        assert self.pause_seconds >= 0


class Pruner(PeriodicTask):
    """Sweeps at once and then at every interval. Sweeping twice, late, or on many nodes is harmless."""

    name = "pruner"

    def __init__(self, prunings: Sequence[Pruning], clock: Clock, limits: PrunerLimits | None = None) -> None:
        self._limits = limits or PrunerLimits()
        super().__init__(self._limits.sweep_seconds)
        self._prunings = prunings
        self._clock = clock

    async def _round(self) -> None:
        for pruning in self._prunings:
            await self._prune(pruning)

    async def _prune(self, pruning: Pruning) -> None:
        before_ms = self._clock.now_ms() - pruning.keep_ms
        deleted = 0
        try:
            for batch in range(self._limits.batches):
                if batch:
                    await trio.sleep(self._limits.pause_seconds)
                if self._closed:
                    break
                gone = await pruning.delete(before_ms, self._limits.rows)
                deleted += gone
                if gone < self._limits.rows:
                    break
        except TransientStorageError as error:
            # Caught here and not by the base class, so that one kind that fails does not hold up the others.
            self._log.warning("%s not pruned, retrying at the next sweep: %s", pruning.what, error)
        if deleted:
            self._log.info("pruned %d %s", deleted, pruning.what)
