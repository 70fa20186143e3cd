"""Limits of accounts that never paid count by mailbox, over Postgres and in memory: tags of one address are one mailbox."""

from dataclasses import replace
from functools import partial

import pytest

from actors.bookings.messages import CreateCampaign
from actors.bookings.records import BookingStatus, CampaignStatus
from actors.bookings.state import BookingRules
from actors.keys.state import Decision as KeysDecision
from actors.keys.state import LockSet as KeysWanted
from actors.keys.state import Snapshot as KeysSnapshot
from actors.shared.code_mails import mailbox_of
from actors.shared.credentials import Kind
from actors.values import Account, Code, Refused, Tenant, Tier
from storage.connection.pool import Database
from tests.fakes import together
from tests.stores.books import NOW, Books, a_world, booking, campaign, origin, reserve, slot, week
from tests.stores.conftest import Stores, stores_over
from tests.stores.test_keys_and_quota_contract import hash_of, key

EMAILS = (
    *("one+0@example.com", "one+1@example.com", "one@example.com", "one+a+b@example.com", "o.ne@example.com"),
    *("+one@example.com", "two+0@example.com", "one@other.example.com"),
)
"""Emails of the tenants 1 to 8. The first four are one mailbox."""
ONE = range(1, 5)


async def accounts(books: Books) -> None:
    made = {email: Account(email, f"ten_{number}", NOW) for number, email in enumerate(EMAILS, 1)}
    changed = KeysDecision(changed=KeysSnapshot(accounts=made))
    await books.stores.keys.transact(books.next_batch_id(), KeysWanted(), lambda _: changed, NOW)


@pytest.fixture
async def books(stores: Stores) -> Books:
    books = Books(stores)
    await a_world(books, len(EMAILS))
    await accounts(books)
    return books


def codes(answers: object) -> list[Code | None]:
    assert isinstance(answers, list)
    return [answer.code if isinstance(answer, Refused) else None for answer in answers]


async def test_holds_of_one_mailbox_are_those_of_one_account(books: Books) -> None:
    for start, number in enumerate(range(1, 4), 1):
        assert codes(await books.send(reserve(number, number, start=start))) == [None]
    [refused] = await books.send(reserve(4, 4, start=4))
    assert isinstance(refused, Refused)
    assert refused.code is Code.HOLD_LIMIT
    assert "of this mailbox" in refused.message
    others = [reserve(number, number, start=number) for number in range(5, 9)]
    assert codes(await books.send(*others)) == [None] * 4, "other mailboxes"


async def test_holds_of_new_accounts_count_within_one_batch(books: Books) -> None:
    answers = await books.send(*(reserve(number, number, start=number) for number in ONE))
    assert codes(answers) == [None, None, None, Code.HOLD_LIMIT]


async def test_holds_of_the_day_and_weeks_that_were_held_unpaid_count_together(books: Books) -> None:
    await books.lay_out(booking(1, 1, status=BookingStatus.CANCELLED, cancelled_ms=NOW), weeks=False)
    for rules in (BookingRules(holds_per_day=1, cooldown_ms=0), BookingRules()):
        assert codes(await books.send(reserve(2, 2), rules=rules)) == [Code.HOLD_LIMIT]
    assert codes(await books.send(reserve(7, 7), rules=BookingRules(holds_per_day=1))) == [None]


async def test_an_account_that_has_paid_has_limits_of_its_own(books: Books) -> None:
    await books.lay_out(
        booking(1, 1, week_start_ms=week(9), status=BookingStatus.PAID, paid_ms=NOW),
        *(booking(number, 2, week_start_ms=week(number)) for number in (2, 3, 4)),
    )
    assert codes(await books.send(reserve(5, 1, start=5))) == [None]
    assert codes(await books.send(reserve(6, 3, start=6))) == [Code.HOLD_LIMIT]


async def test_campaigns_that_wait_for_review_count_together(books: Books) -> None:
    rules = BookingRules(pending_campaigns=2)
    made = [
        CreateCampaign(campaign(number + 20, number, status=CampaignStatus.PENDING), origin(number)) for number in ONE
    ]
    assert codes(await books.send(made[0], made[1], made[2], rules=rules)) == [None, None, Code.CAMPAIGN_LIMIT]
    assert codes(await books.send(made[3], rules=rules)) == [Code.CAMPAIGN_LIMIT]
    other = CreateCampaign(campaign(30, 7, status=CampaignStatus.PENDING), origin(7))
    assert codes(await books.send(other, rules=rules)) == [None]


async def test_keys_are_read_with_the_accounts_that_share_their_quota(books: Books) -> None:
    keys, tenants = books.stores.keys, [f"ten_{number}" for number in ONE]
    made = {f"key_{n}": replace(key(n), tenant_id=f"ten_{n}", kind=Kind.USER) for n in range(1, len(EMAILS) + 1)}
    changed = KeysDecision(changed=KeysSnapshot(keys=made))
    await keys.transact(books.next_batch_id(), KeysWanted(), lambda _: changed, NOW)

    async def siblings(number: int) -> tuple[str, ...]:
        return (await keys.resolve([hash_of(number)]))[hash_of(number)].siblings

    for number in ONE:
        assert await siblings(number) == tuple(each for each in tenants if each != f"ten_{number}")
    assert [await siblings(number) for number in range(5, 9)] == [()] * 4
    await books.lay_out(booking(1, 1, status=BookingStatus.PAID, paid_ms=NOW))
    upgraded = {"ten_2": Tenant("ten_2", Tier.UPGRADED)}
    changed = KeysDecision(changed=KeysSnapshot(tenants=upgraded))
    await keys.transact(books.next_batch_id(), KeysWanted(), lambda _: changed, NOW)
    assert [await siblings(number) for number in ONE] == [(), (), ("ten_4",), ("ten_3",)]


async def test_two_nodes_never_exceed_the_holds_of_a_mailbox(database: Database) -> None:
    nodes = [Books(stores_over(database), f"{name}/bookings") for name in ("one", "two")]
    await a_world(nodes[0], len(EMAILS))
    await accounts(nodes[0])
    await nodes[0].lay_out(*(slot(f"slot-{number}") for number in ONE))
    rules = BookingRules(open_holds=1, cooldown_ms=0)
    calls = [
        partial(nodes[number % 2].send, reserve(number, number, f"slot-{number}"), rules=rules) for number in (1, 2)
    ]
    answers = [codes(each) for each in await together(*calls)]
    assert sorted(answers, key=str) == [[Code.HOLD_LIMIT], [None]]


async def test_both_databases_know_the_same_mailboxes(database: Database) -> None:
    found = await database.fetch("select mailbox_of(email) as mailbox from unnest($1::text[]) as email", list(EMAILS))
    assert [row["mailbox"] for row in found] == [mailbox_of(email) for email in EMAILS]
