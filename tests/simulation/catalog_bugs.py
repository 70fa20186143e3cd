"""Bugs to plant in the catalog, one at a time: see `key_bugs`."""

from typing import Any

from actors.catalog import state
from actors.catalog.messages import Entry, EntryId, EntryRetired, Retired, RetireEntry
from actors.catalog.state import EntryWork
from service.snapshots.catalog_entries import CatalogList
from service.snapshots.change_log import ChangeLog, ChangePage
from tests.doubles.tables import CatalogTables
from tests.simulation.planting import Bugs
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
    return state.unknown_entry(message.id.kind) if current is None else EntryRetired(Retired(current, work._now_ms))


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
