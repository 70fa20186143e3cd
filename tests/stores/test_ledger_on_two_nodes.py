"""Nodes that share one Postgres and need the same rows: they wait for each other or are contended, and never deadlock."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import trio

from actors.bookings.messages import Answer, CreateCampaign, RecordPayment, SettleDispute
from actors.bookings.records import OPEN, BookingStatus, BookingView, CampaignStatus, CampaignView, PaymentState
from actors.bookings.state import BookingRules, Decision, LockSet
from actors.bookings.unit_of_work import weeks_of
from actors.values import Code, Contended, Refused
from storage.connection.pool import Connection, Database
from storage.postgres.quota import SQL as QUOTA
from tests.fakes import together
from tests.stores.books import (
    Books,
    a_world,
    audit,
    beginning,
    booking,
    campaign,
    origin,
    reserve,
    slot,
    sponsor,
    week,
)
from tests.stores.conftest import stores_over
from tests.stores.traffic import Traffic

SECONDS = 30
CHECKOUT, PENDING = BookingStatus.CHECKOUT, CampaignStatus.PENDING
AT_THE_END = "select from sponsorship_revision for update"
"""While this is held, a visible batch can do all of its work but not commit."""


def nodes(database: Database, count: int = 2) -> list[Books]:
    """Nodes, as `Books`. They share a pool, but each transaction has its own connection."""
    return [Books(stores_over(database), f"node{place}/bookings") for place in range(count)]


async def while_held(
    database: Database, statement: str, *calls: Callable[[], Awaitable[Any]], then: str = "select", undo: bool = False
) -> list[Any]:
    """Run calls while a holder has run `statement` and not committed. Each starts when those before it wait for a lock.

    When all wait, the holder runs `then` and commits, or rolls back if `undo`. Errors are returned as results.
    """
    held, begin = trio.Event(), [trio.Event() for _ in calls]

    async def hold(connection: Connection) -> None:
        await connection.execute(statement)
        for place, event in enumerate(begin):
            event.set()
            await _until_waiting(connection, place + 1)
        await connection.execute(then)
        held.set()
        if undo:
            raise Contended("undone")

    async def in_turn(place: int, call: Callable[[], Awaitable[Any]]) -> Any:
        await begin[place].wait()
        return await call()

    waiting = [partial(in_turn, place, call) for place, call in enumerate(calls)]
    with trio.fail_after(SECONDS):
        holder, *results = await together(partial(database.transact, hold), *waiting)
    assert held.is_set(), holder
    return results


async def _until_waiting(connection: Connection, count: int) -> None:
    """Wait until this many backends wait for a lock. The test has the server to itself."""
    due = trio.current_time() + SECONDS
    while count > await connection.fetchval("select count(distinct pid) from pg_locks where not granted"):
        assert trio.current_time() < due


def view(answers: Sequence[Answer]) -> BookingView:
    (answer,) = answers
    assert isinstance(answer, BookingView)
    return answer


def refusal(answers: Sequence[Answer]) -> Code:
    (answer,) = answers
    assert isinstance(answer, Refused)
    return answer.code


# Races.


async def test_a_node_that_reserves_a_week_waits_for_the_one_before_it_and_finds_it_taken(database: Database) -> None:
    one, two = nodes(database)
    await a_world(one)
    first, second = await while_held(
        database, AT_THE_END, partial(one.send, reserve(1, 1)), partial(two.send, reserve(2, 2))
    )
    assert view(first).booking.id == "bok_1"
    assert refusal(second) is Code.SLOT_UNAVAILABLE
    assert await one.weeks() == {("left-1", week(1)): "bok_1"}


async def test_a_node_that_reserves_for_the_same_brand_waits_and_counts_the_holds_of_the_one_before_it(
    database: Database,
) -> None:
    one, two = nodes(database)
    await a_world(one)
    # Different campaigns and slots: the nodes share only the sponsor.
    await one.lay_out(campaign(9, 1), booking(1, 1, week_start_ms=week(5)), booking(2, 1, week_start_ms=week(6)))
    messages = reserve(3, 1, "left-1"), reserve(4, 1, "right-1", campaign_id="cmp_9")
    first, second = await while_held(
        database, AT_THE_END, partial(one.send, messages[0]), partial(two.send, messages[1])
    )
    assert view(first).booking.id == "bok_3"
    assert refusal(second) is Code.HOLD_LIMIT


async def test_two_nodes_that_create_campaigns_for_one_account_never_exceed_its_limit(database: Database) -> None:
    """The account has no sponsor yet, so there is no row that both nodes could lock."""
    one, two = nodes(database)
    await one.tenants(1)
    calls = [
        partial(node.send, CreateCampaign(campaign(number, status=PENDING), origin(number)), rules=rules)
        for rules in (BookingRules(pending_campaigns=1), BookingRules(campaigns=2))
        for number, node in enumerate((one, two), 1 + 2 * (rules.campaigns == 2))
    ]
    for first, second in zip(calls[::2], calls[1::2], strict=True):
        kept, refused = await while_held(database, "lock table audit in share row exclusive mode", first, second)
        assert isinstance(kept[0], CampaignView)
        assert refusal(refused) is Code.CAMPAIGN_LIMIT


PAY = partial(RecordPayment, amount_cents=5_000, currency="usd")


async def test_two_nodes_with_one_payment_for_two_bookings_take_it_once(database: Database) -> None:
    one, two = nodes(database)
    await a_world(one)
    await one.lay_out(*(booking(number, number, status=CHECKOUT, week_start_ms=week(number)) for number in (1, 2)))
    calls = [
        partial(node.send, PAY(f"evt_{number}", f"bok_{number}", "pay_1", origin=origin(number)))
        for number, node in ((1, one), (2, two))
    ]
    first, second = await while_held(database, AT_THE_END, *calls)
    assert view(first).booking.payment_id == "pay_1"
    assert refusal(second) is Code.INVALID_STATE


@pytest.mark.parametrize("payment_first", [True, False])
async def test_a_payment_and_its_dispute_at_once_on_two_nodes_leave_a_disputed_booking(
    database: Database, payment_first: bool
) -> None:
    """Neither can be lost although no row joins them: a payment that is unknown has none to lock."""
    one, two = nodes(database)
    await a_world(one)
    await one.administrators("ann@example.com")
    await one.lay_out(booking(1, status=CHECKOUT))
    calls = [
        partial(one.send, PAY("evt_1", "bok_1", "pay_1", origin=origin(1))),
        partial(two.send, SettleDispute("dp_1", "pay_1", PaymentState.DISPUTED, origin(2))),
    ]
    hold = "lock table payment_reports, sponsorship_revision in share row exclusive mode"
    await while_held(database, hold, *(calls if payment_first else calls[::-1]))
    kept = await one.stores.sponsorship.booking(None, "bok_1")
    assert kept is not None
    assert (kept.booking.status, kept.booking.disputed) == (BookingStatus.PAID, True)


async def test_the_database_itself_keeps_payments_apart(database: Database) -> None:
    """A node of the previous version takes a payment without looking for another booking that has it."""
    [books] = nodes(database, 1)
    await a_world(books)
    paid: dict[str, Any] = {"status": BookingStatus.PAID, "payment_id": "pay_1", "paid_ms": 1}
    await books.lay_out(booking(1, **paid))
    with pytest.raises(Contended, match="bookings_payment"):
        await books.lay_out(booking(2, 2, week_start_ms=week(3), **paid))


async def test_a_node_that_takes_a_week_unseen_is_contended_and_run_again_sees_the_other_booking(
    database: Database,
) -> None:
    one, two = nodes(database)
    await a_world(one)

    def taking(number: int) -> Decision:
        row = booking(number, number)
        return Decision(bookings={row.id: row}, weeks_reserved=dict.fromkeys(weeks_of(row), row.id), visible=True)

    batch_id = two.next_batch_id()
    kept, contended = await while_held(
        database, AT_THE_END, partial(one.keep, taking(1)), partial(two.keep, taking(2), batch_id=batch_id)
    )
    assert isinstance(kept, Decision)
    assert isinstance(contended, Contended)
    assert "slot_weeks" in str(contended)
    assert refusal(await two.send(reserve(2, 2), batch_id=batch_id)) is Code.SLOT_UNAVAILABLE
    seen = await two.see(LockSet(slot_ids=("left-1",), from_week_ms=week(1)))
    assert seen.bookings == {"bok_1": booking(1, 1)}


async def test_two_nodes_that_begin_the_same_brand_keep_one_profile(database: Database) -> None:
    one, two = nodes(database)
    await one.tenants(1)
    await one.lay_out(slot("left-1"), slot("left-2"))
    beginnings = beginning(1, 1, "left-1"), beginning(2, 1, "left-2")
    first, second = await while_held(
        database, AT_THE_END, partial(one.send, beginnings[0]), partial(two.send, beginnings[1])
    )
    assert (view(first).booking.id, view(second).booking.id) == ("bok_1", "bok_2")
    kept = await two.stores.sponsorship.sponsor("ten_1")
    assert kept is not None
    assert kept.id == "spo_of_1"


async def test_two_nodes_with_the_same_key_of_a_new_brand_make_one_booking(database: Database) -> None:
    one, two = nodes(database)
    await one.tenants(1)
    await one.lay_out(slot("left-1"))
    same = beginning(1, 1), replace(beginning(2, 1), key=beginning(1, 1).key)
    first, second = await while_held(database, AT_THE_END, partial(one.send, same[0]), partial(two.send, same[1]))
    assert view(first) == view(second)
    assert len(await one.stores.sponsorship.bookings(None, None, 10)) == 1


@pytest.mark.parametrize("other_body", [False, True])
async def test_two_nodes_that_create_a_campaign_under_one_key_at_once_make_one(
    database: Database, other_body: bool
) -> None:
    """The key gives the audit record its id, key and body give the campaign its own."""
    one, two = nodes(database)
    await one.tenants(1)
    calls = [
        partial(node.send, CreateCampaign(campaign(number), origin(1)), batch_id=node.next_batch_id())
        for node, number in ((one, 1), (two, 1 + other_body))
    ]
    results = await while_held(database, "lock table audit in share row exclusive mode", *calls)
    assert results[0] == [CampaignView(campaign(1))]
    if other_body:
        assert refusal(results[1]) is Code.IDEMPOTENCY_CONFLICT
    else:
        assert results[1] == results[0]
    assert len(await one.stores.sponsorship.campaigns(None, None, 10)) == 1


async def test_a_brand_that_another_node_makes_between_two_looks_is_contended(database: Database) -> None:
    """The sponsor does not exist when it is to be locked, but its booking exists when the key is looked up."""
    one, two = nodes(database)
    await one.tenants(1)
    await one.lay_out(slot("left-1"))
    batch_id = two.next_batch_id()
    hold = "lock table booking_keys in access exclusive mode"
    # The second node has not found the sponsor. When it reads the keys, the first node has committed all rows.
    both = "; ".join((*(_inserts()), hold))
    (contended,) = await while_held(database, both, partial(two.send, beginning(2, 1, key="a-key"), batch_id=batch_id))
    assert isinstance(contended, Contended)
    again = view(await two.send(beginning(2, 1, key="a-key", fingerprint=b"f"), batch_id=batch_id))
    assert (again.booking.id, again.sponsor_name) == ("bok_1", "Brand")


def _inserts() -> Sequence[str]:
    return (
        "insert into sponsors values ('ten_1', 'spo_1', 'Brand', 'https://example.com/', 1)",
        "insert into campaigns values ('cmp_1', 'ten_1', 'C', 'h', 'b', 'c', 'https://example.com/', 'L', 'pending', 1)",
        "insert into bookings (id, tenant_id, campaign_id, slot_id, slot_name, week_start_ms, weeks, amount_cents, currency,"
        " status, mode, created_ms, hold_ms, refunded_cents)"
        " values ('bok_1', 'ten_1', 'cmp_1', 'left-1', 'S', 0, 1, 1, 'usd', 'expired', 'test', 1, 1, 0)",
        "insert into booking_keys values ('ten_1', 'bookings', 'a-key', 'f', 'bok_1', 1)",
    )


# Deadlocks. Each test first starts the node that names the held row first and would then need the other node's row.


@pytest.mark.parametrize(
    ("table", "key", "field", "names"),
    [
        ("sponsors", "tenant_id", "tenant_ids", ("ten_1", "ten_2")),
        ("campaigns", "id", "campaign_ids", ("cmp_1", "cmp_2")),
        ("slots", "id", "slot_ids", ("left-1", "right-1")),
    ],
)
async def test_nodes_that_name_rows_in_opposite_order_do_not_deadlock(
    database: Database, table: str, key: str, field: str, names: tuple[str, str]
) -> None:
    one, two = nodes(database)
    await one.tenants(1)
    # All campaigns belong to one sponsor without a profile, whose row would otherwise serialize the nodes.
    await one.lay_out(campaign(1, 1), campaign(2, 1), slot("left-1"), slot("right-1"))
    if table == "sponsors":
        await one.tenants(2)
        await one.lay_out(sponsor(1), sponsor(2))
    forwards: dict[str, Any] = {field: names}
    backwards: dict[str, Any] = {field: names[::-1]}
    results = await while_held(
        database,
        f"select from {table} where {key} = '{names[1]}' for update",
        partial(one.keep, Decision(audits=[audit(1)]), LockSet(**backwards)),
        partial(two.keep, Decision(audits=[audit(2)]), LockSet(**forwards)),
    )
    assert [type(result) for result in results] == [Decision, Decision]


async def test_bookings_are_locked_by_their_ids_whichever_way_a_batch_comes_to_them(database: Database) -> None:
    """By slots, by sponsors or by name: a node that waits for the first row holds none of the others."""
    (one,) = nodes(database, 1)
    await a_world(one)
    # Written in this order, so that the table is not in the order of the ids.
    await one.lay_out(booking(2, 1, week_start_ms=week(1)))
    await one.lay_out(booking(1, 2, week_start_ms=week(2)))
    ways = (
        LockSet(slot_ids=("left-1",), from_week_ms=week(0)),
        LockSet(tenant_ids=("ten_1", "ten_2")),
        LockSet(booking_ids=("bok_2", "bok_1")),
    )
    for rows in ways:
        first, other = [f"select from bookings where id = 'bok_{number}' for update nowait" for number in (1, 2)]
        (kept,) = await while_held(database, first, partial(one.keep, Decision(), rows), then=other)
        assert isinstance(kept, Decision)


@pytest.mark.parametrize("kind", ["slots", "sponsors"])
async def test_nodes_that_make_the_same_rows_in_opposite_order_do_not_deadlock(database: Database, kind: str) -> None:
    def making(*numbers: int) -> Decision:
        if kind == "slots":
            return Decision(slots={f"slot-{number}": slot(f"slot-{number}") for number in numbers})
        return Decision(sponsors={f"ten_{number}": sponsor(number) for number in numbers})

    one, two = nodes(database)
    await one.tenants(1, 2)
    last = {
        "slots": "insert into slots values ('slot-2', 'S', 'left', 1, 1, true, 1, false)",
        "sponsors": "insert into sponsors values ('ten_2', 'spo', 'S', 'https://example.com/', 1)",
    }
    kept, contended = await while_held(
        database, last[kind], partial(one.keep, making(2, 1)), partial(two.keep, making(1, 2)), undo=True
    )
    assert isinstance(kept, Decision)
    assert isinstance(contended, Contended)
    assert f"{kind}_pkey" in str(contended)


async def test_a_batch_of_charges_makes_no_booking_wait(database: Database) -> None:
    """Charges lock tenants, and bookings refer to them. If the foreign key waited, a slow booking would block all
    charges, and two of each could deadlock."""
    one, _ = nodes(database)
    await a_world(one)
    done, answers = asyncio.Event(), []

    async def charge(connection: Connection) -> None:
        await connection.fetch(QUOTA.lock, ["ten_1", "ten_2"])
        locked.set()
        await done.wait()

    locked = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(database.transact, charge)
        await locked.wait()
        try:
            with trio.fail_after(SECONDS):
                answers = await one.send(reserve(1, 1), beginning(2, 2, "right-1"))
        finally:
            done.set()
    assert [type(answer) for answer in answers] == [BookingView, BookingView]


async def test_nodes_under_a_storm_of_the_same_rows_never_deadlock_and_sell_no_week_twice(database: Database) -> None:
    books = nodes(database, 3)
    await a_world(books[0], tenants=3)
    errors: list[str] = []

    async def node(place: int) -> None:
        traffic = Traffic(seed=place, first=100_000 * (place + 1))
        for _ in range(40):
            messages, batch_id = traffic.batch(), books[place].next_batch_id()
            while True:
                try:
                    answers = await books[place].send(
                        *messages, now_ms=traffic.now_ms, batch_id=batch_id, rows=_reversed if place else replace
                    )
                    break
                except Contended as error:
                    errors.append(str(error))
            traffic.learn(answers)

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            for place in range(3):
                nursery.start_soon(node, place)
    assert not [error for error in errors if "deadlock" in error]
    views = await books[0].stores.sponsorship.bookings(None, None, 10_000)
    holding = (*OPEN, BookingStatus.PAID)
    held = {
        place: view.booking.id for view in views if view.booking.status in holding for place in weeks_of(view.booking)
    }
    assert len(views) >= 5, "many bookings are made, whichever node is first"
    assert held.items() <= (await books[0].weeks()).items()
    assert len(held) == sum(view.booking.weeks for view in views if view.booking.status in holding)


def _reversed(rows: LockSet) -> LockSet:
    """The same rows in reverse order."""
    return replace(
        rows,
        tenant_ids=rows.tenant_ids[::-1],
        campaign_ids=rows.campaign_ids[::-1],
        slot_ids=rows.slot_ids[::-1],
        booking_ids=rows.booking_ids[::-1],
    )


# Reading during writes.


async def test_an_overview_is_of_one_moment_whatever_is_committed_while_it_is_read(database: Database) -> None:
    (one,) = nodes(database, 1)
    await one.lay_out(slot("left-1"))
    change = (
        "lock table slots in access exclusive mode",
        "insert into slots values ('left-2', 'S', 'left', 1, 1, true, 1, false)",
        "update sponsorship_revision set revision = revision + 1",
    )
    read = partial(one.stores.sponsorship.overview, week(0))
    (overview,) = await while_held(database, "; ".join(change), read)
    assert (overview.revision, [row.id for row in overview.slots]) == (0, ["left-1"])
    after = await read()
    assert (after.revision, [row.id for row in after.slots]) == (1, ["left-1", "left-2"])
