"""The contract of the catalog store, over Postgres and in memory: importing, loading and searching."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

from actors.catalog.messages import Change, Entry, Kind
from actors.catalog.store import CatalogStore, Counts, Import
from actors.values import Agent, AuditRecord
from storage.connection.pool import Database
from storage.postgres.catalog import PostgresCatalog
from tests.doubles.catalog import MemoryCatalog
from tests.doubles.tables import Memory
from tests.fakes import together
from tests.snapshots.entries import IMPORTED_MS, bot, guide_fields, of_bots, usecase
from tests.stores.conftest import Stores, beside

MANY = 2_500
"""More than two chunks of an import and of a load."""
BOUND_SECONDS = 30.0


@pytest.fixture
def store(stores: Stores) -> CatalogStore:
    return beside(stores, MemoryCatalog, PostgresCatalog)


@dataclass(slots=True)
class Loaded:
    """The changes that a load handed over."""

    changes: list[Change] = field(default_factory=list)
    largest: int = 0

    def take(self, changes: Sequence[Change]) -> None:
        self.changes += changes
        self.largest = max(self.largest, len(changes))

    @property
    def entries(self) -> dict[Kind, list[Entry]]:
        """The entries as they were imported, in the order of their lists."""
        found: dict[Kind, list[Entry]] = {kind: [] for kind in Kind}
        for change in self.changes:
            if change.document is not None:
                document = change.document.removesuffix(b',"updatedAt":%d}' % change.at_ms) + b"}"
                found[change.id.kind].append(Entry(change.slug, change.added_ms, document))
        return {
            kind: sorted(entries, key=lambda entry: (-entry.added_ms, entry.slug)) for kind, entries in found.items()
        }

    def slugs(self, kind: Kind) -> list[str]:
        return [entry.slug for entry in self.entries[kind]]


async def loaded(store: CatalogStore, after: int = 0) -> Loaded:
    result = Loaded()
    revision = await store.changes(after, result.take)
    assert revision.number == await store.revision()
    numbers = [change.number for change in result.changes]
    assert numbers == sorted(set(numbers))
    assert all(number > after for number in numbers)
    return result


@cache
def many(**fields: str) -> tuple[Entry, ...]:
    return tuple(bot(f"bot-{number}", addedAt=number // 3, **fields) for number in range(MANY))


# Importing and loading.


async def test_a_new_store_is_empty_and_at_revision_zero(store: CatalogStore) -> None:
    assert await store.revision() == 0
    assert (await loaded(store)).entries == {Kind.USECASES: [], Kind.BOTS: []}


async def test_imported_entries_are_loaded_byte_by_byte(store: CatalogStore) -> None:
    entries = [usecase("a", guide=guide_fields()), usecase("b", title='“Ü” 🙂 \\ "quoted" & <b>', addedAt=2**53)]
    await store.replace(Import({Kind.USECASES: entries, Kind.BOTS: [bot("a")]}, IMPORTED_MS))
    result = await loaded(store)
    assert result.entries == {Kind.USECASES: entries[::-1], Kind.BOTS: [bot("a")]}
    assert all(type(entry.document) is bytes for entry in entries)


async def test_a_load_is_ordered_newest_first_then_by_slug_as_bytes_are(store: CatalogStore) -> None:
    slugs = ["a", "a-b", "a1", "ab", "a-1", "b"]
    await store.replace(of_bots(*(bot(slug) for slug in slugs), bot("new", addedAt=2_000), bot("old", addedAt=0)))
    assert (await loaded(store)).slugs(Kind.BOTS) == ["new", *sorted(slugs, key=str.encode), "old"]


async def test_a_large_import_is_loaded_in_chunks(store: CatalogStore) -> None:
    steps: list[tuple[int, int]] = []
    await store.replace(of_bots(*many(), progress=lambda done, total: steps.append((done, total))))
    result = await loaded(store)
    assert result.entries[Kind.BOTS] == sorted(many(), key=lambda entry: (-entry.added_ms, entry.slug))
    assert result.largest < MANY
    assert steps[-1] == (MANY, MANY)
    assert steps == sorted(steps)


async def test_an_import_counts_what_it_did_and_moves_the_revision(store: CatalogStore) -> None:
    first = await store.replace(of_bots(bot("a"), bot("b")))
    assert (first.revision, first.by_kind[Kind.BOTS]) == (1, Counts(added=2))
    second = await store.replace(of_bots(bot("a", job="Another."), bot("b"), bot("c")))
    assert (second.revision, second.by_kind[Kind.BOTS]) == (2, Counts(added=1, changed=1, unchanged=1))
    assert await store.revision() == 2
    assert (await loaded(store)).entries[Kind.BOTS] == [bot("a", job="Another."), bot("b"), bot("c")]


async def test_an_import_of_what_is_there_changes_nothing(store: CatalogStore) -> None:
    await store.replace(of_bots(*many()))
    again = await store.replace(of_bots(*many(), prune=True))
    assert (again.revision, again.by_kind[Kind.BOTS]) == (1, Counts(unchanged=MANY))


async def test_a_changed_time_moves_the_entry(store: CatalogStore) -> None:
    await store.replace(of_bots(bot("a"), bot("b")))
    await store.replace(of_bots(bot("b", addedAt=5_000)))
    assert (await loaded(store)).slugs(Kind.BOTS) == ["b", "a"]


async def test_without_pruning_absent_entries_stay(store: CatalogStore) -> None:
    await store.replace(of_bots(bot("a")))
    await store.replace(of_bots(bot("b")))
    assert (await loaded(store)).slugs(Kind.BOTS) == ["a", "b"]


async def test_pruning_removes_what_is_absent_of_the_kinds_that_are_named(store: CatalogStore) -> None:
    await store.replace(Import({Kind.BOTS: [bot("a"), bot("b")], Kind.USECASES: [usecase("u")]}, IMPORTED_MS))
    counts = await store.replace(of_bots(bot("b"), prune=True))
    assert counts.by_kind == {Kind.BOTS: Counts(unchanged=1, removed=1)}
    assert (await loaded(store)).slugs(Kind.BOTS) == ["b"]
    assert (await loaded(store)).slugs(Kind.USECASES) == ["u"]
    await store.replace(of_bots(prune=True))
    assert (await loaded(store)).slugs(Kind.BOTS) == []


async def test_a_dry_run_counts_and_changes_nothing(store: CatalogStore) -> None:
    await store.replace(of_bots(bot("a"), bot("b"), bot("c")))
    changes = of_bots(bot("a"), bot("b", job="Another."), bot("d"), prune=True, dry_run=True)
    counts = await store.replace(changes)
    assert (counts.revision, counts.by_kind[Kind.BOTS]) == (1, Counts(added=1, changed=1, unchanged=1, removed=1))
    assert (await loaded(store)).entries[Kind.BOTS] == [bot("a"), bot("b"), bot("c")]


async def test_an_import_that_fails_leaves_nothing(store: CatalogStore) -> None:
    def fail(done: int, total: int) -> None:
        raise RuntimeError("the caller's own")

    with pytest.raises(RuntimeError):
        await store.replace(of_bots(*many(), progress=fail))
    assert await store.revision() == 0
    assert (await loaded(store)).entries[Kind.BOTS] == []


async def test_an_import_that_has_committed_is_not_done_again_over_later_edits(store: CatalogStore) -> None:
    """As after an outcome that was unknown."""
    await store.replace(of_bots(bot("a"), bot("z")))
    audit = AuditRecord.by(Agent("cli", "import"), "aud_1", 5, "catalog.imported", ("catalog", "bots.jsonl"), "", "{}")
    batch = of_bots(bot("a", job="Another."), bot("b"), bot("c"), prune=True, audit=audit)
    first = await store.replace(batch)
    assert first.by_kind[Kind.BOTS] == Counts(added=2, changed=1, removed=1)
    await store.replace(of_bots(bot("b", job="Edited since.")))
    again = await store.replace(batch)
    assert (again.revision, again.by_kind) == (3, first.by_kind)
    assert (await loaded(store)).entries[Kind.BOTS] == [
        bot("a", job="Another."),
        bot("b", job="Edited since."),
        bot("c"),
    ]


async def test_imports_at_the_same_time_happen_one_after_the_other(store: CatalogStore) -> None:
    batches = [of_bots(*many(job=f"Job {number}.")) for number in range(3)]
    results = await together(*(lambda batch=batch: store.replace(batch) for batch in batches))
    assert sorted(result.revision for result in results) == [1, 2, 3]
    assert sorted(result.by_kind[Kind.BOTS].added for result in results) == [0, 0, MANY]
    assert len({entry.document.split(b'"job":')[1][:10] for entry in (await loaded(store)).entries[Kind.BOTS]}) == 1


async def test_a_load_during_imports_is_of_one_revision(store: CatalogStore) -> None:
    pairs = [
        Import(
            {Kind.BOTS: many(job=f"Job {number}."), Kind.USECASES: [usecase("u", roi=f"Job {number}.")]}, IMPORTED_MS
        )
        for number in range(4)
    ]
    await store.replace(pairs[0])
    results = [Loaded() for _ in range(6)]
    imports = [lambda pair=pair: store.replace(pair) for pair in pairs[1:]]
    loads = [lambda result=result: store.changes(0, result.take) for result in results]
    outcomes = await together(*imports, *loads)
    assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    for result in results:
        assert len(result.entries[Kind.BOTS]) == MANY
        texts = {entry.document.split(b"Job ")[1][:1] for kind in Kind for entry in result.entries[kind]}
        assert len(texts) == 1


async def test_present_tells_which_slugs_exist(store: CatalogStore) -> None:
    await store.replace(Import({Kind.BOTS: [bot("a"), bot("b")], Kind.USECASES: [usecase("c")]}, IMPORTED_MS))
    assert await store.present(Kind.BOTS, ["a", "c", "x"]) == {"a"}
    assert await store.present(Kind.BOTS, []) == set()


async def test_a_change_is_announced_and_a_dry_run_or_an_unchanged_import_is_not() -> None:
    memory = Memory()
    topics: list[str] = []
    memory.listeners.append(topics.append)
    store = MemoryCatalog(memory)
    await store.replace(of_bots(bot("a"), dry_run=True))
    assert topics == []
    await store.replace(of_bots(bot("a")))
    await store.replace(of_bots(bot("a")))
    assert topics == ["catalog"]


async def test_postgres_announces_a_change_with_its_commit(database: Database) -> None:
    heard: list[str] = []

    async def listen(connection: Any) -> Any:
        await connection.add_listener("catalog", lambda *message: heard.append(message[-1]))
        return connection

    listener = await database.read(listen)
    await PostgresCatalog(database).replace(of_bots(bot("a")))
    await PostgresCatalog(database).replace(of_bots(bot("a")))
    await database.read(lambda connection: connection.fetchval("select 1"))
    assert heard == ["catalog"]
    listener.terminate()
