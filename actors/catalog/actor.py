"""The catalog editor: creates, replaces and retires entries, one transaction per batch."""

from collections.abc import Sequence

from actors.catalog.messages import (
    UNCONDITIONAL,
    Answer,
    Condition,
    Conflict,
    Draft,
    EntryId,
    EntryRetired,
    EntrySaved,
    Message,
    PutEntry,
    RetireEntry,
)
from actors.catalog.state import TARGETS, Decision, Snapshot, decide, entries_to_read
from actors.catalog.store import CatalogStore, Stored
from actors.shared.records import RecordingActor
from actors.values import Agent, AuditRecord, BatchId, Refused


class CatalogEditor(RecordingActor[Message, Answer, CatalogStore, None]):
    """Changes entries of the catalog. All nodes take turns, import by import and batch by batch."""

    name = "catalog_editor"

    # Intents.

    async def put(
        self,
        entry_id: EntryId,
        draft: Draft,
        agent: Agent,
        *,
        added_ms: int | None = None,
        condition: Condition = UNCONDITIONAL,
    ) -> EntrySaved | Conflict | Refused:
        """Create, replace or restore an entry. Putting equal content again changes nothing.

        Without `added_ms`, a known entry keeps its time, also if it was retired, and a new one gets the time of the change.
        """
        message = PutEntry(entry_id, draft, added_ms, condition, self._record(entry_id, agent))
        return await self.ask_for(message, EntrySaved, Conflict, Refused)

    async def retire(
        self, entry_id: EntryId, agent: Agent, *, condition: Condition = UNCONDITIONAL
    ) -> EntryRetired | Conflict | Refused:
        """Remove an entry; `put` brings it back. Retiring it again changes nothing."""
        message = RetireEntry(entry_id, condition, self._record(entry_id, agent))
        return await self.ask_for(message, EntryRetired, Conflict, Refused)

    async def stored(self, entry_id: EntryId) -> Stored:
        """An entry as the store has it, also if it was retired. Raises `StorageUnavailable`."""
        return await self._store.stored(entry_id)

    def _record(self, entry_id: EntryId, agent: Agent) -> AuditRecord:
        """The audit record of a change. The rule knows what it does."""
        return self._audit(agent, "entry.edited", TARGETS[entry_id.kind], entry_id.slug)

    # The batch.

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        now_ms = self._clock.now_ms()

        def on(snapshot: Snapshot) -> Decision:
            return decide(snapshot, messages, now_ms)

        return (await self._store.transact(batch_id, entries_to_read(messages), on, now_ms)).answers
