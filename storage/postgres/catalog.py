"""The catalog store over Postgres."""

from collections.abc import Iterator, Sequence, Set

from actors.catalog.messages import CHANGE_TYPES, KINDS, Change, Entry, EntryId, Kind, served_of
from actors.catalog.state import Changes, Decision, Snapshot
from actors.catalog.store import Counts, Decide, Import, ImportCounts, Revision, Stored, TakeChanges
from actors.values import BatchId
from storage.connection.pool import Connection, Row, Store
from storage.rows.journal import decide_once
from storage.rows.statements import statements
from storage.rows.tables import AUDIT

SQL = statements("catalog")

LOAD_ROWS = 200
"""Entries that are handed over at once. The loop does nothing else for 3 ms meanwhile."""
IMPORT_ROWS = 1_000
LOAD_SECONDS = 120.0
IMPORT_SECONDS = 1_800.0


class PostgresCatalog(Store):
    """Entries in the partitions of `catalog`, and their revision in `catalog_revision`."""

    async def revision(self) -> int:
        return int(await self._database.fetchval(SQL.revision))

    async def state(self) -> tuple[int, int]:
        row = await self._database.together.row(SQL.revisions)
        return row["revision"], row["epoch"]

    async def changes(self, after: int, take: TakeChanges) -> Revision:
        async def work(connection: Connection) -> Revision:
            await connection.execute(SQL.one_snapshot)
            number, epoch = await _state(connection)
            forgotten = int(await connection.fetchval(SQL.horizon))
            newest = max(after, forgotten)
            cursor = await connection.cursor(SQL.changes, after)
            while rows := await cursor.fetch(LOAD_ROWS):
                take([_change(row) for row in rows])
                newest = max(newest, rows[-1]["number"])
            return Revision(number, newest, forgotten, epoch)

        return await self._database.transact(work, seconds=LOAD_SECONDS)

    async def stored(self, entry_id: EntryId) -> Stored:
        found = await self._database.read(lambda connection: read_entries(connection, [entry_id]))
        return Stored(found.entries.get(entry_id), found.retired.get(entry_id))

    async def transact(self, batch_id: BatchId, ids: Sequence[EntryId], decide: Decide, now_ms: int) -> Decision:
        async def read(connection: Connection) -> Snapshot:
            await connection.execute(SQL.lock_revision)
            return await read_entries(connection, ids)

        async def write(connection: Connection, before: Snapshot, decision: Decision) -> None:
            await write_rounds(connection, decision.rounds, now_ms)
            await AUDIT.insert(connection, decision.audits)

        return await decide_once(self._database, batch_id, read, decide, write)

    async def present(self, kind: Kind, slugs: Sequence[str]) -> Set[str]:
        return {row["slug"] for row in await self._database.fetch(SQL.present, kind.value, list(slugs))}

    async def replace(self, batch: Import) -> ImportCounts:
        async def work(connection: Connection) -> ImportCounts:
            if batch.dry_run:
                await connection.execute(SQL.one_snapshot)
            await connection.execute(SQL.import_timeouts)
            revision = int(await connection.fetchval(SQL.revision if batch.dry_run else SQL.lock_revision))
            if batch.audit is not None:
                committed = await connection.fetchval(SQL.committed_import, batch.audit.id)
                if committed is not None:
                    return ImportCounts.of_record(batch, committed, revision)
            await connection.execute(SQL.at, batch.now_ms)
            counts = await _replace(connection, batch)
            result = ImportCounts(revision, counts)
            if batch.dry_run or not result.writes:
                return result
            await AUDIT.insert(connection, result.recorded(batch.audit))
            return ImportCounts(await connection.fetchval(SQL.advance), counts)

        return await self._database.transact(work, seconds=IMPORT_SECONDS)


async def read_entries(connection: Connection, ids: Sequence[EntryId]) -> Snapshot:
    """These entries, removed ones too. Whoever decides on them has locked the revision before (`SQL.lock_revision`)."""
    snapshot = Snapshot()
    for row in await connection.fetch(SQL.entries, [each.kind.value for each in ids], [each.slug for each in ids]):
        entry_id, entry = EntryId(Kind(row["kind"]), row["slug"]), _entry(row)
        (snapshot.retired if row["removed"] else snapshot.entries)[entry_id] = entry
    return snapshot


async def write_rounds(connection: Connection, rounds: Sequence[Changes], now_ms: int) -> None:
    """Write changes at `now_ms`, advance the revision and notify all nodes on commit. Nothing, if there are no changes."""
    if not rounds:
        return
    await connection.execute(SQL.at, now_ms)
    for changes in rounds:
        for kind in Kind:
            saved = [entry for each, entry in changes.saved.items() if each.kind is kind]
            removed = [each.slug for each in changes.removed if each.kind is kind]
            if saved:
                await connection.execute(SQL.save, kind.value, *_columns(saved))
            if removed:
                await connection.execute(SQL.remove, kind.value, removed)
    await connection.execute(SQL.advance)


async def _state(connection: Connection) -> tuple[int, int]:
    row = await connection.fetchrow(SQL.state)
    return row["revision"], row["epoch"]


def _change(row: Row) -> Change:
    kind, slug, number, change, at_ms, added_ms, document = row.values()
    entry_id = EntryId(KINDS[kind], slug)
    if document is None:
        return Change(entry_id, number, CHANGE_TYPES[change], at_ms)
    return Change(entry_id, number, CHANGE_TYPES[change], at_ms, added_ms, served_of(document, at_ms))


def _entry(row: Row) -> Entry:
    return Entry(row["slug"], row["added_ms"], row["document"], row["at_ms"])


def _columns(entries: Sequence[Entry]) -> tuple[list[str], list[str], list[int]]:
    return (
        [entry.slug for entry in entries],
        [entry.document.decode() for entry in entries],
        [entry.added_ms for entry in entries],
    )


async def _replace(connection: Connection, batch: Import) -> dict[Kind, Counts]:
    total = sum(len(entries) for entries in batch.entries.values())
    done = 0
    by_kind = {}
    for kind, entries in batch.entries.items():
        added = changed = 0
        for chunk in _chunks(sorted(entries, key=lambda entry: entry.slug), IMPORT_ROWS):
            row = await _save(connection, kind, chunk, dry_run=batch.dry_run)
            added, changed = added + row[0], changed + row[1]
            done += len(chunk)
            batch.progress(done, total)
        removed = await _remove_absent(connection, kind, entries, dry_run=batch.dry_run) if batch.prune else 0
        by_kind[kind] = Counts(added, changed, len(entries) - added - changed, removed)
    return by_kind


async def _save(connection: Connection, kind: Kind, chunk: Sequence[Entry], *, dry_run: bool) -> tuple[int, int]:
    """Write a chunk. Returns how many entries are new and how many changed."""
    slugs, documents, added_ms = _columns(chunk)
    row = await connection.fetchrow(SQL.compare, kind.value, slugs, documents)
    if not dry_run and row["added"] + row["changed"]:
        await connection.execute(SQL.save, kind.value, slugs, documents, added_ms)
    return row["added"], row["changed"]


async def _remove_absent(connection: Connection, kind: Kind, entries: Sequence[Entry], *, dry_run: bool) -> int:
    slugs = [entry.slug for entry in entries]
    absent = int(await connection.fetchval(SQL.count_absent, kind.value, slugs))
    if absent and not dry_run:
        await connection.execute(SQL.remove_absent, kind.value, slugs)
    return absent


def _chunks(entries: Sequence[Entry], size: int) -> Iterator[Sequence[Entry]]:
    for start in range(0, len(entries), size):
        yield entries[start : start + size]
