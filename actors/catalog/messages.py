"""Entries, their changes, and the messages and answers of the editor. Nothing here reads a document."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import NamedTuple

from actors.values import AuditRecord, Refused

VERSION_BYTES = 16


class Kind(StrEnum):
    """The two lists of the catalog."""

    USECASES = "usecases"
    BOTS = "bots"


KINDS = {kind.value: kind for kind in Kind}
"""The kinds by their values, ten times as fast as `Kind(value)` where there are 100,000 of them."""


class EntryId(NamedTuple):
    """The name of an entry. Each kind has slugs of its own."""

    kind: Kind
    slug: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One use case or bot template. `document` is its canonical JSON: equal bytes mean an unchanged entry.

    `updated_ms` is when the document last changed. The store sets it.
    """

    slug: str
    added_ms: int
    document: bytes
    updated_ms: int = 0

    @property
    def served(self) -> bytes:
        """The document as clients get it: with `updatedAt` as its last field."""
        return served_of(self.document, self.updated_ms)

    @property
    def version(self) -> bytes:
        """A digest of what is served, the same on every node; the entry's ETag is made of it."""
        return version_of(self.served)


def served_of(document: bytes, updated_ms: int) -> bytes:
    return b'%b,"updatedAt":%d}' % (document[:-1], updated_ms)


def version_of(served: bytes) -> bytes:
    return blake2b(served, digest_size=VERSION_BYTES).digest()


class ChangeType(StrEnum):
    """The type of a change. An entry that was removed and comes back is added again."""

    ADDED = "added"
    UPDATED = "updated"
    REMOVED = "removed"


CHANGE_TYPES = {type_.value: type_ for type_ in ChangeType}


class Change(NamedTuple):
    """The newest change of an entry. `number` grows with each change, in the order of their commits.

    `document` is what is served of the entry now, None if it was removed.
    """

    id: EntryId
    number: int
    type: ChangeType
    at_ms: int
    added_ms: int = 0
    document: bytes | None = None

    @property
    def slug(self) -> str:
        return self.id.slug


Draft = Callable[[int], bytes]
"""Makes the canonical JSON of an entry with this `addedAt`, in milliseconds."""


class Condition(NamedTuple):
    """The conditions of a change: the entry has one of `versions`, or it is `absent`."""

    versions: Collection[bytes] | None = None
    absent: bool = False


UNCONDITIONAL = Condition()
EXISTS = Condition(versions=())
"""Without any version, the entry only has to exist."""


# Messages.


@dataclass(frozen=True, slots=True)
class PutEntry:
    """Create or replace an entry. Without `added_ms`, a known entry keeps its time, and a new one gets that of the change."""

    id: EntryId
    draft: Draft
    added_ms: int | None
    condition: Condition
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class RetireEntry:
    id: EntryId
    condition: Condition
    audit: AuditRecord


Message = PutEntry | RetireEntry


# Answers.


@dataclass(frozen=True, slots=True)
class EntrySaved:
    """Committed: the entry as it is now. `created` if it did not exist, or was retired, before."""

    entry: Entry
    created: bool = False


@dataclass(frozen=True, slots=True)
class EntryRetired:
    """Committed: the entry as it was when it was retired, which was at its `updated_ms`."""

    retired: Entry


@dataclass(frozen=True, slots=True)
class Conflict:
    """Nothing changed, because the condition does not hold. `current` is the entry as it is now, None if there is none."""

    current: Entry | None


Answer = EntrySaved | EntryRetired | Conflict | Refused
