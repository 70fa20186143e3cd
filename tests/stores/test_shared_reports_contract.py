"""The contract of links to reports, over Postgres and in memory: who finds them, and what ends them."""

from dataclasses import replace

from actors.bookings.reports import SharedReport
from actors.bookings.state import Decision, LockSet
from actors.keys.state import Decision as KeysDecision
from actors.keys.state import LockSet as KeysWanted
from actors.values import Account
from tests.stores.books import NOW, Books
from tests.stores.conftest import Stores

ANN = Account("owner1@example.com", "ten_1", NOW)


def report(number: int, tenant: int = 1) -> SharedReport:
    place = 20_000, 20_006, None if number % 2 else "cmp_1", "left-1" if number % 2 else None
    return SharedReport(f"shr_{number}", f"ten_{tenant}", bytes([number]) * 32, *place, number == 1, NOW + number)


async def set_suspended(books: Books, since_ms: int | None) -> None:
    suspended = replace(ANN, suspended_ms=since_ms, suspension_reason=None if since_ms is None else "Spam")
    changed = KeysDecision(suspensions={ANN.email: suspended})
    await books.stores.keys.transact(books.next_batch_id(), KeysWanted((), (), ()), lambda _: changed, NOW)


async def test_a_link_leads_to_its_report_until_it_is_ended_or_its_account_suspended(stores: Stores) -> None:
    books, reads = Books(stores), stores.sponsorship
    await books.tenants(1, 2)
    await books.accounts(1)
    mine, foreign = [report(number) for number in (1, 2, 3)], report(4, 2)
    await books.keep(Decision(shared={each.id: each for each in (*mine, foreign)}))
    assert list(await reads.shared_reports("ten_1")) == mine[::-1]
    assert [await reads.shared_report(each.token_hash) for each in mine] == mine
    assert await reads.shared_report(foreign.token_hash) is None, "its account does not exist"
    assert await reads.shared_report(bytes(32)) is None
    seen = await books.see(LockSet(shared_of=("ten_1", "ten_3")))
    assert sorted(seen.shared["ten_1"], key=lambda each: each.id) == mine
    assert not seen.shared.get("ten_3")
    await books.keep(Decision(unshared=["shr_2", "shr_9"]))
    assert list(await reads.shared_reports("ten_1")) == [mine[2], mine[0]]
    assert await reads.shared_report(mine[1].token_hash) is None
    await set_suspended(books, NOW)
    assert [await reads.shared_report(each.token_hash) for each in mine] == [None] * 3
    await set_suspended(books, None)
    assert list(await reads.shared_reports("ten_1")) == [], "it stays ended"
    assert list(await reads.shared_reports("ten_2")) == [foreign]
