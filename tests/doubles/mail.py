"""The outbox in memory."""

from collections.abc import Sequence
from dataclasses import asdict, replace

from actors.mail.messages import Backlog, GivenUp, Lease, Outcome, QueuedMessage, RetryLater, Sent
from actors.mail.store import MAX_COUNTED
from tests.doubles.tables import Memory, MemoryStore, oldest


class MemoryOutbox(MemoryStore):
    """Messages where the key and session stores put them. Their delivery state is separate, once there is any."""

    async def lease(self, limit: int, now_ms: int, until_ms: int) -> Lease:
        await self._memory.before()
        rows = {row.id: row for row in self._rows() if row.done_ms is None}
        due = sorted((row for row in rows.values() if row.due_ms <= now_ms), key=lambda row: (row.due_ms, row.id))
        leased = [replace(row, attempts=row.attempts + 1, due_ms=until_ms) for row in due[:limit]]
        rows.update((row.id, row) for row in leased)
        self._memory.outbox.update((row.id, row) for row in leased)
        leased.sort(key=lambda row: (row.created_ms, row.id))
        waiting = sorted(rows.values(), key=lambda row: row.due_ms)[:MAX_COUNTED]
        backlog = Backlog(len(waiting), min((row.created_ms for row in waiting), default=None))
        lease = Lease(tuple(leased), waiting[0].due_ms if waiting else None, backlog)
        await self._memory.after()
        return lease

    async def mark(self, marks: Sequence[Outcome]) -> None:
        await self._memory.before()
        rows = {row.id: row for row in self._rows()}
        for mark in marks:
            if mark.message_id in rows:
                self._memory.outbox[mark.message_id] = _marked(rows[mark.message_id], mark)
        await self._memory.after()

    async def prune(self, before_ms: int, limit: int) -> int:
        await self._memory.before()
        done = ((row.done_ms, row.id) for row in self._rows() if row.done_ms is not None)
        gone = oldest(done, before_ms, limit)
        for letter_id in gone:
            del self._memory.messages[letter_id], self._memory.outbox[letter_id]
        await self._memory.after()
        return len(gone)

    async def recent(self, limit: int) -> Sequence[QueuedMessage]:
        await self._memory.before()
        return sorted(self._rows(), key=lambda row: (row.created_ms, row.id), reverse=True)[:limit]

    def _rows(self) -> list[QueuedMessage]:
        return queued(self._memory)


def queued(tables: Memory) -> list[QueuedMessage]:
    """All messages with their delivery state."""
    return [
        tables.outbox.get(message.id) or QueuedMessage(**asdict(message), due_ms=message.created_ms)
        for message in tables.messages.values()
    ]


def _marked(row: QueuedMessage, mark: Outcome) -> QueuedMessage:
    match mark:
        case Sent(sent_ms=sent_ms):
            return replace(row, sent_ms=sent_ms, failed_ms=None) if row.sent_ms is None else row
        case RetryLater() | GivenUp() if row.attempts != mark.attempt or row.done_ms is not None:
            return row
        case RetryLater(due_ms=due_ms, error=error):
            return replace(row, due_ms=due_ms, last_error=error)
        case GivenUp(failed_ms=failed_ms, error=error):
            return replace(row, failed_ms=failed_ms, last_error=error)
