"""The contract of a moved clock, over Postgres and in memory: it never goes back, and what is due next is found."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from actors.accounts.messages import Deletion
from actors.accounts.state import Decision as AccountsDecision
from actors.accounts.state import LockSet as AccountsWanted
from actors.bookings.records import BookingStatus, CampaignStatus
from actors.kernel.clock_mover import ClockStore
from actors.keys.state import Decision, LockSet, Snapshot
from actors.times import HOUR_MS
from actors.values import BatchId, OutboxMessage
from storage.postgres.clock import PostgresClock
from tests.doubles.clock import MemoryClock
from tests.doubles.tables import Memory
from tests.stores.books import NOW, Books, a_world, booking, campaign
from tests.stores.conftest import Stores, beside
from tests.stores.test_keys_and_quota_contract import key
from tests.stores.webhooks import Post, told, webhook

ODD = 77
"""A due time is after `NOW` by these milliseconds."""


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


async def _booked(stores: Stores, **changes: Any) -> None:
    await Books(stores, "two/bookings").lay_out(booking(**{"next_step_ms": None, **changes}))


async def _submitted(stores: Stores, **changes: Any) -> None:
    await Books(stores, "two/bookings").lay_out(campaign(3, status=CampaignStatus.PENDING, submitted_ms=NOW, **changes))


async def _issued(stores: Stores, **changes: Any) -> None:
    made = Snapshot(keys={"key_1": key(1, tenant_id="ten_1", end_notice_ms=NOW + ODD, **changes)})
    await stores.keys.transact(BatchId("keys", 1), LockSet((), (), ()), lambda _: Decision(changed=made), NOW)


async def _mailed(stores: Stores) -> None:
    mail = OutboxMessage("let_1", "ann@example.com", "claim_code", b"nonce", NOW + ODD, NOW + HOUR_MS)
    await stores.keys.transact(BatchId("keys", 1), LockSet((), (), ()), lambda _: Decision(outbox=[mail]), NOW)


async def _deleted(stores: Stores) -> None:
    deletion = Deletion(
        tenant_id="ten_1", email="owner1@example.com", requested_ms=NOW, confirmed_ms=NOW, due_ms=NOW + ODD
    )
    decision = AccountsDecision(deletions={deletion.email: deletion})
    await stores.accounts.transact(BatchId("accounts", 1), AccountsWanted((), ()), lambda _: decision)


async def _published(stores: Stores) -> None:
    post = Post(stores.webhooks, stores.below)
    await post.add(webhook())
    await post.publish(told(1, at_ms=NOW + ODD))


PAID: dict[str, Any] = {"status": BookingStatus.PAID, "paid_ms": NOW}
REFUNDING: dict[str, Any] = {"status": BookingStatus.REFUNDING, "paid_ms": NOW}
STEP: dict[str, Any] = {"next_step_ms": NOW + ODD}
REFUND: dict[str, Any] = {"refund_due_ms": NOW + ODD}
CASES: dict[str, tuple[Callable[[Stores], Awaitable[None]], bool]] = {
    "a hold": (partial(_booked, hold_ms=NOW + ODD), True),
    "the hold of a cancelled booking": (
        partial(_booked, hold_ms=NOW + ODD, status=BookingStatus.CANCELLED, cancelled_ms=NOW),
        False,
    ),
    "a step of a schedule": (partial(_booked, **PAID, **STEP), True),
    "a step of the demo": (partial(_booked, **PAID, **STEP, demo=True), False),
    "a step of a booking that is not paid": (partial(_booked, **REFUNDING, **STEP), False),
    "a refund": (partial(_booked, **REFUNDING, **REFUND), True),
    "a refund of a disputed payment": (partial(_booked, **REFUNDING, **REFUND, disputed=True), False),
    "the digest of reviews": (_submitted, True),
    "a review of the demo": (partial(_submitted, demo=True), False),
    "the notice of a key that ends": (_issued, True),
    "that of a revoked key": (partial(_issued, revoked_ms=NOW), False),
    "a mail": (_mailed, True),
    "the deletion of an account": (_deleted, True),
    "a delivery of a webhook": (_published, True),
}


@pytest.mark.parametrize(("lay_out", "is_due"), CASES.values(), ids=CASES)
async def test_what_is_due_next_is_found(
    stores: Stores, lay_out: Callable[[Stores], Awaitable[None]], is_due: bool
) -> None:
    books, store = Books(stores), store_of(stores)
    await a_world(books)
    await books.accounts(1)
    assert await store.next_due(-1, NOW + ODD) is None
    await lay_out(stores)
    due_ms = NOW + ODD if is_due else None
    assert await store.next_due(NOW, NOW + ODD) == due_ms, "later than now"
    assert await store.next_due(NOW + ODD - 1, NOW + ODD) == due_ms
    assert await store.next_due(NOW + ODD, NOW + ODD) is None, "what is due at that moment is not due after it"
