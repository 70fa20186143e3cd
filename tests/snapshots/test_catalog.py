"""The catalog snapshot: order, pages that are stable while entries change, and ETags that follow the content."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from actors.catalog.messages import Entry, Kind
from actors.catalog.store import Revision
from service.snapshots.catalog_entries import CatalogSnapshot, Page, Position, SnapshotBuilder
from service.snapshots.categories import Categories, categories_body
from tests.snapshots.entries import bot, guide_fields, usecase
from tests.snapshots.entries import snapshot_of as snapshot_of_kind

SLUGS = st.from_regex(r"[a-z0-9]{1,3}(-[a-z0-9]{1,2})?", fullmatch=True)
TIMES = st.dictionaries(SLUGS, st.integers(0, 5), max_size=30)


def snapshot_of(*entries: Entry, revision: int = 1, previous: CatalogSnapshot | None = None) -> CatalogSnapshot:
    return snapshot_of_kind(Kind.BOTS, entries, previous, revision)


def from_times(times: dict[str, int]) -> CatalogSnapshot:
    return snapshot_of(*_entries_of(times))


def slugs_of(page: Page) -> list[str]:
    return [json.loads(document)["slug"] for document in page.documents]


def walked(snapshot: CatalogSnapshot, limit: int, position: Position | None = None) -> list[str]:
    page = snapshot.page(Kind.BOTS, position, limit)
    return slugs_of(page) + (walked(snapshot, limit, page.last) if page.last is not None else [])


@given(TIMES, st.integers(1, 7))
def test_walking_the_pages_gives_every_entry_once_newest_first_then_by_slug(times: dict[str, int], limit: int) -> None:
    assert walked(from_times(times), limit) == sorted(times, key=lambda slug: (-times[slug], slug))


@given(TIMES, TIMES, st.sets(SLUGS), st.integers(1, 7))
def test_a_walk_that_an_import_overtakes_gives_every_lasting_entry_once(
    before: dict[str, int], added: dict[str, int], removed: set[str], limit: int
) -> None:
    first = from_times(before).page(Kind.BOTS, None, limit)
    after = {slug: added_ms for slug, added_ms in (added | before).items() if slug not in removed}
    seen = slugs_of(first)
    if first.last is not None:
        seen += walked(from_times(after), limit, first.last)
    assert len(seen) == len(set(seen))
    assert set(before) - removed <= set(seen)


def test_the_last_page_has_no_position_even_when_it_is_full() -> None:
    snapshot = from_times({"a": 1, "b": 2})
    assert snapshot.page(Kind.BOTS, None, 2).last is None
    assert snapshot.page(Kind.BOTS, None, 1).last == Position(2, "b")
    assert not snapshot.page(Kind.BOTS, Position(0, ""), 1).documents


def test_kinds_are_apart() -> None:
    snapshot = snapshot_of(bot("a"))
    assert snapshot.item(Kind.BOTS, "a") is not None
    assert snapshot.item(Kind.USECASES, "a") is None
    assert not snapshot.page(Kind.USECASES, None, 20).documents


def test_a_page_is_served_as_json() -> None:
    page = snapshot_of(bot("a"), bot("b", name="Ü “x”")).page(Kind.BOTS, None, 20)
    assert [entry["name"] for entry in json.loads(page.body())["data"]] == ["Plain Helper", "Ü “x”"]
    assert json.loads(page.body())["nextCursor"] is None
    assert json.loads(page.body("abc"))["nextCursor"] == "abc"
    assert snapshot_of().page(Kind.BOTS, None, 20).body() == b'{"data":[],"nextCursor":null}'


def test_the_etag_of_an_item_changes_with_its_content_only() -> None:
    one, same = snapshot_of(bot("a"), revision=1), snapshot_of(bot("a"), bot("b"), revision=2)
    other = snapshot_of(bot("a", job="Another."), revision=3)
    etags = [snapshot.item(Kind.BOTS, "a") for snapshot in (one, same, other)]
    assert etags[0] == etags[1] != etags[2]


def test_the_etag_of_a_page_changes_with_its_entries_and_its_cursor() -> None:
    page = snapshot_of(bot("a"), bot("b")).page(Kind.BOTS, None, 20)
    assert page.etag("x") == snapshot_of(bot("b"), bot("a")).page(Kind.BOTS, None, 20).etag("x")
    others = [page.etag(), page.etag("y"), snapshot_of(bot("a")).page(Kind.BOTS, None, 20).etag("x")]
    assert page.etag("x") not in others
    assert page.etag().startswith('"')
    assert page.etag().endswith('"')


def test_entries_are_picked_in_the_given_order_and_unknown_ones_left_out() -> None:
    page = snapshot_of(bot("a"), bot("b"), bot("c")).pick(Kind.BOTS, ["c", "gone", "a"])
    assert [entry["slug"] for entry in json.loads(page.body())["data"]] == ["c", "a"]
    assert page.last is None


def test_a_snapshot_shares_what_did_not_change_with_the_one_before() -> None:
    before = snapshot_of(bot("a"), bot("b"))
    after = snapshot_of(bot("a"), bot("b", job="Another."), previous=before)
    old, new = (snapshot.page(Kind.BOTS, None, 2).documents for snapshot in (before, after))
    assert old[0] is new[0]
    assert old[1] != new[1]


# Categories.

NAMES = st.sampled_from(("Finance", "finance", "Arts", None))
CATEGORIZED = st.dictionaries(SLUGS, st.tuples(st.integers(0, 5), NAMES), max_size=12)


def categorized(entries: dict[str, tuple[int, str | None]], previous: CatalogSnapshot | None = None) -> CatalogSnapshot:
    made = [bot(slug, addedAt=added, category=category) for slug, (added, category) in entries.items()]
    return snapshot_of(*made, previous=previous)


def walked_in(snapshot: CatalogSnapshot, category: str, limit: int, position: Position | None = None) -> list[str]:
    page = snapshot.page(Kind.BOTS, position, limit, category)
    rest = walked_in(snapshot, category, limit, page.last) if page.last is not None else []
    return slugs_of(page) + rest


@settings(max_examples=40)
@given(CATEGORIZED, CATEGORIZED, st.integers(1, 7))
def test_the_pages_of_a_category_are_its_part_of_the_list(
    before: dict[str, tuple[int, str | None]], entries: dict[str, tuple[int, str | None]], limit: int
) -> None:
    snapshot = categorized(entries, previous=categorized(before))
    for category in ("Finance", "Arts", "unknown"):
        own = {slug: added for slug, (added, name) in entries.items() if name == category}
        assert walked_in(snapshot, category, limit) == sorted(own, key=lambda slug: (-own[slug], slug))
    counts = snapshot.lists[Kind.BOTS].categories.counts()
    assert sum(counts.values()) == sum(name is not None for _, name in entries.values())


@settings(max_examples=40)
@given(CATEGORIZED, st.sampled_from(("Finance", "unknown", None)), st.integers(1, 7))
def test_each_page_knows_its_place_and_the_page_before_it(
    entries: dict[str, tuple[int, str | None]], category: str | None, limit: int
) -> None:
    bots = categorized(entries).lists[Kind.BOTS]
    total = sum(category in (None, name) for _, name in entries.values())
    positions: list[Position | None] = []
    position, before = None, 0
    while True:
        page = bots.page(position, limit, category)
        place = bots.place(position, limit, category)
        assert (place.before, place.total) == (before, total)
        assert place.previous == (positions[-1] if positions else None)
        positions.append(position)
        before += len(page.documents)
        if page.last is None:
            break
        position = page.last
    assert before == total


def test_a_position_of_another_category_continues_from_the_same_place_of_the_list() -> None:
    snapshot = categorized({"a": (4, "Arts"), "b": (3, "Finance"), "c": (2, "Arts"), "d": (1, "Finance")})
    last = snapshot.page(Kind.BOTS, None, 1, "Arts").last
    assert slugs_of(snapshot.page(Kind.BOTS, last, 5, "Finance")) == ["b", "d"]


def test_a_category_is_found_by_its_name_or_in_another_case() -> None:
    categories = (
        categorized({"a": (1, "Arts"), "b": (1, "arts"), "c": (1, "arts"), "d": (1, "Öffentlich")})
        .lists[Kind.BOTS]
        .categories
    )
    assert [categories.named(name) for name in ("Arts", "arts", " ARTS ", "öffentlich", "x", "")] == [
        "Arts",
        "arts",
        "arts",
        "Öffentlich",
        None,
        None,
    ]


def test_categories_are_listed_by_name_with_the_numbers_of_both_kinds() -> None:
    bots = snapshot_of(bot("a", category="b"), bot("b", category="A"), bot("c"))
    usecases = usecase("u", guide=guide_fields(category="b")), usecase("v")
    snapshot = snapshot_of_kind(Kind.USECASES, usecases, bots, revision=2)
    expected = [{"name": "A", "useCases": 0, "bots": 1}, {"name": "b", "useCases": 1, "bots": 1}]
    assert json.loads(snapshot.categories.body) == {"data": expected}
    assert json.loads(CatalogSnapshot().categories.body) == {"data": []}


def test_of_many_categories_those_with_most_entries_are_listed() -> None:
    members = [(f"category {number}", b"%d" % key) for number in range(1_200) for key in range(1 + number % 2)]
    listed = json.loads(categories_body(Categories().edited([], members), Categories()))["data"]
    assert len(listed) == 1_000
    assert sum(each["useCases"] == 2 for each in listed) == 600


# Changes.


def told(snapshot: CatalogSnapshot, after: int = 0, limit: int = 100) -> list[tuple[str, str]]:
    return [(row["slug"], row["change"]) for row in map(json.loads, snapshot.changes.page(after, limit).rows)]


@given(TIMES, TIMES, st.integers(1, 7))
def test_changes_after_a_snapshot_lead_to_the_next_one(
    before: dict[str, int], after: dict[str, int], limit: int
) -> None:
    first = from_times(before)
    second = snapshot_of(*_entries_of(after), previous=first)
    assert walked(second, limit) == sorted(after, key=lambda slug: (-after[slug], slug))
    end = first.changes.page(0, 100).last
    gone = {slug for slug, change in told(second, end) if change == "removed"}
    assert gone == before.keys() - after.keys()
    same = {slug for slug, added_ms in before.items() if after.get(slug) == added_ms}
    assert {slug for slug, _ in told(second, end)} == before.keys() ^ after.keys() | (
        before.keys() & after.keys()
    ) - same
    assert len(told(second)) == len(before.keys() | after.keys())
    assert second.changes.page(second.changes.revision.newest, limit) == ([], second.changes.revision.newest, False)


def _entries_of(times: dict[str, int]) -> list[Entry]:
    return [Entry(slug, added_ms, f'{{"slug":"{slug}","at":{added_ms}}}'.encode()) for slug, added_ms in times.items()]


def test_forgotten_removals_are_dropped_and_a_snapshot_that_missed_one_is_loaded_anew() -> None:
    first = from_times({"a": 1, "b": 2})
    without = snapshot_of(*_entries_of({"b": 2}), previous=first)
    newest = without.changes.revision.newest
    assert ("a", "removed") in told(without)
    removed = {kind: [entry_id.slug for entry_id, _ in without.changes.removals(kind, 9)] for kind in Kind}
    assert removed == {Kind.USECASES: [], Kind.BOTS: ["a"]}
    forgotten = Revision(9, newest, newest)
    assert SnapshotBuilder(without).leads_to(forgotten)
    assert told(SnapshotBuilder(without).finished(forgotten)) == [each for each in told(without) if each[0] != "a"]
    assert not SnapshotBuilder(first).leads_to(forgotten)
    assert not SnapshotBuilder(without).leads_to(Revision(0, newest))
    assert SnapshotBuilder(CatalogSnapshot()).leads_to(forgotten)


def test_a_category_is_found_however_its_letters_are_composed() -> None:
    snapshot = categorized({"a": (1, "Zürich")})
    for name in ("Zürich", "zu\u0308rich", "ＺÜRICH"):
        assert snapshot.lists[Kind.BOTS].categories.named(name) == "Zürich", name


def test_a_list_knows_what_an_earlier_one_had_and_gives_entries_to_index() -> None:
    before = snapshot_of(bot("a"), bot("b"), bot("c"))
    after = snapshot_of(bot("a"), bot("d", addedAt=5), previous=before)
    old, new = before.lists[Kind.BOTS], after.lists[Kind.BOTS]
    assert new.gone_since(old) == {"b", "c"}
    assert new.gone_since(new) == set()
    for slugs in (["c", "a"], ["c", "unknown", "a"]):
        assert {(entry.slug, entry.added_ms) for entry in old.entries(slugs)} == {("c", 1000), ("a", 1000)}
