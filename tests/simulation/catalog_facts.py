"""The catalog in the history of the judge: requests and answers about entries, and a look after each transaction."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from actors.catalog.messages import Entry, EntryId, EntryRetired, EntrySaved, Kind
from actors.catalog.store import Import
from service.snapshots.change_log import ChangePage
from tests.doubles.tables import CatalogTables
from tests.judge.catalog import IMPORT, LISTS, REMOVED, WORDS
from tests.judge.records import Record
from tests.judge.wire import content_of
from tests.simulation.editors import Edit, Seen


class Look(NamedTuple):
    """An entry as it was stored, or as it was when it was removed, at a tick."""

    tick: int
    seconds: float
    id: EntryId
    record: Record


@dataclass(slots=True, eq=False)
class Looks:
    """An administrator without a network, who looks after each transaction of the catalog at the entries that it has changed,
    and at the end at all entries."""

    seen: list[Look] = field(default_factory=list)
    _known: dict[EntryId, Entry] = field(default_factory=dict)

    def note(self, tables: CatalogTables, tick: int, seconds: float, *, all: bool = False) -> None:
        for id, entry in {**tables.retired, **tables.entries}.items():
            if all or self._known.get(id) is not entry:
                self._known[id] = entry
                gone = id not in tables.entries
                self.seen.append(Look(tick, seconds, id, _removed(id, entry) if gone else _of(id, entry.served)))


def name_of(about: Any) -> str | None:
    """The operation of an intent."""
    match about:
        case EntryId(kind=kind):
            return f"get{WORDS[kind]}"
        case Edit(id=EntryId(kind=kind), text=text):
            return f"{'retire' if text is None else 'put'}{WORDS[kind]}"
        case Import():
            return IMPORT
    return None


def asked_of(about: Any) -> dict[str, Any]:
    match about:
        case EntryId(slug=slug) | Edit(id=EntryId(slug=slug)):
            return {"id": slug}
        case Import(dry_run=False, entries=entries):
            rows = [_of(EntryId(kind, each.slug), each.document) for kind, rows in entries.items() for each in rows]
            id = None if about.audit is None else about.audit.id
            return {"id": id, "writes": rows, "removes": [str(kind) for kind in entries] if about.prune else []}
    return {}


def shown_of(kind: str, result: Any) -> dict[str, Any]:
    match result:
        case ChangePage(rows=rows):
            return {"records": [*_changes(rows)], "cursor": str(result.last), "more": result.more}
        case Seen(document=bytes() as document):
            return {"records": [_of(_named(kind, json.loads(document)["slug"]), document)]}
        case EntrySaved(entry=entry):
            return {"records": [_of(_named(kind, entry.slug), entry.served)]}
        case EntryRetired(retired=entry):
            return {"records": [_removed(_named(kind, entry.slug), entry)]}
    return {}


def _changes(rows: Any) -> Iterator[Record]:
    for each in map(json.loads, rows):
        yield Record(f"{each['kind']}/{each['slug']}", each["at"], each["change"])


def _named(kind: str, slug: str) -> EntryId:
    return EntryId(Kind(LISTS[kind]), slug)


def _of(id: EntryId, document: bytes) -> Record:
    shown = json.loads(document)
    return Record(f"{id.kind}/{id.slug}", shown.get("updatedAt", 0), content_of(shown))


def _removed(id: EntryId, entry: Entry) -> Record:
    return Record(f"{id.kind}/{id.slug}", entry.updated_ms, REMOVED)
