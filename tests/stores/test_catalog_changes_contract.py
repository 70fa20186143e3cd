"""The contract of the catalog store, over Postgres and in memory: editing entries, and the changes that mirrors follow."""

import json
import random
from dataclasses import replace

import pytest

from actors.catalog.messages import ChangeType, EntrySaved, Kind, Message
from actors.catalog.state import Decision, Snapshot, decide, entries_to_read
from actors.catalog.store import CatalogStore, Import, Stored
from actors.retention.store import Rows
from actors.values import AuditRecord, BatchId
from service.snapshots.catalog_entries import CatalogSnapshot, SnapshotBuilder
from storage.connection.pool import Database
from storage.postgres.catalog import PostgresCatalog
from tests.doubles.catalog import MemoryCatalog
from tests.doubles.tables import Memory
from tests.fakes import together
from tests.slow import SLOW
from tests.snapshots.editing import CLERK, entry_id, put, retire
from tests.snapshots.entries import IMPORTED_MS, bot, loaded_from, of_bots, usecase
from tests.stores.conftest import Stores, beside
from tests.stores.test_catalog_contract import Loaded, loaded

LATER_MS = 9_000
ADDED, UPDATED, REMOVED = ChangeType.ADDED, ChangeType.UPDATED, ChangeType.REMOVED
NAME = entry_id("bots/a")


@pytest.fixture
def store(stores: Stores) -> CatalogStore:
    return beside(stores, MemoryCatalog, PostgresCatalog)


async def edited(store: CatalogStore, *messages: Message, seq: int = 1, node: str = "node") -> Decision:
    def on(snapshot: Snapshot) -> Decision:
        return decide(snapshot, messages, LATER_MS)

    return await store.transact(BatchId(f"{node}/editor", seq), entries_to_read(messages), on, LATER_MS)


def told(found: Loaded) -> list[tuple[str, ChangeType, int]]:
    return [(change.slug, change.type, change.at_ms) for change in found.changes]


async def test_an_import_leaves_its_changes_in_order_added_updated_removed(store: CatalogStore) -> None:
    await store.replace(Import({Kind.BOTS: [bot("b"), bot("a")], Kind.USECASES: [usecase("a")]}, IMPORTED_MS))
    assert told(await loaded(store)) == [(slug, ADDED, IMPORTED_MS) for slug in ("a", "b", "a")]
    batch = replace(of_bots(bot("a", job="Another."), bot("c"), prune=True), now_ms=LATER_MS)
    await store.replace(batch)
    expected = [("a", ADDED, IMPORTED_MS), ("c", ADDED, LATER_MS), ("a", UPDATED, LATER_MS), ("b", REMOVED, LATER_MS)]
    assert sorted(told(await loaded(store))) == sorted(expected)
    assert (await store.stored(entry_id("bots/b"))).retired == replace(bot("b"), updated_ms=LATER_MS)


async def test_what_changed_after_a_number_is_all_that_a_follower_needs(store: CatalogStore) -> None:
    await store.replace(of_bots(bot("a"), bot("b")))
    before = (await loaded(store)).changes
    decision = await edited(store, put("bots/a", job="Another."), put("bots/c", 5), retire("bots/b"))
    after = await loaded(store, before[-1].number)
    assert sorted(told(after)) == [("a", UPDATED, LATER_MS), ("b", REMOVED, LATER_MS), ("c", ADDED, LATER_MS)]
    saved = [answer.entry.served for answer in decision.answers if isinstance(answer, EntrySaved)]
    documents = {change.slug: change.document for change in after.changes}
    assert [documents["a"], documents["c"]] == saved
    assert documents["b"] is None
    assert not (await loaded(store, after.changes[-1].number)).changes


async def test_an_entry_that_comes_and_goes_has_one_change_its_newest(store: CatalogStore) -> None:
    await edited(store, put("bots/a"), put("bots/b"), retire("bots/a"), put("bots/a", job="Another."))
    # The times of an entry grow, also within a millisecond, so that a mirror can tell its versions apart.
    assert told(await loaded(store)) == [("b", ADDED, LATER_MS), ("a", ADDED, LATER_MS + 2)]
    await edited(store, retire("bots/b"), put("bots/a", job="A third."), seq=2)
    assert sorted(told(await loaded(store))) == [("a", UPDATED, LATER_MS + 3), ("b", REMOVED, LATER_MS + 1)]


