"""The store of a moved clock in memory."""

from collections.abc import Iterator

from actors.bookings.records import OPEN, BookingStatus
from tests.doubles.mail import queued
from tests.doubles.tables import MemoryStore
from tests.doubles.webhooks import due_ms


class MemoryClock(MemoryStore):
    """`Memory.clock_ahead_ms`, and the due times of all tables."""

    async def ahead_ms(self) -> int:
        await self._memory.before()
        return self._memory.clock_ahead_ms

    async def set_ahead(self, ahead_ms: int) -> None:
        await self._memory.before()
        self._memory.clock_ahead_ms = max(ahead_ms, self._memory.clock_ahead_ms)
        await self._memory.after()

    async def next_due(self, after_ms: int, digest_ms: int) -> int | None:
        await self._memory.before()
        times = [*self._of_bookings(), *self._of_accounts(), *self._to_send()]
        mailed_ms = self._memory.digest_mailed_ms
        waiting = (row for row in self._memory.campaigns.values() if row.waits and not row.demo)
        if any((row.submitted_ms or 0) > mailed_ms for row in waiting):
            times.append(mailed_ms + digest_ms)
        return min((each for each in times if each is not None and each > after_ms), default=None)

    def _of_bookings(self) -> Iterator[int | None]:
        for row in self._memory.bookings.values():
            yield row.hold_ms if row.status in OPEN else None
            yield row.next_step_ms if row.status is BookingStatus.PAID and not row.demo else None
            yield None if row.disputed else row.refund_due_ms

    def _of_accounts(self) -> Iterator[int | None]:
        tenants = {row.tenant_id for row in self._memory.accounts.values()}
        for key in self._memory.keys.values():
            yield key.end_notice_ms if key.revoked_ms is None and key.tenant_id in tenants else None
        for deletion in self._memory.account_deletions.values():
            yield deletion.due_ms

    def _to_send(self) -> Iterator[int | None]:
        for message in queued(self._memory):
            yield message.due_ms if message.done_ms is None else None
        for webhook in self._memory.webhooks.values():
            yield due_ms(self._memory, webhook)
