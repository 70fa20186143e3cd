"""The port of the catalog store. The Postgres and the memory store pass the same contract tests.

A store keeps documents as they are.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

TOPIC = "catalog"
"""The topic announced to all nodes when a change commits."""


class Kind(StrEnum):
    """The two lists of the catalog."""

    USECASES = "usecases"
    BOTS = "bots"


@dataclass(frozen=True, slots=True)
class Entry:
    """One use case or bot template. `document` is its canonical JSON: equal bytes mean an unchanged entry."""

    slug: str
    added_ms: int
    document: bytes


Take = Callable[[Kind, Sequence[Entry]], None]
"""Receives a load in chunks, each kind in the order of its list: newest first, then by slug."""

Progress = Callable[[int, int], None]
"""Called with the number of entries done and the total."""


def _silent(done: int, total: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Import:
    """Entries to insert or replace by slug, each slug once. `prune` removes absent entries, but only of the kinds in
    `entries`: a file of bots removes no use case."""

    entries: Mapping[Kind, Sequence[Entry]]
    prune: bool = False
    dry_run: bool = False
    progress: Progress = _silent


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


class CatalogStore(Protocol):
    """Use cases and bot templates, and a revision that grows with each change. All methods raise `StorageUnavailable`."""

    async def revision(self) -> int:
        """The revision of the newest committed change; 0 before the first."""
        ...

    async def load(self, take: Take) -> int:
        """Load the whole catalog of one revision into `take`; returns the revision. A load that raises may have
        delivered a part. `take` is called between the store's waits, so that loading does not stall the process.
        """
        ...

    async def present(self, kind: Kind, slugs: Sequence[str]) -> Set[str]:
        """The existing ones of `slugs`."""
        ...

    async def replace(self, batch: Import) -> ImportCounts:
        """Import everything or nothing in one transaction, one import at a time over all nodes.

        If anything changed, increments the revision and announces `TOPIC`. Repeating an import is harmless, so retry
        after `Contended` and `OutcomeUnknown`.
        """
        ...
