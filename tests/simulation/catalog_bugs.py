"""Bugs to plant in the catalog, one at a time: see `key_bugs`."""

from dataclasses import replace
from typing import Any

from actors.catalog import state
from actors.catalog.messages import Entry, EntryId, EntryRetired, Kind, RetireEntry
from actors.catalog.state import EntryWork
from actors.catalog.store import Import, ImportCounts
from service.snapshots.catalog_entries import CatalogList
from service.snapshots.change_log import ChangeLog, ChangePage
from tests.doubles import catalog as store
from tests.doubles.catalog import MemoryCatalog
from tests.doubles.tables import CatalogTables
from tests.simulation.editors import CountedCatalog
from tests.simulation.planting import Bugs, ignoring_faults
from tests.simulation.rules import Scene

BUGS = Bugs(Scene.CATALOG)


@BUGS.around(CatalogList, "edited")
def retired_entry_stays(right: Any, entries: CatalogList, gone: Any, new: Any) -> Any:
    """A node goes on to show an entry that was retired."""
    saved = {row.slug for row in new}
    return right(entries, [row for row in gone if row.slug in saved], new)


@BUGS.around(CatalogTables, "remove")
def removal_without_a_change(right: Any, tables: CatalogTables, entry_id: EntryId, now_ms: int) -> None:
    """An entry is removed, and no change says so."""
    number, change = tables.number, tables.changes[entry_id]
    right(tables, entry_id, now_ms)
    tables.number, tables.changes[entry_id] = number, change


@BUGS.around(CatalogTables, "save")
def number_taken_before_the_lock(
    right: Any, tables: CatalogTables, entry_id: EntryId, entry: Entry, now_ms: int
) -> None:
    """A change becomes visible behind one that readers have seen."""
    right(tables, entry_id, entry, now_ms)
    change = tables.changes[entry_id]
    taken = {each.number for each in tables.changes.values()}
    earlier = change.number - 2
    if earlier > 0 and earlier not in taken:
        tables.changes[entry_id] = change._replace(number=earlier)


@BUGS.function(state, "_holds")
def condition_ignored(condition: Any, current: Any) -> bool:
    """An edit overwrites what its author has not read."""
    return True


@BUGS.function(EntryWork, "_at_ms")
def time_of_the_node_alone(work: EntryWork, known: Entry | None) -> int:
    """A later change of an entry has an earlier time, of a node whose clock is behind."""
    return work._now_ms


@BUGS.function(EntryWork, "retire")
def retired_without_being_removed(work: EntryWork, message: RetireEntry) -> Any:
    """An entry is said to be retired, and stays."""
    current = work._entries.get(message.id)
    if current is None:
        return state.unknown_entry(message.id.kind)
    return EntryRetired(replace(current, updated_ms=work._now_ms))


@BUGS.around(ChangeLog, "page")
def last_change_of_a_page_skipped(right: Any, log: ChangeLog, after: int, limit: int) -> ChangePage:
    """A mirror never sees the last change of a full page."""
    page: ChangePage = right(log, after, limit)
    return page._replace(rows=page.rows[:-1]) if page.more else page


@BUGS.around(CatalogList, "edited")
def old_version_stays(right: Any, entries: CatalogList, gone: Any, new: Any) -> Any:
    """A node goes on to show an entry as it was before an edit."""
    edited = {row.slug for row in gone} & {row.slug for row in new}
    gone, new = ([row for row in rows if row.slug not in edited] for rows in (gone, new))
    return right(entries, gone, new)


@BUGS.part("catalog")
class OlderLoadEndsLast(CountedCatalog):
    """A node loads several times at once, and shows what the last load brings, which may be older."""

    def refresh_soon(self) -> None:
        super().refresh_soon()
        self.node.server.start_soon(ignoring_faults, self._load())


# Imports.


@BUGS.around(MemoryCatalog, "_replace")
def import_prunes_both_kinds(right: Any, catalog: MemoryCatalog, batch: Import) -> ImportCounts:
    """An import of one kind that prunes removes the entries of the other."""
    absent = {kind: batch.entries.get(kind, ()) for kind in Kind}
    done: ImportCounts = right(catalog, replace(batch, entries=absent) if batch.prune else batch)
    return done


@BUGS.around(MemoryCatalog, "_replace")
def trial_imports(right: Any, catalog: MemoryCatalog, batch: Import) -> ImportCounts:
    """An import that is only tried changes entries."""
    done: ImportCounts = right(catalog, replace(batch, dry_run=False))
    return done


@BUGS.around(MemoryCatalog, "_replace")
def import_done_again(right: Any, catalog: MemoryCatalog, batch: Import) -> ImportCounts:
    """An import whose outcome was unknown is done again, over later edits. A real bug."""
    audits = catalog._memory.audits
    known = [each for each in audits if batch.audit is not None and each.id == batch.audit.id]
    for each in known:
        audits.remove(each)
    done: ImportCounts = right(catalog, batch)
    audits[:0] = known
    return done


@BUGS.around(MemoryCatalog, "_replace")
def import_without_a_revision(right: Any, catalog: MemoryCatalog, batch: Import) -> ImportCounts:
    """Nodes do not notice an import before the next edit."""
    revision = catalog._tables.revision
    done: ImportCounts = right(catalog, batch)
    catalog._tables.revision = revision
    return done


@BUGS.function(store, "_same")
def unchanged_entries_written_again(one: Entry, other: Entry) -> bool:
    """Each import changes the time of all its entries."""
    return False
