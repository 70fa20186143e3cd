"""The book of websites over a store in memory: who gets a number, under which an event counts, and what was seen last."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import trio

from actors.clock import DAY_MS
from actors.events.messages import OTHER, Kind
from actors.events.sightings import NEW_HOSTS, Sighting
from actors.events.sites import SiteBook, SiteRules
from actors.kernel.supervision import running
from actors.values import StorageUnavailable
from tests.actors.events import NOON_MS
from tests.doubles.sites import MemorySites
from tests.doubles.tables import Memory
from tests.fakes import HandClock, Script, TrioClock

RULES = SiteRules(count=True, networks=2, most=2)
PAGES = ["https://a.example", "https://b.example", "https://c.example"]


class Sites(MemorySites):
    """Notes how often it was asked."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.asked: list[Sequence[str]] = []

    async def admit(self, hosts: Sequence[str], most: int) -> bool:
        self.asked.append(tuple(hosts))
        return await super().admit(hosts, most)


def book(memory: Memory, rules: SiteRules = RULES) -> tuple[SiteBook, Sites]:
    store = Sites(memory)
    return SiteBook(store, TrioClock(NOON_MS), rules), store


def seen(book: SiteBook, *pages: str | None, networks: Sequence[str] = ("one", "two")) -> None:
    for page in pages:
        for network in networks:
            book.recorded(page, network)


async def test_websites_that_earned_a_place_get_numbers_at_once_until_all_places_are_taken() -> None:
    first, store = book(Memory())
    other, _ = book(store._memory)
    async with running([first, other]):
        assert [first.number_of(page) for page in (PAGES[0], None, "null")] == [OTHER] * 3
        seen(first, PAGES[0], None, "null")
        seen(first, PAGES[1], networks=["one"])
        await trio.sleep(0.1)
        assert [first.number_of(page) for page in PAGES] == [1, OTHER, OTHER]
        assert other.number_of(PAGES[0]) == OTHER
        await trio.sleep(5)
        assert other.number_of(PAGES[0]) == 1, "of another process"
        seen(first, PAGES[0], *PAGES[1:])
        await trio.sleep(0.1)
        assert [first.number_of(page) for page in PAGES] == [1, 2, OTHER]
        seen(first, PAGES[2])
        await trio.sleep(10)
        assert store.asked == [("a.example",), ("b.example", "c.example")], "nobody asks for places once all are taken"


async def test_more_websites_than_there_are_places_do_not_wait_and_a_failure_forgets_none() -> None:
    first, store = book(Memory(before=Script([None, StorageUnavailable("away")])))
    async with running([first]):
        seen(first, *PAGES)
        await trio.sleep(1)
        assert store.asked == [("a.example", "b.example")] * 2
        assert [first.number_of(page) for page in PAGES] == [1, 2, OTHER]


async def test_a_place_is_earned_by_one_website_on_one_day() -> None:
    clock, store = HandClock(NOON_MS), Sites(Memory())
    first = SiteBook(store, clock, RULES)
    async with running([first]):
        for page, network in zip(PAGES, ("one", "two", "three"), strict=True):
            seen(first, page, networks=[network])
        clock.at_ms += DAY_MS
        seen(first, PAGES[0], networks=["two"])
        await trio.sleep(1)
        assert store.asked == []
        seen(first, PAGES[0], networks=["three"])
        await trio.sleep(1)
        assert store.asked == [("a.example",)]


async def test_one_network_reports_few_new_websites_and_others_are_not_affected() -> None:
    first, _ = book(Memory())
    for number in range(NEW_HOSTS + 2):
        first.saw(f"https://{number}.example", "one", Kind.CLICK, "recorded")
    first.saw(PAGES[0], "two", Kind.CLICK, "recorded")
    assert len(first.sightings.waiting()) == NEW_HOSTS + 1


async def test_named_websites_are_the_only_ones() -> None:
    memory = Memory()
    before, _ = book(memory)
    async with running([before]):
        seen(before, PAGES[0])
        await trio.sleep(0.1)
    first, store = book(memory, replace(RULES, named=["b.example"]))
    async with running([first]):
        assert first.number_of(PAGES[1]) == 2, "from the start"
        seen(first, PAGES[2])
        await trio.sleep(6)
        assert [first.number_of(page) for page in PAGES] == [OTHER, 2, OTHER]
        assert store.asked == []


async def test_a_process_starts_only_with_the_numbers_and_counts_nothing_where_nothing_is_counted() -> None:
    away = Memory(before=Script([StorageUnavailable("away")] * 3))
    first, _ = book(away)
    assert first.number_of(PAGES[0]) == OTHER
    began = trio.current_time()
    async with running([first]):
        assert trio.current_time() - began == pytest.approx(1.5), "tried again every half a second"
    silent, _ = book(Memory(), SiteRules())
    silent.saw(PAGES[0], "one", Kind.CLICK, "recorded")
    assert (silent.number_of(PAGES[0]), silent.sightings.waiting()) == (None, [])


async def test_the_last_event_of_a_website_is_known_at_once_here_and_soon_elsewhere() -> None:
    first, store = book(Memory())
    other, _ = book(store._memory)
    async with running([first, other]):
        first.saw(PAGES[0], "one", Kind.CLICK, "recorded")
        first.saw("null", "one", Kind.CLICK, "recorded")
        first.saw(None, "one", Kind.CLICK, "recorded")
        click = Sighting("a.example", Kind.CLICK, "recorded", NOON_MS)
        assert (await first.sighting("a.example"), await other.sighting("a.example")) == (click, None)
        await trio.sleep(6)
        assert (await other.sighting("a.example"), first.sightings.waiting()) == (click, [])
        other.saw(PAGES[0], "two", Kind.IMPRESSION, "crawler")
        assert (await other.sighting("a.example")) == click, "an event that is not counted hides none that is"
        await trio.sleep(11 * 60)
        other.saw(PAGES[0], "two", Kind.IMPRESSION, "crawler")
        assert (await other.sighting("a.example")) == Sighting(
            "a.example", Kind.IMPRESSION, "crawler", NOON_MS + 666_000
        )
