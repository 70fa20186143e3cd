"""The eraser: ends accounts whose deletion is due, and erases their rows in bounded steps. Every node runs one.

It finds its work in the store, so a crash in any place only delays it: the next round, on any node, goes on.
"""

from dataclasses import dataclass

import trio

from actors.accounts.actor import AccountActor
from actors.accounts.messages import Deletion
from actors.kernel.periodic import PeriodicTask
from actors.values import CallFailed


@dataclass(frozen=True, slots=True)
class EraserLimits:
    """How often to look, and the most accounts per round, steps per account and rows of one kind per step."""

    sweep_seconds: float = 60.0
    accounts: int = 20
    steps: int = 200
    rows: int = 500
    pause_seconds: float = 0.05


class AccountEraser(PeriodicTask):
    """Sweeps at every interval. Sweeping twice, late, or on many nodes is harmless."""

    name = "eraser"
    tolerated = (CallFailed,)

    def __init__(self, accounts: AccountActor, limits: EraserLimits | None = None) -> None:
        self._limits = limits or EraserLimits()
        super().__init__(self._limits.sweep_seconds)
        self._accounts = accounts

    async def _round(self) -> None:
        await self.sweep()

    async def sweep(self) -> None:
        """Work on the accounts that are due now."""
        for deletion in await self._accounts.due(self._limits.accounts):
            if self._closed:
                return
            if deletion.begun_ms is None:
                await self._accounts.begin_erasure(deletion)
            else:
                await self._erase(deletion)

    async def _erase(self, deletion: Deletion) -> None:
        for _ in range(self._limits.steps):
            if self._closed or not await self._accounts.erase(deletion, self._limits.rows):
                return
            await trio.sleep(self._limits.pause_seconds)
