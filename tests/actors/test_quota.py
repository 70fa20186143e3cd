"""The quota accountant over a store in memory: exact under load, refunds, failures, and the limit per minute."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import inf

import pytest
import trio

from actors.clock import DAY_MS
from actors.kernel.actor import ActorLimits
from actors.kernel.mailbox import answer_due
from actors.kernel.supervision import running
from actors.quota.actor import QuotaAccountant
from actors.quota.messages import Answer, Metered, Moved
from actors.quota.state import Caps, Decision
from actors.quota.store import Decide
from actors.shared.limits import Allowance
from actors.values import BatchId, Code, OutcomeUnknown, Overloaded, Refused, StorageUnavailable, Tenant, Tier
from tests.doubles.quota import MemoryQuota
from tests.doubles.tables import Memory
from tests.fakes import Script, Step, TrioClock, after, kinds, now, together

BASE_MS = 20_000 * 86_400_000
CAPS = {
    Tier.ANONYMOUS: Caps(daily=5_000, lifetime=1_000, usecase_reads=200),
    Tier.CLAIMED: Caps(daily=2_000, monthly=100_000),
    Tier.UPGRADED: Caps(daily=100_000, monthly=1_000_000),
}
PER_MINUTE = {Tier.ANONYMOUS: 60, Tier.CLAIMED: 300, Tier.UPGRADED: 1_200}


def accountant(
    memory: Memory, node: str = "one", limits: ActorLimits | None = None, skew_ms: int = 0
) -> QuotaAccountant:
    clock = TrioClock(BASE_MS, skew_ms)
    return QuotaAccountant(MemoryQuota(memory), clock, CAPS, PER_MINUTE, node=node, limits=limits or ActorLimits())


def with_tenants(*tenants: Tenant, before: Script | None = None, after: Script | None = None) -> Memory:
    memory = Memory(tenants={tenant.id: tenant for tenant in tenants})
    memory.before, memory.after = before or memory.before, after or memory.after
    return memory


async def spend(books: list[QuotaAccountant], tenant_id: str, clients: int, charges: int) -> list[Answer]:
    """Charge `charges` times in all, by `clients` tasks spread over the nodes."""
    left = iter(range(charges))

    async def client(book: QuotaAccountant) -> list[Answer]:
        return [await book.charge(tenant_id, usecase=False) for _ in left]

    answers = await together(*[partial(client, books[number % len(books)]) for number in range(clients)])
    return [answer for some in answers for answer in some]


def granted(answers: list[Answer]) -> list[Tenant]:
    return [answer.tenant for answer in answers if isinstance(answer, Metered)]


# Exact under load.


@pytest.mark.parametrize("nodes", [1, 3])
async def test_three_thousand_charges_at_a_key_with_a_thousand_left_give_a_thousand_grants(nodes: int) -> None:
    memory = with_tenants(Tenant("t", Tier.ANONYMOUS), before=Script([0.003] * 10_000))
    books = [accountant(memory, str(node)) for node in range(nodes)]
    async with running(books):
        answers = await spend(books, "t", clients=64, charges=3_000)
    assert len(answers) == 3_000
    assert sorted(tenant.lifetime_used for tenant in granted(answers)) == list(range(1, 1_001))
    assert {answer.code for answer in answers if isinstance(answer, Refused)} == {Code.QUOTA_EXHAUSTED}
    assert memory.tenants["t"].lifetime_used == 1_000


async def test_charges_of_sixty_four_tasks_share_a_few_commits() -> None:
    memory = with_tenants(Tenant("t", Tier.CLAIMED), before=Script([0.01] * 1_000))
    book = accountant(memory)
    async with running([book]):
        await spend([book], "t", clients=64, charges=640)
    assert book.statistics().messages == 640
    assert book.statistics().batches <= 12


async def test_nothing_is_granted_twice_while_answers_of_the_store_get_lost() -> None:
    lost = [OutcomeUnknown("broken") if number % 3 == 0 else None for number in range(3_000)]
    memory = with_tenants(Tenant("t", Tier.ANONYMOUS, lifetime_used=500), after=Script(lost))
    books = [accountant(memory, node) for node in ("one", "other")]
    async with running(books, drain_seconds=600):
        answers = await spend(books, "t", clients=16, charges=800)
    assert sorted(tenant.lifetime_used for tenant in granted(answers)) == list(range(501, 1_001))


# Intents.


async def test_a_refund_gives_the_charge_back() -> None:
    memory = with_tenants(Tenant("t", Tier.ANONYMOUS, lifetime_used=999))
    book = accountant(memory)
    async with running([book]):
        answer = await book.charge("t", usecase=True)
        assert isinstance(answer, Metered)
        assert isinstance(await book.charge("t", usecase=False), Refused)
        await book.refund(answer.tenant, usecase=True)
        assert memory.tenants["t"] == replace(
            answer.tenant, lifetime_used=999, usecase_reads=0, month_used=0, day_used=0
        )
        assert isinstance(await book.charge("t", usecase=False), Metered)


async def test_a_tenant_that_was_merged_or_is_unknown_has_moved() -> None:
    book = accountant(with_tenants(Tenant("t", Tier.ANONYMOUS, merged_into="u")))
    async with running([book]):
        for tenant_id in ("t", "unknown"):
            assert await book.charge(tenant_id, usecase=False) == Moved()
            assert await book.read(tenant_id) is None


async def test_a_refund_follows_its_tenant_into_the_one_it_was_merged_into() -> None:
    memory = with_tenants(Tenant("t", Tier.ANONYMOUS), Tenant("u", Tier.CLAIMED, lifetime_used=3))
    book = accountant(memory)
    async with running([book]):
        answer = await book.charge("t", usecase=False)
        assert isinstance(answer, Metered)
        memory.tenants["t"] = replace(memory.tenants["t"], merged_into="u")
        await book.refund(answer.tenant, usecase=False)
    assert (memory.tenants["t"].lifetime_used, memory.tenants["u"].lifetime_used) == (1, 2)


async def test_refunding_a_tenant_that_is_gone_is_harmless() -> None:
    book = accountant(with_tenants())
    async with running([book]):
        await book.refund(Tenant("t", Tier.ANONYMOUS), usecase=False)


async def test_a_charge_that_is_stored_in_the_moment_in_which_its_caller_is_cut_off_is_given_back() -> None:
    """The commit, the caller's deadline and the actor's come at the same moment, in any order."""

    class Slow(MemoryQuota):
        until = 0.0

        async def meter(self, batch_id: BatchId, tenant_ids: Sequence[str], decide: Decide) -> Decision:
            decision = await super().meter(batch_id, tenant_ids, decide)
            await trio.sleep_until(self.until)
            return decision

    memory = with_tenants(Tenant("t", Tier.CLAIMED))
    store = Slow(memory)
    book = QuotaAccountant(store, TrioClock(BASE_MS), CAPS, PER_MINUTE, node="one", limits=ActorLimits())
    async with running([book]):
        for _ in range(20):
            store.until = trio.current_time() + 3
            answer_due.set(store.until)
            with trio.move_on_at(store.until) as late:
                await book.charge("t", usecase=False)
            answer_due.set(inf)
            await book.read("t")
            assert (late.cancelled_caught, memory.tenants["t"].day_used) == (True, 0)


async def test_a_refund_that_was_sent_is_carried_out_however_long_the_store_takes() -> None:
    memory = with_tenants(Tenant("t", Tier.CLAIMED, lifetime_used=9), before=Script([30.0]))
    book = accountant(memory)
    async with running([book]), trio.open_nursery() as nursery:
        nursery.start_soon(together, now(book.read, "t"))
        await trio.sleep(1)
        with trio.move_on_after(2):
            await book.refund(memory.tenants["t"], usecase=False)
        await trio.sleep(60)
        assert memory.tenants["t"].lifetime_used == 8


async def test_a_refund_that_finds_the_mailbox_full_is_made_up_for_once() -> None:
    lost = OutcomeUnknown("broken")
    memory = with_tenants(Tenant("t", Tier.CLAIMED, lifetime_used=9), before=Script([3.0]), after=Script([None, lost]))
    book = accountant(memory, limits=ActorLimits(mailbox=1, batch=1))
    async with running([book]):
        refund = partial(book.refund, memory.tenants["t"], usecase=False)
        answers = await together(now(book.read, "t"), after(1, book.read, "t"), after(2, refund))
        assert kinds(answers) == [Tenant, Tenant, Overloaded]
        for _ in range(3):
            await book.read("t")
    assert memory.tenants["t"].lifetime_used == 8


async def test_an_owed_refund_is_not_answered_to_the_next_caller() -> None:
    memory = with_tenants(
        Tenant("t", Tier.CLAIMED, lifetime_used=9),
        Tenant("u", Tier.CLAIMED),
        before=Script([StorageUnavailable("away")]),
    )
    book = accountant(memory)
    async with running([book]):
        await together(now(book.refund, memory.tenants["t"], usecase=False))
        answer = await book.charge("u", usecase=False)
    assert answer == Metered(memory.tenants["u"])


AWAY, LOST = StorageUnavailable("away"), OutcomeUnknown("broken")
GIVEN_BACK: dict[str, tuple[list[Step], list[Step], list[type]]] = {
    "away for two batches": ([AWAY, AWAY], [], [StorageUnavailable, StorageUnavailable, Tenant, Tenant]),
    "away, then an answer is lost": ([AWAY], [LOST], [StorageUnavailable, Tenant, Tenant, Tenant]),
    "away, then a commit is lost": ([AWAY, LOST], [], [StorageUnavailable, Tenant, Tenant, Tenant]),
    "an answer is lost, then away": ([None, AWAY], [LOST], [type(None), Tenant, Tenant, Tenant]),
    "away, stored unheard, then away": (
        [AWAY, None, AWAY, AWAY],
        [LOST],
        [StorageUnavailable, StorageUnavailable, Tenant, Tenant],
    ),
}


@pytest.mark.parametrize("mishaps", GIVEN_BACK)
async def test_a_refund_is_given_back_once_whatever_the_store_does(mishaps: str) -> None:
    before, later, answers = GIVEN_BACK[mishaps]
    memory = with_tenants(Tenant("t", Tier.CLAIMED, lifetime_used=9), before=Script(before), after=Script(later))
    book = accountant(memory, limits=ActorLimits(settle_attempts=3))
    async with running([book]):
        heard = await together(now(book.refund, memory.tenants["t"], usecase=False))
        for _ in range(3):
            heard += await together(now(book.read, "t"))
    assert kinds(heard) == answers
    assert memory.tenants["t"].lifetime_used == 8


async def test_a_charge_that_was_stored_after_its_request_was_refused_is_given_back() -> None:
    """The store hangs until the caller gets a 503, which does not count."""
    memory = with_tenants(Tenant("t", Tier.ANONYMOUS), before=Script([30.0]))
    book = accountant(memory)
    async with running([book], drain_seconds=60):
        with pytest.raises(StorageUnavailable):
            await book.charge("t", usecase=True)
        await trio.sleep(30)
        assert isinstance(await book.charge("t", usecase=False), Metered)
        tenant = await book.read("t")
    assert tenant is not None
    assert (tenant.lifetime_used, tenant.usecase_reads, tenant.day_used) == (1, 0, 1)


async def test_without_its_store_nothing_is_let_through() -> None:
    book = accountant(with_tenants(Tenant("t", Tier.CLAIMED), before=Script([StorageUnavailable("away")])))
    async with running([book]):
        assert kinds(await together(now(book.charge, "t", usecase=False))) == [StorageUnavailable]
        assert isinstance(await book.charge("t", usecase=False), Metered)


async def test_the_days_use_is_stored_for_the_usage_page() -> None:
    memory = with_tenants(Tenant("t", Tier.CLAIMED))
    book = accountant(memory)
    async with running([book]):
        await spend([book], "t", 1, 3)
        await trio.sleep(86_400)
        await spend([book], "t", 1, 2)
    assert memory.usage_days == {("t", 20_000): 3, ("t", 20_001): 2}


# The limit per minute.


async def test_what_a_node_whose_clock_is_ahead_counted_tomorrow_is_in_the_days_of_every_node() -> None:
    memory, today = with_tenants(Tenant("t", Tier.CLAIMED)), BASE_MS // DAY_MS
    ahead, behind = accountant(memory, "ahead"), accountant(memory, "behind", skew_ms=-200)
    async with running([ahead, behind]):
        assert await behind.days("t", 2) == [(today - 2, 0), (today - 1, 0)]
        await ahead.charge("t", usecase=False, key_id="k")
        assert await behind.days("t", 2) == await ahead.days("t", 2) == [(today - 1, 0), (today, 1)]
        assert await behind.days_by_key("t", ["k"], 2) == {None: [(today, 1)], "k": [(today, 1)]}


async def test_each_tier_has_its_pace() -> None:
    book = accountant(Memory())
    for tier, limit in PER_MINUTE.items():
        hits = [book.pace(f"key of {tier}", tier) for _ in range(limit + 1)]
        assert [hit.allowed for hit in hits] == [True] * limit + [False]


async def test_the_pace_opens_again_when_its_minute_is_over() -> None:
    book = accountant(Memory())
    for _ in range(60):
        book.pace("key", Tier.ANONYMOUS)
    await trio.sleep(59)
    assert book.pace("key", Tier.ANONYMOUS) == Allowance(False, 60, 0, 1)
    await trio.sleep(1)
    assert book.pace("key", Tier.ANONYMOUS) == Allowance(True, 60, 59, 60)


async def test_pace_needs_no_store() -> None:
    book = accountant(with_tenants(before=Script([StorageUnavailable("away")] * 9)))
    assert book.pace("key", Tier.CLAIMED).allowed
