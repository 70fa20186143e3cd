"""The contract of a moved clock, over Postgres and in memory: it never goes back, and what is due next is found."""

from typing import Any

from actors.accounts.messages import Deletion
from actors.accounts.state import Decision as AccountsDecision
from actors.accounts.state import LockSet as AccountsWanted
from actors.bookings.records import Booking, BookingStatus, CampaignStatus
from actors.keys.state import Decision, LockSet, Snapshot
from actors.stores import ClockStore
from actors.times import HOUR_MS
from actors.values import BatchId, OutboxMessage
from storage.postgres.clock import PostgresClock
from tests.doubles.clock import MemoryClock
from tests.doubles.tables import Memory
from tests.stores.books import NOW, Books, a_world, booking, campaign, week
from tests.stores.conftest import Stores, beside
from tests.stores.test_keys_and_quota_contract import key
from tests.stores.webhooks import Post, told, webhook

PAID: dict[str, Any] = {"status": BookingStatus.PAID, "paid_ms": NOW}
REFUNDING: dict[str, Any] = {"status": BookingStatus.REFUNDING, "paid_ms": NOW}
BOOKINGS: dict[str, tuple[int, dict[str, Any]]] = {
    "a hold": (1, {"hold_ms": NOW + 1}),
    "the hold of a cancelled booking": (0, {"hold_ms": NOW + 10, "status": BookingStatus.CANCELLED}),
    "a step of a schedule": (2, {**PAID, "next_step_ms": NOW + 2}),
    "a step of the demo": (0, {**PAID, "next_step_ms": NOW + 20, "demo": True}),
    "a step of a booking that is not paid": (0, {**REFUNDING, "next_step_ms": NOW + 21}),
    "a refund": (3, {**REFUNDING, "refund_due_ms": NOW + 3}),
    "a refund of a disputed payment": (0, {**REFUNDING, "refund_due_ms": NOW + 30, "disputed": True}),
}
"""By kind: when it is due after `NOW`, or 0 if nothing is due; and the fields of the booking."""

DIGEST, KEY, MAIL, DELETION, DELIVERY = range(4, 9)
"""When the others are due after `NOW`."""


def store_of(stores: Stores) -> ClockStore:
    return beside(stores, MemoryClock, PostgresClock)


async def test_a_clock_that_never_was_moved_is_at_zero_and_one_that_was_never_goes_back(stores: Stores) -> None:
    store = store_of(stores)
    assert await store.ahead_ms() == 0
    if not isinstance(stores.below, Memory):
        await stores.below.fetch("insert into identity (secret_print) values ('print')")
    for ahead_ms, stored in ((5, 5), (3, 5), (0, 5), (2**45, 2**45)):
        await store.set_ahead(ahead_ms)
        assert await store.ahead_ms() == stored


async def test_what_is_due_is_found_in_all_tables_one_after_the_other(stores: Stores) -> None:
    store = store_of(stores)
    await a_world(Books(stores))
    await Books(stores, "two/bookings").accounts(1)
    assert await store.next_due(-1, NOW + DIGEST) is None
    await _lay_out(stores)
    due = [at for at, _ in BOOKINGS.values() if at] + [DIGEST, KEY, MAIL, DELETION, DELIVERY]
    found, after_ms = [], NOW
    while (next_ms := await store.next_due(after_ms, NOW + DIGEST)) is not None:
        found.append(next_ms - NOW)
        after_ms = next_ms
    assert found == due
    assert await store.next_due(-1, NOW + DIGEST) == NOW + 1, "the same without a bound"


async def _lay_out(stores: Stores) -> None:
    """A row of each kind that may be due, and those that are like them and are not."""
    books = Books(stores, "three/bookings")
    await books.lay_out(
        *(_booking(number, **changes) for number, (_, changes) in enumerate(BOOKINGS.values(), 1)),
        campaign(3, status=CampaignStatus.PENDING, submitted_ms=NOW),
        campaign(4, status=CampaignStatus.PENDING, submitted_ms=NOW, demo=True),
    )
    keys = {
        "key_1": key(1, tenant_id="ten_1", end_notice_ms=NOW + KEY),
        "key_2": key(2, tenant_id="ten_1", end_notice_ms=NOW + 40, revoked_ms=NOW),
        "key_3": key(3, tenant_id="ten_2", end_notice_ms=NOW + 41),
    }
    mail = OutboxMessage("let_1", "ann@example.com", "claim_code", b"nonce", NOW + MAIL, NOW + HOUR_MS)
    decision = Decision(changed=Snapshot(keys=keys), outbox=[mail])
    await stores.keys.transact(BatchId("keys", 1), LockSet((), (), ()), lambda _: decision, NOW)
    deletion = Deletion(
        tenant_id="ten_1", email="owner1@example.com", requested_ms=NOW, confirmed_ms=NOW, due_ms=NOW + DELETION
    )
    ended = AccountsDecision(deletions={deletion.email: deletion})
    await stores.accounts.transact(BatchId("accounts", 1), AccountsWanted((), ()), lambda _: ended)
    post = Post(stores.webhooks, stores.below)
    await post.add(webhook())
    await post.publish(told(1, at_ms=NOW + DELIVERY))


def _booking(number: int, **changes: Any) -> Booking:
    return booking(number, **{"week_start_ms": week(number), "next_step_ms": None, **changes})