async def test_a_removed_entry_is_kept_and_can_come_back_as_it_was(store: CatalogStore) -> None:
    assert await store.stored(NAME) == Stored()
    [saved] = (await edited(store, put("bots/a"))).answers
    assert isinstance(saved, EntrySaved)
    assert await store.stored(NAME) == Stored(saved.entry)
    await edited(store, retire("bots/a"), seq=2)
    gone = replace(saved.entry, updated_ms=LATER_MS + 1)
    assert await store.stored(NAME) == Stored(None, gone)
    assert await store.present(Kind.BOTS, ["a"]) == set()
    [restored] = (await edited(store, put("bots/a"), seq=3)).answers
    assert restored == EntrySaved(replace(saved.entry, updated_ms=LATER_MS + 2), created=True)
    assert await store.stored(NAME) == Stored(restored.entry)
    assert (await loaded(store)).slugs(Kind.BOTS) == ["a"]


async def test_a_batch_moves_the_revision_once_and_one_without_changes_not_at_all(store: CatalogStore) -> None:
    await edited(store, put("bots/a"), retire("bots/a"), put("usecases/b"))
    assert await store.revision() == 1
    await edited(store, put("usecases/b"), retire("bots/a"), retire("bots/unknown"), seq=2)
    assert await store.revision() == 1


async def test_a_batch_that_has_committed_is_not_decided_again(store: CatalogStore) -> None:
    batch_id, message = BatchId("node/editor", 1), put("bots/a")

    def on(snapshot: Snapshot) -> Decision:
        return decide(snapshot, [message], LATER_MS)

    first = await store.transact(batch_id, [message.id], on, LATER_MS)
    assert await store.transact(batch_id, [message.id], on, LATER_MS) is first
    assert await store.revision() == 1


async def test_edits_of_several_nodes_and_an_import_lose_nothing(store: CatalogStore) -> None:
    jobs = [
        lambda n=n: edited(store, put(f"bots/b-{n}"), put("bots/a", job=f"Job {n}."), node=f"{n}") for n in range(6)
    ]
    outcomes = await together(*jobs, lambda: store.replace(of_bots(bot("a"), bot("c"))))
    assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert sorted((await loaded(store)).slugs(Kind.BOTS)) == ["a", *(f"b-{n}" for n in range(6)), "c"]
    assert await store.revision() == 7


async def test_changes_are_audited_in_their_transaction(stores: Stores) -> None:
    store = beside(stores, MemoryCatalog, PostgresCatalog)
    await edited(store, put("bots/a"), retire("bots/a"))
    if isinstance(stores.below, Memory):
        found = [(row.action, row.target_id, row.actor_email) for row in stores.below.audits]
    else:
        rows = await stores.below.fetch("select action, target_id, actor_email from audit order by id")
        found = [tuple(row.values()) for row in rows]
    assert sorted(found) == [(action, "a", CLERK.email) for action in ("entry.created", "entry.retired")]


async def test_an_import_is_audited_with_its_numbers_unless_it_changes_nothing(stores: Stores) -> None:
    store = beside(stores, MemoryCatalog, PostgresCatalog)
    options: list[dict[str, bool]] = [{"dry_run": True}, {}, {}, {"prune": True}]
    for number, more in enumerate(options):
        audit = AuditRecord.by(CLERK, f"aud_{number}", LATER_MS, "catalog.imported", ("catalog", "file"), "", "{}")
        entries = [bot("a")] if "prune" in more else [bot("a"), bot("b")]
        await store.replace(of_bots(*entries, audit=audit, **more))
    if isinstance(stores.below, Memory):
        found = [(row.id, row.changes) for row in stores.below.audits]
    else:
        rows = await stores.below.fetch("select id, changes::text from audit order by id")
        found = [(row["id"], row["changes"]) for row in rows]
    assert [(name, json.loads(made)) for name, made in found] == [
        ("aud_1", {"bots added": 2}),
        ("aud_3", {"bots removed": 1}),
    ]


