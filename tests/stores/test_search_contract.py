"""The contract of relaxed searches and of searches within a category, over Postgres and in memory."""

from contextlib import nullcontext

import pytest

from actors.catalog.store import CatalogStore, Entry, Found, Import, Kind, Search
from actors.catalog.words import Vocabulary
from storage.connection.error_translation import OutOfTime
from storage.connection.pool import Database
from storage.postgres.catalog import PostgresCatalog
from storage.postgres.catalog_search import search_catalog
from tests.doubles.catalog import MemoryCatalog
from tests.snapshots.entries import IMPORTED_MS, bot, guide_fields, loaded_from, of_bots, of_usecases, usecase
from tests.stores.conftest import Stores, beside

BOUND_SECONDS = 30.0

LIBRARY = (
    bot("painter", name="Fence Painter", job="Paints one fence.", addedAt=10),
    bot("reader", name="Invoice Reader", category="Finance", job="Reads each invoice.", addedAt=20),
    bot("chaser", name="Invoice Chaser", category="Finance", job="Sends a reminder.", addedAt=30),
    bot("gardener", name="Garden Helper", category="Office work", job="Waters a fence of roses.", addedAt=40),
    bot("clerk", name="Finance clerk", category="Office", job="Does office work.", addedAt=50),
)


@pytest.fixture
def store(stores: Stores) -> CatalogStore:
    return beside(stores, MemoryCatalog, PostgresCatalog)


async def find(
    store: CatalogStore, q: str, *, category: str | None = None, kind: Kind = Kind.BOTS, limit: int = 20
) -> Found:
    """Search with the vocabulary of the newest snapshot."""
    snapshot = await loaded_from(store)
    search = Search(kind, q, limit, category, snapshot.lists[kind].words)
    return await store.search(search, room=nullcontext(), seconds=BOUND_SECONDS)


async def relaxed(store: CatalogStore, q: str, **options: str) -> list[str]:
    found = await find(store, q, **options)  # type: ignore[arg-type]
    assert found.relaxed
    return list(found.slugs)


# Relaxing.


async def test_entries_with_all_words_are_found_as_before(store: CatalogStore) -> None:
    await store.replace(of_bots(*LIBRARY))
    assert await find(store, "fence") == Found(("painter", "gardener"))
    assert await find(store, "invoice reminder") == Found(("chaser",))


async def test_without_an_entry_with_all_words_those_with_most_are_found_the_rarest_words_first(
    store: CatalogStore,
) -> None:
    await store.replace(of_bots(*LIBRARY))
    found = await relaxed(store, "invoice reminder roses")
    assert found[0] == "chaser"
    assert sorted(found) == ["chaser", "gardener", "reader"]
    assert (await relaxed(store, "fence submarine"))[0] == "painter"


async def test_an_unfinished_last_word_is_completed(store: CatalogStore) -> None:
    await store.replace(of_bots(*LIBRARY))
    assert await relaxed(store, "invoice rem") == ["chaser", "reader"]
    assert await relaxed(store, "gard") == ["gardener"]
    assert await find(store, "gard fence") == Found(("painter", "gardener"), relaxed=True)


async def test_letters_that_were_swapped_left_out_or_doubled_are_corrected(store: CatalogStore) -> None:
    await store.replace(of_bots(*LIBRARY))
    for q in ("invioce chaser", "invoce chaser", "INVOIICE CHASER", "chasr invoice", "chaser, invoicce"):
        assert (await relaxed(store, q))[0] == "chaser", q


async def test_words_that_no_entry_has_find_nothing(store: CatalogStore) -> None:
    await store.replace(of_bots(*LIBRARY))
    assert (await find(store, "submarine periscopes")).slugs == ()


async def test_a_text_with_a_phrase_or_an_excluded_word_is_taken_exactly(store: CatalogStore) -> None:
    await store.replace(of_bots(*LIBRARY))
    exactly = (
        '"fence chaser"',
        "invoice -reader -chaser",
        "invioce -reader",
        '"invioce"',
        "- submarine",
        'fence "submarine',
    )
    for q in exactly:
        exact = await store.search(Search(Kind.BOTS, q, 20), room=nullcontext(), seconds=BOUND_SECONDS)
        assert await find(store, q) == exact, q
        assert not exact.relaxed, q


async def test_signs_of_the_query_language_are_no_syntax(store: CatalogStore) -> None:
    for word in ("it's\\n", "a'b", "x&y|z", "!fence", "fence:*", "<1>", "\\", "''", "(fence"):
        await store.replace(of_bots(*LIBRARY, bot("odd", name=f"Odd {word} name", addedAt=1)))
        found = await find(store, f"{word} submarine roses")
        assert {"gardener", "odd"} & {*found.slugs}, word
        assert found.relaxed, word


async def test_no_more_than_limit_are_found(store: CatalogStore) -> None:
    await store.replace(of_bots(*(bot(f"bot-{number}", name="Fence", addedAt=number) for number in range(30))))
    found = await find(store, "fence submarine", limit=5)
    assert found.slugs == tuple(f"bot-{number}" for number in range(29, 24, -1))
    assert found.relaxed


async def test_kinds_have_their_own_words(store: CatalogStore) -> None:
    await store.replace(Import({Kind.BOTS: LIBRARY, Kind.USECASES: [usecase("u", title="An invitation")]}, IMPORTED_MS))
    assert await find(store, "invitaton", kind=Kind.USECASES) == Found(("u",), relaxed=True)
    assert (await find(store, "invitaton")).slugs == ()


