"""The pruner: deletes rows that nobody needs any more, a bounded batch at a time. A member of the troupe on every node.

Knows nothing of what it deletes: each concern says how, and after what time.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import trio

from actors.clock import Clock
from actors.values import Contended, OutcomeUnknown, StorageUnavailable

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pruning:
    """Rows of one kind, deleted `keep_ms` after their end. `delete` takes the moment before which they ended and how many
    may go at once, and returns how many went. `what` is for the log."""

    what: str
    keep_ms: int
    delete: Callable[[int, int], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class PrunerLimits:
    """How often is swept, and how much of one kind goes in a transaction and in a sweep; the rest goes in the next."""

    sweep_seconds: float = 3_600.0
    rows: int = 500
    batches: int = 200

    def __post_init__(self) -> None:
        assert self.sweep_seconds > 0
        assert self.rows > 0
        assert self.batches > 0


class Pruner:
    """Sweeps at once and then at every interval; doing it twice, late, or on many nodes is harmless."""

    name = "pruner"

    def __init__(self, prunings: Sequence[Pruning], clock: Clock, limits: PrunerLimits | None = None) -> None:
        self._prunings = prunings
        self._clock = clock
        self._limits = limits or PrunerLimits()
        self._closed = trio.Event()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Sweep until closed."""
        task_status.started()
        while not self._closed.is_set():
            for pruning in self._prunings:
                await self._prune(pruning)
            with trio.move_on_after(self._limits.sweep_seconds):
                await self._closed.wait()

    def close(self) -> None:
        self._closed.set()

    def abandon(self) -> None:
        self.close()

    async def _prune(self, pruning: Pruning) -> None:
        before_ms = self._clock.now_ms() - pruning.keep_ms
        deleted = 0
        try:
            for _ in range(self._limits.batches):
                if self._closed.is_set():
                    break
                gone = await pruning.delete(before_ms, self._limits.rows)
                deleted += gone
                if gone < self._limits.rows:
                    break
        except (StorageUnavailable, Contended, OutcomeUnknown) as error:
            log.warning("%s were not pruned, and will be later: %s", pruning.what, str(error) or type(error).__name__)
        if deleted:
            log.info("pruned %d %s", deleted, pruning.what)

    def __repr__(self) -> str:
        return f"<Pruner of {', '.join(pruning.what for pruning in self._prunings)}>"
