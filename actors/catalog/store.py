"""The port of the catalog store. The Postgres and the memory store pass the same contract tests.

A store keeps documents as they are.
"""

import json
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from actors.catalog.messages import Change, Entry, EntryId, Kind
from actors.catalog.state import Decision, Snapshot
from actors.values import AuditRecord, BatchId

TOPIC = "catalog"
"""The topic announced to all nodes when a change commits."""


Decide = Callable[[Snapshot], Decision]

TakeChanges = Callable[[Sequence[Change]], None]
"""Receives changes in chunks, in the order of their numbers."""

Progress = Callable[[int, int], None]
"""Called with the number of entries done and the total."""


def _silent(done: int, total: int) -> None:
    pass


class Revision(NamedTuple):
    """A state of the catalog. `number` grows with each change that commits, and is 0 before the first.

    `newest` is the number of the newest change. Removals up to the number `forgotten` may have been deleted. A restored
    backup has another `epoch`: its numbers may name other changes than before.
    """

    number: int
    newest: int = 0
    forgotten: int = 0
    epoch: int = 0


class Stored(NamedTuple):
    """An entry as a store has it: `entry`, or `retired` if it was removed; neither if it is unknown."""

    entry: Entry | None = None
    retired: Entry | None = None


@dataclass(frozen=True, slots=True)
class Import:
    """Entries to insert or replace by slug, each slug once, at `now_ms`. `prune` removes absent entries, but only of the
    kinds in `entries`: a file of bots removes no use case. An import that changes something writes `audit`, with the numbers
    of its changes."""

    entries: Mapping[Kind, Sequence[Entry]]
    now_ms: int
    prune: bool = False
    dry_run: bool = False
    progress: Progress = _silent
    audit: AuditRecord | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """The changes that an import makes, or would make, to one kind."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0

    @property
    def writes(self) -> int:
        return self.added + self.changed + self.removed


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """The changes that an import made, or would make, and the catalog's revision after it."""

    revision: int
    by_kind: Mapping[Kind, Counts] = field(default_factory=dict)

    @property
    def writes(self) -> int:
        return sum(counts.writes for counts in self.by_kind.values())

    def recorded(self, audit: AuditRecord | None) -> Sequence[AuditRecord]:
        """The audit of an import that made these changes, such as `{"bots added": 2, "usecases changed": 1}`."""
        made = {
            f"{kind} {name}": number
            for kind, counts in self.by_kind.items()
            for name, number in (("added", counts.added), ("changed", counts.changed), ("removed", counts.removed))
            if number
        }
        return [replace(audit, changes=json.dumps(made))] if audit is not None and made else []

    @staticmethod
    def of_record(batch: Import, changes: str, revision: int) -> "ImportCounts":
        """The changes of an import that has committed, from its record, and the revision now."""
        made, by_kind = json.loads(changes), {}
        for kind, entries in batch.entries.items():
            added, changed, removed = (made.get(f"{kind} {name}", 0) for name in ("added", "changed", "removed"))
            by_kind[kind] = Counts(added, changed, len(entries) - added - changed, removed)
        return ImportCounts(revision, by_kind)


class CatalogStore(Protocol):
    """Use cases and bot templates, and a revision that grows with each change. All methods raise `StorageUnavailable`."""

    async def revision(self) -> int:
        """The revision of the newest committed change; 0 before the first."""
        ...

    async def state(self) -> tuple[int, int]:
        """The same revision, and its epoch."""
        ...

    async def changes(self, after: int, take: TakeChanges) -> Revision:
        """The newest changes of entries whose numbers are above `after`, into `take`, and the revision to which they lead.

        With 0, each entry that exists or was removed has one change, so this loads the whole catalog. All are of one
        revision. A load that raises may have delivered a part. `take` is called between the store's waits, so that loading
        does not stall the process.
        """
        ...

    async def stored(self, entry_id: EntryId) -> Stored:
        """One entry, also if it was removed."""
        ...

    async def transact(self, batch_id: BatchId, ids: Sequence[EntryId], decide: Decide, now_ms: int) -> Decision:
        """Read these entries, decide, and commit all changes with the batch id in one transaction, while no other change of
        the catalog commits.

        If anything changed, increments the revision and announces `TOPIC`. A batch id that is already in the journal is not
        decided again: its decision is returned. Raises `StorageUnavailable`, `Contended` or `OutcomeUnknown`.
        """
        ...

    async def present(self, kind: Kind, slugs: Sequence[str]) -> Set[str]:
        """The existing ones of `slugs`."""
        ...

    async def replace(self, batch: Import) -> ImportCounts:
        """Import everything or nothing in one transaction, one import at a time over all nodes.

        If anything changed, increments the revision and announces `TOPIC`. An import whose audit record is stored has
        committed: it is not done again, which would undo later edits, and its counts are returned. So retry after
        `Contended` and `OutcomeUnknown`.
        """
        ...