async def test_the_words_follow_the_imports(store: CatalogStore) -> None:
    await store.replace(of_bots(*LIBRARY))
    assert (await find(store, "okappi")).slugs == ()
    await store.replace(of_bots(bot("zoo", name="Okapi"), prune=True))
    assert await relaxed(store, "okappi") == ["zoo"]
    assert (await find(store, "invioce")).slugs == ()


async def test_words_are_loaded_in_order_with_their_numbers_of_entries(store: CatalogStore) -> None:
    entries = (bot("a", name="Okapi okapi"), bot("b", name="Okapi"), bot("c", who="Zoë of 12 x1"))
    words: dict[Kind, list[tuple[str, int]]] = {kind: [] for kind in Kind}
    await store.replace(of_bots(*entries))
    await store.changes(0, lambda changes: None, lambda kind, more: words[kind].extend(more))
    assert words[Kind.USECASES] == []
    assert words[Kind.BOTS] == sorted(words[Kind.BOTS])
    counts = dict(words[Kind.BOTS])
    assert (counts["okapi"], counts["zoë"]) == (2, 1)
    assert not [word for word in counts if not word.isalpha()]


# Categories.


async def test_a_search_within_a_category_finds_its_entries_only(store: CatalogStore) -> None:
    await store.replace(of_bots(*LIBRARY))
    assert sorted((await find(store, "invoice", category="Finance")).slugs) == ["chaser", "reader"]
    assert await find(store, "invoice", category="Office work") == Found(())
    assert await find(store, "fence or finance", category="Office work") == Found(("gardener",))
    assert await find(store, "-garden", category="Office work") == Found(())
    assert await find(store, "-invoice", category="Office work") == Found(("gardener",))


async def test_a_relaxed_search_stays_within_its_category(store: CatalogStore) -> None:
    await store.replace(of_bots(*LIBRARY))
    assert sorted(await relaxed(store, "invioce submarine", category="Finance")) == ["chaser", "reader"]
    assert await relaxed(store, "fence reminder", category="Office work") == ["gardener"]
    assert (await find(store, "submarine", category="Finance")).slugs == ()


async def test_a_category_of_a_use_case_is_that_of_its_guide(store: CatalogStore) -> None:
    guided = usecase("guided", title="Fence", guide=guide_fields(category="Office & the work"))
    await store.replace(of_usecases(guided, usecase("other", title="Fence")))
    assert await find(store, "fence", kind=Kind.USECASES, category="Office & the work") == Found(("guided",))


async def test_a_category_of_any_name_can_be_searched(store: CatalogStore) -> None:
    for category in ("The", "& !", "it's a 'b' \\", "-x", "Ä ö", "a | b"):
        await store.replace(of_bots(*LIBRARY, bot("odd", name="Fence", category=category)))
        assert await find(store, "fence", category=category) == Found(("odd",)), category
        assert await find(store, "... !", category=category) == Found(()), category


# Only over Postgres.


async def test_postgres_relaxes_with_stems(database: Database) -> None:
    store = PostgresCatalog(database)
    await store.replace(of_bots(*LIBRARY))
    found = await relaxed(store, "how can I paint my fences and read invoices")
    assert sorted(found[:2]) == ["painter", "reader"]


async def test_postgres_finds_the_best_matches_of_most_words_among_many(database: Database) -> None:
    store = PostgresCatalog(database)
    many: list[Entry] = [
        bot(f"bot-{number}", job=f"Handles invoices{' and receipts' if number % 7 == 0 else ''}.", addedAt=number)
        for number in range(1_000)
    ]
    await store.replace(of_bots(*many, bot("old", name="Receipts", job="Handles invoices of zebras.", addedAt=0)))
    found = await relaxed(store, "invoices receipts submarine")
    assert found[0] == "old"
    assert found[1:] == [f"bot-{number}" for number in range(994, 0, -7)][:19]


# Time.


class Scripted:
    """A connection that answers queries with these rows, or raises these errors, in order."""

    def __init__(self, *answers: list[dict[str, object]] | Exception) -> None:
        self._answers = list(answers)
        self.said: list[str] = []

    async def execute(self, statement: str) -> None:
        self.said.append(statement.partition(" ")[0].rstrip(";"))

    async def fetch(self, statement: str, *values: object) -> list[dict[str, object]]:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


STEMS: list[dict[str, object]] = [{"lexeme": "invoic"}, {"lexeme": "remind"}]
CHASER: list[dict[str, object]] = [{"slug": "chaser", "score": 3.0}]


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ([OutOfTime()], None),
        ([[], OutOfTime()], None),
        ([[], STEMS, OutOfTime()], None),
        ([[], STEMS, CHASER, OutOfTime()], Found(("chaser",), relaxed=True, cut=True)),
        ([[], STEMS, CHASER, CHASER], Found(("chaser",), relaxed=True)),
        ([[], STEMS, CHASER * 20], Found(("chaser",) * 20, relaxed=True)),
        ([[], []], Found(())),
        ([CHASER], Found(("chaser",))),
    ],
)
async def test_when_time_ends_the_best_so_far_is_found_if_there_is_any(
    answers: list[list[dict[str, object]] | Exception], found: Found | None
) -> None:
    words = Vocabulary()
    words.add([("invoic", 2), ("remind", 1)])
    connection = Scripted(*answers)
    assert await search_catalog(Search(Kind.BOTS, "invoice reminder", 20, words=words), 1.0, connection) == found
    assert (connection.said[0], connection.said[-1]) == ("begin", "rollback")