async def test_a_removal_is_forgotten_after_its_life_and_its_number_noted(stores: Stores, store: CatalogStore) -> None:
    await edited(store, put("bots/a"), put("bots/b"), retire("bots/a"), retire("bots/b"), put("bots/b"))
    [removal, _] = (await loaded(store)).changes
    assert await stores.retention.prune(Rows.RETIRED_ENTRIES, LATER_MS + 1, 10) == 0
    assert await stores.retention.prune(Rows.RETIRED_ENTRIES, LATER_MS + 2, 10) == 1
    assert await stores.retention.prune(Rows.RETIRED_ENTRIES, LATER_MS + 2, 10) == 0
    found = Loaded()
    revision = await store.changes(0, found.take)
    assert (revision.number, revision.forgotten, revision.newest) == (2, removal.number, found.changes[-1].number)
    assert told(found) == [("b", ADDED, LATER_MS + 2)]
    assert await store.stored(NAME) == Stored()


async def test_an_import_by_the_last_release_leaves_its_changes_too(database: Database) -> None:
    """It knows neither the table of changes nor the time that is set for it."""
    store = PostgresCatalog(database)
    await store.replace(of_bots(bot("a"), bot("b")))
    newest = (await loaded(store)).changes[-1].number

    async def imported(connection: object) -> None:
        document = bot("a", job="Another.").document.decode()
        await connection.execute(  # type: ignore[attr-defined]
            "insert into catalog (kind, slug, added_ms, document) values ('bots', 'a', 1000, $1::text::json)"
            " on conflict (kind, slug) do update set document = excluded.document",
            document,
        )
        await connection.execute("delete from catalog where slug = 'b'")  # type: ignore[attr-defined]
        await connection.execute("update catalog_revision set revision = revision + 1")  # type: ignore[attr-defined]

    await database.transact(imported)
    found = (await loaded(store, newest)).changes
    assert [(change.slug, change.type) for change in found] == [("a", UPDATED), ("b", REMOVED)]
    assert all(change.at_ms > 1_700_000_000_000 for change in found)


EDITORS, EDITS = (4, 60) if SLOW else (3, 5)


async def test_a_snapshot_that_follows_changes_is_equal_to_one_that_is_loaded_anew(store: CatalogStore) -> None:
    """Random edits of several nodes and imports, followed meanwhile: no change appears behind one that was read."""
    snapshots = [CatalogSnapshot()]

    async def editing(number: int) -> None:
        chance = random.Random(number)
        for seq in range(1, EDITS + 1):
            name = f"{chance.choice(list(Kind))}/{chance.choice('abcdefgh')}"
            message = retire(name) if chance.random() < 0.3 else put(name, chance.randrange(9))
            await edited(store, message, put(f"bots/by-{number}", seq), seq=seq, node=f"{number}")
            if seq % 5 == 0:
                await store.replace(
                    of_bots(bot(f"i-{chance.randrange(4)}", addedAt=seq), bot(f"j-{number}", addedAt=seq))
                )

    async def following() -> None:
        while snapshots[-1].revision < EDITORS * EDITS:
            builder = SnapshotBuilder(snapshots[-1])
            revision = await store.changes(builder.after, builder.take)
            assert builder.leads_to(revision)
            snapshots.append(builder.finished(revision))

    outcomes = await together(*(lambda number=number: editing(number) for number in range(EDITORS)), following)
    assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    builder = SnapshotBuilder(snapshots[-1])
    followed = builder.finished(await store.changes(builder.after, builder.take))
    anew = await loaded_from(store)
    for kind in Kind:
        assert followed.page(kind, None, 100).body() == anew.page(kind, None, 100).body()
        assert followed.page(kind, None, 100).etag() == anew.page(kind, None, 100).etag()
    assert followed.changes.page(0, 100) == anew.changes.page(0, 100)
    assert len(snapshots) > 2
