"""The backup scheduler: backs up the database on schedule and keeps the newest files. One per data directory runs it.

The schedule follows the files, so a restart neither postpones nor repeats a backup. A failed backup is logged, counted and
retried; the service goes on without it.
"""

from dataclasses import dataclass, replace

import trio

from actors.backups.state import (
    BackupRules,
    due_ms,
    missing_bytes,
    name_at,
    newest_ms,
    retry_ms,
    surplus,
)
from actors.backups.store import BackupFailed, BackupStore
from actors.clock import Clock
from actors.kernel.periodic import PeriodicTask
from actors.times import SECOND_MS

CHECK_SECONDS = 60.0
"""Maximum pause between two looks at clock and files: the clock may be set, and a machine may sleep."""

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class BackupStatistics:
    """Backups of this process by outcome, and when the newest file was begun (UTC epoch milliseconds)."""

    made: int = 0
    failed: int = 0
    newest_ms: int | None = None


class BackupScheduler(PeriodicTask):
    """Makes a backup when one is due. A backup that takes longer than the interval fails."""

    name = "backups"

    def __init__(self, store: BackupStore, clock: Clock, rules: BackupRules) -> None:
        super().__init__(CHECK_SECONDS)
        self._store = store
        self._clock = clock
        self._rules = rules
        self._failures = 0
        self._retry_at = 0.0
        self._statistics = BackupStatistics()
        self._making = trio.CancelScope()

    def statistics(self) -> BackupStatistics:
        return self._statistics

    def age_seconds(self) -> float | None:
        """The age of the newest backup; None without one."""
        newest = self._statistics.newest_ms
        return None if newest is None else max(0.0, (self._clock.now_ms() - newest) / SECOND_MS)

    def close(self) -> None:
        """Stop at once: a backup in progress is cancelled, and leaves nothing behind."""
        super().close()
        self._making.cancel()

    async def _round(self) -> float:
        if self._closed:
            return 0.0
        with trio.CancelScope() as self._making:
            try:
                await self._make_if_due()
            except BackupFailed as error:
                self._on_failure(str(error))
            except Exception as error:
                self._on_failure(repr(error), error)
        return self._pause_seconds_now()

    async def _make_if_due(self) -> None:
        newest = await self._read_newest()
        now_ms = self._clock.now_ms()
        if trio.current_time() < self._retry_at or now_ms < due_ms(newest, now_ms, self._rules):
            return
        await self._make(now_ms)
        self._failures = 0
        self._statistics = replace(self._statistics, made=self._statistics.made + 1)
        await self._delete_surplus()

    async def _read_newest(self) -> int | None:
        newest = newest_ms(await self._store.names(), self._clock.now_ms())
        self._statistics = replace(self._statistics, newest_ms=newest)
        return newest

    async def _make(self, now_ms: int) -> None:
        room = await self._store.room()
        if missing_bytes(room):
            raise BackupFailed(
                f"the disk has {room.free_bytes // MIB} MiB free, {-(-missing_bytes(room) // MIB)} MiB too few for a "
                f"database of {-(-room.database_bytes // MIB)} MiB: free some, or set backup.directory to another disk"
            )
        began, name = trio.current_time(), name_at(now_ms)
        with trio.move_on_after(self._rules.every_ms / SECOND_MS) as bound:
            size = await self._store.make(name, now_ms)
            self._log.info(
                "backed up the database to %s: %.1f MiB in %.1f s", name, size / MIB, trio.current_time() - began
            )
        if bound.cancelled_caught:
            raise BackupFailed("it took longer than backup.every_hours")

    async def _delete_surplus(self) -> None:
        try:
            for name in surplus(await self._store.names(), self._clock.now_ms(), self._rules):
                await self._store.delete(name)
                self._log.info("deleted the backup %s, which is not among the newest %d", name, self._rules.keep)
            await self._read_newest()
        except BackupFailed as error:
            self._log.error("old backups not deleted, retrying after the next backup: %s", error)

    def _on_failure(self, reason: str, bug: Exception | None = None) -> None:
        self._failures += 1
        pause_ms = retry_ms(self._failures, self._rules)
        self._retry_at = trio.current_time() + pause_ms / SECOND_MS
        self._statistics = replace(self._statistics, failed=self._statistics.failed + 1)
        self._log.error("backup failed, retrying in %d s: %s", pause_ms // SECOND_MS, reason, exc_info=bug)

    def _pause_seconds_now(self) -> float:
        """The seconds until a backup is due or retried, at most `CHECK_SECONDS`."""
        now_ms = self._clock.now_ms()
        due = (due_ms(self._statistics.newest_ms, now_ms, self._rules) - now_ms) / SECOND_MS
        wait = max(due, self._retry_at - trio.current_time())
        return min(max(wait, 0.0), CHECK_SECONDS)
