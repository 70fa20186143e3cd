"""What the catalog needs of a store. Two of them pass one contract: over Postgres and in memory.

A store keeps documents as it is given them; it knows their fields only as far as searching needs them.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

TOPIC = "catalog"
"""What is announced to all nodes with the commit of a change."""


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
"""Told how many entries of an import are done, and of how many."""


def _silent(done: int, total: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Import:
    """Entries to insert or replace by slug, each slug once.

    `prune` removes what is absent, but only of the kinds that `entries` names: a file of bots removes no use case.
    """

    entries: Mapping[Kind, Sequence[Entry]]
    prune: bool = False
    dry_run: bool = False
    progress: Progress = _silent


@dataclass(frozen=True, slots=True)
class Counts:
    """What an import does, or would do, to one kind."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0

    @property
    def writes(self) -> int:
        return self.added + self.changed + self.removed


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """What an import did, or would do, and the catalog's revision after it."""

    revision: int
    by_kind: Mapping[Kind, Counts] = field(default_factory=dict)

    @property
    def writes(self) -> int:
        return sum(counts.writes for counts in self.by_kind.values())


class CatalogStore(Protocol):
    """Use cases and bot templates, and a revision that grows with each change. All raise `StorageUnavailable`."""

    async def revision(self) -> int:
        """The revision of the newest committed change; 0 before the first."""
        ...

    async def load(self, take: Take) -> int:
        """Hand over the whole catalog of one revision, and return that. A load that raises may have handed over a part.

        `take` is called between the store's own waits, so that no load stalls the process.
        """
        ...

    async def search(self, kind: Kind, q: str, limit: int) -> Sequence[str]:
        """At most `limit` slugs that match `q`, best first, then newest, then by slug.

        `q` is in the language of web searches: words, "phrases", `or`, `-not`. A title or name outweighs a category or
        job, and that the rest. No `q` is an error; one without a word to look for finds nothing.
        """
        ...

    async def present(self, kind: Kind, slugs: Sequence[str]) -> Set[str]:
        """Those of `slugs` that the catalog has."""
        ...

    async def replace(self, batch: Import) -> ImportCounts:
        """Import all or nothing, in one transaction, one import at a time over all nodes.

        Moves the revision and announces `TOPIC` if anything changed. Running an import again is harmless, so it is
        what to do after `Contended` and `OutcomeUnknown`.
        """
        ...
