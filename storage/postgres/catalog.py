"""The catalog store over Postgres."""

from collections.abc import Iterator, Sequence, Set

from actors.catalog.store import Counts, Entry, Import, ImportCounts, Kind, Take
from storage.connection.pool import Connection, Store
from storage.rows.statements import statements

SQL = statements("catalog")

LOAD_ROWS = 500
IMPORT_ROWS = 1_000
LOAD_SECONDS = 120.0
IMPORT_SECONDS = 1_800.0


class PostgresCatalog(Store):
    """Entries in the partitions of `catalog`, and their revision in `catalog_revision`."""

    async def revision(self) -> int:
        return int(await self._database.fetchval(SQL.revision))

    async def load(self, take: Take) -> int:
        async def work(connection: Connection) -> int:
            await connection.execute(SQL.one_snapshot)
            revision = int(await connection.fetchval(SQL.revision))
            for kind in Kind:
                cursor = await connection.cursor(SQL.load, kind.value)
                while rows := await cursor.fetch(LOAD_ROWS):
                    take(kind, [Entry(*row) for row in rows])
            return revision

        return await self._database.transact(work, seconds=LOAD_SECONDS)

    async def present(self, kind: Kind, slugs: Sequence[str]) -> Set[str]:
        return {row["slug"] for row in await self._database.fetch(SQL.present, kind.value, list(slugs))}

    async def replace(self, batch: Import) -> ImportCounts:
        async def work(connection: Connection) -> ImportCounts:
            if batch.dry_run:
                await connection.execute(SQL.one_snapshot)
            await connection.execute(SQL.import_timeouts)
            revision = int(await connection.fetchval(SQL.revision if batch.dry_run else SQL.lock_revision))
            counts = await _replace(connection, batch)
            result = ImportCounts(revision, counts)
            if batch.dry_run or not result.writes:
                return result
            return ImportCounts(await connection.fetchval(SQL.advance), counts)

        return await self._database.transact(work, seconds=IMPORT_SECONDS)


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
    slugs, documents = [entry.slug for entry in chunk], [entry.document.decode() for entry in chunk]
    row = await connection.fetchrow(SQL.compare, kind.value, slugs, documents)
    if not dry_run and row["added"] + row["changed"]:
        added_ms = [entry.added_ms for entry in chunk]
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
