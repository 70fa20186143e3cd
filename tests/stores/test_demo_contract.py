"""The contract of the demo store, over Postgres and in memory: a demo is added, replaced and removed; real rows stay."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
import trio

from actors.bookings.demo import DemoCounts, DemoData
from actors.bookings.messages import Origin
from actors.bookings.records import Booking, Campaign, Slot, Sponsor
from actors.bookings.state import Decision
from actors.bookings.store import TOPIC, DemoStore
from actors.keys.state import Decision as KeysDecision
from actors.keys.state import LockSet as KeysWanted
from actors.keys.state import Snapshot as KeysSnapshot
from actors.times import WEEK_MS, week_of
from actors.values import Account, Agent, Contended, Tenant, Tier
from service.seed.demo import demo_data
from service.seed.samples import load_demo, replace_demo
from storage.connection.pool import Connection, Database
from storage.postgres.demo import PostgresDemo
from storage.rows.columns import record_of
from storage.rows.tables import BOOKINGS, CAMPAIGNS, SLOTS, SPONSORS, Table
from tests.doubles.demo import MemoryDemo
from tests.doubles.tables import Memory
from tests.fakes import HandClock, Script, SeededEntropy, together
from tests.stores.books import NOW, Books
from tests.stores.conftest import Stores, beside, stores_over

DATA = demo_data(NOW)
OPERATOR = Agent("cli", "uid 0")


@dataclass(slots=True)
class Picture:
    """The content of all tables, in a form that can be compared."""

    sponsors: dict[str, Sponsor]
    slots: dict[str, Slot]
    campaigns: dict[str, Campaign]
    bookings: dict[str, Booking]
    weeks: dict[tuple[str, int], str]
    events: dict[str, str]
    days: dict[tuple[str, int], tuple[int, int]]
    accounts: dict[str, str]
    tiers: dict[str, str]
    audits: list[tuple[str, str, Any]]
    revision: int


def picture_of_memory(memory: Memory) -> Picture:
    return Picture(
        dict(memory.sponsors),
        dict(memory.slots),
        dict(memory.campaigns),
        dict(memory.bookings),
        dict(memory.slot_weeks),
        {event_id: booking_id for event_id, (booking_id, _) in memory.payment_events.items()},
        dict(memory.delivery_days),
        {email: account.tenant_id for email, account in memory.accounts.items()},
        {tenant.id: tenant.tier for tenant in memory.tenants.values()},
        [(row.action, row.actor_type, json.loads(row.changes)) for row in memory.audits],
        memory.sponsorship_revision,
    )


async def picture_of_postgres(connection: Connection) -> Picture:
    async def rows(table: str, *key: str) -> dict[Any, Any]:
        found = await connection.fetch(f"select * from {table} order by {', '.join(key)}")
        return {row[key[0]] if len(key) == 1 else tuple(row[name] for name in key): row for row in found}

    async def values(table: str, value: str, *key: str) -> dict[Any, Any]:
        return {name: row[value] for name, row in (await rows(table, *key)).items()}

    async def records(table: Table) -> dict[str, Any]:
        return {name: record_of(table.kind, row) for name, row in (await rows(table.name, *table.key)).items()}

    return Picture(
        await records(SPONSORS),
        await records(SLOTS),
        await records(CAMPAIGNS),
        await records(BOOKINGS),
        await values("slot_weeks", "booking_id", "slot_id", "week_ms"),
        await values("payment_events", "booking_id", "id"),
        {key: row[2:] for key, row in (await rows("deliveries", "booking_id", "day")).items()},
        await values("accounts", "tenant_id", "email"),
        await values("tenants", "tier", "id"),
        [
            (row["action"], row["actor_type"], json.loads(row["changes"]))
            for row in (await rows("audit", "created_ms", "id")).values()
        ],
        await connection.fetchval("select revision from sponsorship_revision"),
    )


class Place(Books):
    """The demo store of a place, and the rows beside the demo."""

    @property
    def store(self) -> DemoStore:
        return beside(self.stores, MemoryDemo, PostgresDemo)

    async def account(self, email: str, tenant_id: str) -> None:
        tenants, accounts = {tenant_id: Tenant(tenant_id, Tier.CLAIMED)}, {email: Account(email, tenant_id, NOW)}
        changed = KeysDecision(changed=KeysSnapshot(tenants=tenants, accounts=accounts))
        await self.stores.keys.transact(self.next_batch_id(), KeysWanted((), (), ()), lambda _: changed, NOW)

    async def pay(self, event_id: str, booking_id: str) -> None:
        await self.keep(Decision(events=[(event_id, booking_id)]))

    async def picture(self) -> Picture:
        below = self.stores.below
        return picture_of_memory(below) if isinstance(below, Memory) else await below.transact(picture_of_postgres)


@pytest.fixture
def place(stores: Stores) -> Place:
    return Place(stores)


_audits = iter(range(1, 1_000_000))


def origin() -> Origin:
    return Origin(OPERATOR, "", f"aud_{next(_audits)}")


async def seed(place: Place, data: DemoData = DATA, now_ms: int = NOW, **options: bool) -> DemoCounts | None:
    return await place.store.replace_demo(data, origin(), now_ms, **options)


async def remove(place: Place, now_ms: int = NOW + 1) -> DemoCounts:
    counts = await place.store.replace_demo(None, origin(), now_ms)
    assert counts is not None
    return counts


def ids(rows: Sequence[Any]) -> set[str]:
    return {row.id for row in rows}


# A demo alone.


async def test_a_new_database_is_untouched_and_one_with_a_demo_is_not(place: Place) -> None:
    assert await place.store.is_untouched()
    await seed(place)
    assert not await place.store.is_untouched()


async def test_a_demo_is_kept_as_it_was_made(place: Place) -> None:
    counts = await seed(place)
    picture = await place.picture()
    assert picture.slots == {row.id: row for row in DATA.slots}
    assert picture.sponsors == {row.tenant_id: row for row in DATA.sponsors}
    assert picture.campaigns == {row.id: row for row in DATA.campaigns}
    assert picture.bookings == {row.id: row for row in DATA.bookings}
    assert picture.weeks == DATA.weeks
    assert picture.days == {(row.booking_id, row.day): (row.impressions, row.clicks) for row in DATA.days}
    assert picture.accounts == {account.email: account.tenant_id for account in DATA.accounts}
    assert picture.tiers == {account.tenant_id: "claimed" for account in DATA.accounts}
    assert picture.revision == 1
    assert counts == DemoCounts(
        len(DATA.sponsors), len(DATA.slots), len(DATA.campaigns), len(DATA.bookings), len(DATA.days)
    )


async def test_seeding_again_moves_the_demo_and_leaves_nothing_of_the_one_before(place: Place) -> None:
    later = demo_data(NOW + 3 * WEEK_MS)
    await seed(place)
    before = await place.picture()
    counts = await seed(place, later, NOW + 3 * WEEK_MS)
    picture = await place.picture()
    assert picture.bookings == {row.id: row for row in later.bookings}
    assert picture.weeks == later.weeks
    assert picture.days == {(row.booking_id, row.day): (row.impressions, row.clicks) for row in later.days}
    assert picture.accounts == before.accounts
    assert counts is not None
    assert counts.removed == sum(map(len, (DATA.sponsors, DATA.slots, DATA.campaigns, DATA.bookings)))
    assert picture.revision == 2


async def test_removing_takes_everything_but_the_accounts_and_counts_as_touched(place: Place) -> None:
    await seed(place)
    await place.pay("evt_1", DATA.bookings[0].id)
    await remove(place)
    picture = await place.picture()
    left = (picture.sponsors, picture.slots, picture.campaigns, picture.bookings, picture.weeks, picture.days)
    assert (*left, picture.events) == ({},) * 7
    assert picture.accounts.keys() == {account.email for account in DATA.accounts}
    assert not await place.store.is_untouched()
    assert await seed(place, first=True) is None, "a demo removed on purpose does not come back by itself"
    assert (await place.picture()).bookings == {}


async def test_removing_where_no_demo_is_keeps_later_starts_from_bringing_one(place: Place) -> None:
    assert await remove(place) == DemoCounts()
    assert not await place.store.is_untouched()
    assert await seed(place, first=True) is None
    assert (await seed(place)) is not None, "on request it comes back"


async def test_each_replacement_is_audited(place: Place) -> None:
    await seed(place)
    await remove(place)
    seeded, removed = (await place.picture()).audits
    assert seeded[:2] == ("demo.seeded", "cli")
    assert seeded[2]["bookings"] == len(DATA.bookings)
    assert removed[:2] == ("demo.removed", "cli")
    assert removed[2]["removed"] > len(DATA.bookings)


async def test_accounts_that_exist_own_the_demo(place: Place) -> None:
    email = DATA.accounts[0].email
    await place.account(email, "ten_there")
    await seed(place)
    picture = await place.picture()
    assert picture.accounts[email] == "ten_there"
    assert picture.sponsors["ten_there"].demo
    assert DATA.accounts[0].tenant_id not in picture.tiers
    assert {row.tenant_id for row in picture.bookings.values()} == {"ten_there", DATA.accounts[1].tenant_id}


# Next to real rows.

REAL_SLOT = Slot("real-slot", "Footer", "left", 1_000, NOW)  # type: ignore[arg-type]
REAL_SPONSOR = Sponsor("ten_real", "spo_real", "Somebody Else", "https://example.net", NOW)
REAL_CAMPAIGN = replace(DATA.campaigns[0], id="cmp_real", tenant_id="ten_real", demo=False)
HELD = DATA.bookings[1]
"""A demo booking of one week, now."""
REAL_BOOKING = replace(
    HELD,
    id="bok_real",
    tenant_id="ten_real",
    campaign_id="cmp_real",
    slot_id="real-slot",
    payment_id="pay_real",
    week_start_ms=week_of(NOW),
    demo=False,
)


async def with_real(place: Place, **changes: Any) -> Booking:
    """A sponsor of its own with a paid booking."""
    booking = replace(REAL_BOOKING, **changes)
    await place.account("real@example.com", "ten_real")
    await place.lay_out(REAL_SLOT, REAL_SPONSOR, REAL_CAMPAIGN, booking)
    await place.deliver(booking.id, 20_000, 7, 3)
    await place.pay("evt_real", booking.id)
    return booking


async def test_real_rows_are_touched_neither_by_seeding_nor_by_removing(place: Place) -> None:
    await with_real(place)
    before = await place.picture()
    await seed(place)
    both = await place.picture()
    assert both.bookings.keys() == {"bok_real", *ids(DATA.bookings)}
    await remove(place)
    after = await place.picture()
    for name in ("sponsors", "slots", "campaigns", "bookings", "weeks", "days", "events"):
        assert getattr(after, name) == getattr(before, name), name
        assert getattr(before, name).items() <= getattr(both, name).items(), name


async def test_real_rows_are_enough_to_be_touched(place: Place) -> None:
    await place.lay_out(REAL_SLOT)
    assert not await place.store.is_untouched()
    assert await seed(place, first=True) is None
    assert (await place.picture()).slots == {"real-slot": REAL_SLOT}


async def test_a_slot_with_a_real_booking_is_retired_and_comes_back_with_the_demo(place: Place) -> None:
    await seed(place)
    await with_real(place, slot_id=HELD.slot_id, week_start_ms=week_of(NOW) + 10 * WEEK_MS)
    counts = await remove(place)
    picture = await place.picture()
    assert counts.retired == 1
    assert picture.slots.keys() == {"real-slot", HELD.slot_id}
    retired = picture.slots[HELD.slot_id]
    assert (retired.active, retired.retired_ms) == (False, NOW + 1)
    assert picture.bookings.keys() == {"bok_real"}
    assert set(picture.weeks.values()) == {"bok_real"}
    await remove(place, NOW + 9)
    assert (await place.picture()).slots[HELD.slot_id].retired_ms == NOW + 1, "the time of retirement stays"
    await seed(place)
    assert (await place.picture()).slots[HELD.slot_id] == next(row for row in DATA.slots if row.id == HELD.slot_id)


async def test_a_week_that_a_real_booking_holds_stays_its_own(place: Place) -> None:
    await seed(place)
    await remove(place)
    slot = next(row for row in DATA.slots if row.id == HELD.slot_id)
    await place.lay_out(slot)
    await with_real(place, slot_id=HELD.slot_id)
    counts = await seed(place)
    picture = await place.picture()
    assert picture.weeks[HELD.slot_id, HELD.week_start_ms] == "bok_real"
    assert picture.bookings["bok_real"].status == "paid"
    assert HELD.id not in picture.bookings
    assert HELD.id not in {booking_id for booking_id, _ in picture.days}
    assert {row.id for row in DATA.bookings} - picture.bookings.keys() == {HELD.id}
    assert counts is not None
    assert (counts.left_out, counts.bookings) == (1, len(DATA.bookings) - 1)


async def test_a_demo_sponsors_real_rows_keep_its_profile_and_campaign(place: Place) -> None:
    await seed(place)
    campaign, sponsor = DATA.campaigns[0], DATA.sponsors[0]
    await place.lay_out(
        replace(
            REAL_BOOKING,
            tenant_id=sponsor.tenant_id,
            campaign_id=campaign.id,
            slot_id=HELD.slot_id,
            week_start_ms=week_of(NOW) + 20 * WEEK_MS,
        )
    )
    await remove(place)
    picture = await place.picture()
    assert picture.sponsors == {sponsor.tenant_id: sponsor}
    assert picture.campaigns == {campaign.id: campaign}
    await seed(place)
    assert (await place.picture()).bookings.keys() == {"bok_real", *ids(DATA.bookings)}


async def test_a_real_profile_of_a_demo_account_stays(place: Place) -> None:
    account = DATA.accounts[0]
    await place.account(account.email, account.tenant_id)
    real = replace(REAL_SPONSOR, tenant_id=account.tenant_id)
    await place.lay_out(real)
    await seed(place)
    assert (await place.picture()).sponsors[account.tenant_id] == real
    await remove(place)
    assert (await place.picture()).sponsors == {account.tenant_id: real}


# Concurrently and repeatedly.


async def test_of_nodes_that_start_at_once_one_seeds(place: Place) -> None:
    starts = [
        lambda seed_by=seed_by: load_demo(place.store, HandClock(NOW), SeededEntropy(seed_by)) for seed_by in range(4)
    ]
    assert await together(*starts) == [None] * 4
    picture = await place.picture()
    assert [audit[:2] for audit in picture.audits] == [("demo.seeded", "system")]
    assert picture.revision == 1
    assert picture.bookings.keys() == ids(DATA.bookings)


async def test_commands_at_once_leave_one_whole_demo(place: Place) -> None:
    clock = HandClock(NOW)
    results = await together(
        *(
            lambda number=number: replace_demo(place.store, clock, SeededEntropy(number), OPERATOR)
            for number in range(1, 5)
        )
    )
    assert all(isinstance(result, DemoCounts) for result in results), results
    picture = await place.picture()
    assert picture.bookings == {row.id: row for row in DATA.bookings}
    assert picture.revision == len(picture.audits) == 4
    if isinstance(place.stores.below, Database):
        assert place.stores.below.statistics().contended == 0, "they are serialized, and none has to run again"


async def test_seeding_runs_again_after_a_collision_and_gives_up_after_many(autojump_clock: Any) -> None:
    memory = Memory(before=Script([Contended("met"), Contended("met again")]))
    store = MemoryDemo(memory)
    assert await replace_demo(store, HandClock(NOW), SeededEntropy(), OPERATOR) is not None
    memory.before = Script([Contended("met")] * 100)
    with pytest.raises(Contended):
        await replace_demo(store, HandClock(NOW), SeededEntropy(), OPERATOR)
    assert trio.current_time() > 0


async def test_memory_announces_what_changed_and_a_start_that_changes_nothing_does_not() -> None:
    memory = Memory()
    topics: list[str] = []
    memory.listeners.append(topics.append)
    store = MemoryDemo(memory)
    await store.replace_demo(DATA, origin(), NOW)
    await store.replace_demo(DATA, origin(), NOW, first=True)
    assert topics == [TOPIC]


async def test_postgres_announces_with_its_commit(database: Database) -> None:
    heard: list[str] = []

    async def listen(connection: Connection) -> Connection:
        await connection.add_listener("catalog", lambda *message: heard.append(message[-1]))
        return connection

    listener = await database.read(listen)
    await PostgresDemo(database).replace_demo(DATA, origin(), NOW)
    await PostgresDemo(database).replace_demo(DATA, origin(), NOW, first=True)
    await database.read(lambda connection: connection.fetchval("select 1"))
    assert heard == [TOPIC]
    listener.terminate()


async def test_postgres_waits_for_a_booking_that_is_being_made_in_a_demo_slot(database: Database) -> None:
    """The ledger locks the slot. A week it takes meanwhile is seen and stays."""
    place = Place(stores_over(database))
    await seed(place)
    await place.account("real@example.com", "ten_real")
    await place.lay_out(REAL_SPONSOR, REAL_CAMPAIGN)
    slot_id, week_ms = HELD.slot_id, week_of(NOW) + 10 * WEEK_MS
    booking = replace(REAL_BOOKING, slot_id=slot_id, week_start_ms=week_ms)
    locked = trio.Event()

    async def book() -> None:
        async def work(connection: Connection) -> None:
            await connection.execute("select from slots where id = $1 for update", slot_id)
            locked.set()
            await BOOKINGS.insert(connection, [booking])
            for _ in range(100_000):
                if await connection.fetchval("select exists (select from pg_locks where not granted)"):
                    return
            raise AssertionError("nobody waited")

        await database.transact(work)

    async def take_away() -> DemoCounts:
        await locked.wait()
        return await remove(place)

    booked, counts = await together(book, take_away)
    assert booked is None
    assert isinstance(counts, DemoCounts)
    assert counts.retired == 1
    assert (await place.picture()).bookings.keys() == {"bok_real"}
