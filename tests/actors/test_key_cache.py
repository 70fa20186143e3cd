"""The key cache over a store in memory: few lookups, a short memory, and no stale entry after a change."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial

import pytest
import trio

from actors.kernel.actor import ActorLimits
from actors.kernel.supervision import running
from actors.keys.cache import KeyCache
from actors.keys.messages import Key, Resolved
from actors.shared.credentials import ENTROPY_BYTES, Kind, digest, new_key, prefix_of
from actors.values import Account, StorageUnavailable, Tenant, Tier
from tests.doubles.keys import MemoryKeys
from tests.doubles.tables import Memory
from tests.fakes import Script, SeededEntropy, Step, after, now, together

NOON = 20_000 * 86_400_000
ENTROPY = SeededEntropy()
TEXTS = [new_key(Kind.USER, ENTROPY.token(ENTROPY_BYTES)) for _ in range(20)]
A, B, C = TEXTS[:3]
CHANGES: dict[str, Callable[[KeyCache], None]] = {
    "key": lambda cache: cache.forget(hashes=[digest(A)]),
    "tenant": lambda cache: cache.forget(tenants=["t0"]),
    "all": lambda cache: cache.forget_all(),
}


class CountingKeys(MemoryKeys):
    """Records the keys of each lookup."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.lookups: list[list[bytes]] = []

    async def resolve(self, hashes: Sequence[bytes]) -> Mapping[bytes, Resolved]:
        self.lookups.append(list(hashes))
        found = await super().resolve(hashes)
        # The result is on its way back, and may be stale when it arrives.
        await self._memory.after()
        return found


class CachedKeys:
    """A cache with its store: key `n` is `TEXTS[n]`, of the tenant `t{n // 2}`."""

    def __init__(
        self, *texts: str, returns: Sequence[Step] = (), fails: Sequence[Step] = (), capacity: int = 100
    ) -> None:
        self.memory = Memory(before=Script(fails), after=Script(returns))
        for number, text in enumerate(texts):
            tenant_id = f"t{number // 2}"
            self.memory.tenants[tenant_id] = Tenant(tenant_id, Tier.CLAIMED)
            key = Key(f"k{number}", digest(text), prefix_of(text), Kind.USER, tenant_id, NOON)
            self.memory.keys[key.id] = key
        self.store = CountingKeys(self.memory)
        self.directory = KeyCache(self.store, node="one", limits=ActorLimits(), life_seconds=10, capacity=capacity)

    def revoke(self, number: int) -> None:
        key = self.memory.keys[f"k{number}"]
        self.memory.keys[key.id] = Key(key.id, key.hash, key.prefix, key.kind, key.tenant_id, NOON, revoked_ms=NOON)

    async def is_live(self, text: str) -> bool:
        found = await self.directory.resolve(text)
        assert found is not None
        return found.key.revoked_ms is None

    @property
    def lookups(self) -> int:
        return len(self.store.lookups)


@pytest.fixture
async def cached() -> AsyncIterator[CachedKeys]:
    """A running cache that knows the key A."""
    one = CachedKeys(A)
    async with running([one.directory]):
        yield one


async def test_a_key_stands_for_its_record_its_tier_and_its_email() -> None:
    cached = CachedKeys(A)
    cached.memory.accounts["ann@example.org"] = Account("ann@example.org", "t0", NOON)
    async with running([cached.directory]):
        assert await cached.directory.resolve(A) == Resolved(cached.memory.keys["k0"], Tier.CLAIMED, "ann@example.org")


async def test_a_wrong_checksum_costs_no_look_up(cached: CachedKeys) -> None:
    for text in (A[:-1] + ("0" if A[-1] != "0" else "1"), "", "cs_user_", A + " ", "Bearer " + A):
        assert await cached.directory.resolve(text) is None
    assert cached.lookups == 0


async def test_an_unknown_key_is_none_and_is_looked_for_each_time(cached: CachedKeys) -> None:
    assert await cached.directory.resolve(B) is None
    assert await cached.directory.resolve(B) is None
    assert cached.lookups == 2
    assert len(cached.directory) == 0


async def test_a_key_that_was_just_made_is_found_although_it_was_unknown_before(cached: CachedKeys) -> None:
    assert await cached.directory.resolve(B) is None
    cached.memory.keys["k9"] = Key("k9", digest(B), prefix_of(B), Kind.USER, "t0", NOON)
    assert await cached.is_live(B)


async def test_revoked_and_expired_keys_are_found_too() -> None:
    cached = CachedKeys(A)
    cached.revoke(0)
    async with running([cached.directory]):
        assert not await cached.is_live(A)


async def test_many_who_ask_at_once_share_one_look_up() -> None:
    cached = CachedKeys(A, B, C, returns=[1.0])
    async with running([cached.directory]):
        await together(
            now(cached.directory.resolve, A), *[after(0.5, cached.directory.resolve, text) for text in [B, C] * 50]
        )
    assert cached.store.lookups == [[digest(A)], sorted([digest(B), digest(C)])]


async def test_each_asker_of_a_shared_look_up_gets_its_own_key() -> None:
    cached = CachedKeys(A, B, returns=[1.0])
    async with running([cached.directory]):
        _, *found = await together(
            now(cached.directory.resolve, A),
            *[after(0.5, cached.directory.resolve, text) for text in (B, TEXTS[9], A, B)],
        )
    assert [each and each.key.id for each in found] == ["k1", None, "k0", "k1"]


# Memory.


@pytest.mark.parametrize(("passed", "lookups"), [(0, 1), (9.999, 1), (10, 2)])
async def test_a_key_is_remembered_for_its_time(passed: float, lookups: int, cached: CachedKeys) -> None:
    await cached.directory.resolve(A)
    await trio.sleep(passed)
    await cached.directory.resolve(A)
    assert cached.lookups == lookups


async def test_asking_does_not_lengthen_the_time(cached: CachedKeys) -> None:
    for _ in range(11):
        await cached.directory.resolve(A)
        await trio.sleep(1)
    assert cached.lookups == 2


async def test_time_counts_from_when_the_rows_were_read() -> None:
    cached = CachedKeys(A, returns=[4.0])
    cached.directory = KeyCache(cached.store, node="one", limits=ActorLimits(), life_seconds=10, capacity=10)
    async with running([cached.directory]):
        await cached.directory.resolve(A)
        await trio.sleep(5.5)
        await cached.directory.resolve(A)
        assert cached.lookups == 1
        await trio.sleep(1)
        await cached.directory.resolve(A)
        assert cached.lookups == 2


async def test_memory_is_bounded_and_the_oldest_reading_is_forgotten_first() -> None:
    cached = CachedKeys(*TEXTS, capacity=3)
    async with running([cached.directory]):
        for text in TEXTS:
            await cached.directory.resolve(text)
            assert len(cached.directory) <= 3
        for text in TEXTS[-3:]:
            await cached.directory.resolve(text)
        assert cached.lookups == 20
        await cached.directory.resolve(TEXTS[-4])
        assert cached.lookups == 21


async def test_keys_that_were_read_too_long_ago_make_room_for_others() -> None:
    cached = CachedKeys(*TEXTS)
    async with running([cached.directory]):
        for text in TEXTS[:10]:
            await cached.directory.resolve(text)
        await trio.sleep(10)
        for text in TEXTS[10:15]:
            await cached.directory.resolve(text)
    assert len(cached.directory) == 5


async def test_a_look_up_of_more_than_fits_is_answered_whole() -> None:
    cached = CachedKeys(*TEXTS, capacity=3, returns=[1.0])
    async with running([cached.directory]):
        found = await together(*[after(0.1, cached.directory.resolve, text) for text in TEXTS])
    assert [each.key.id for each in found] == [f"k{number}" for number in range(20)]
    assert len(cached.directory) == 3


# Changes.


async def test_a_key_that_changed_is_read_again(cached: CachedKeys) -> None:
    assert await cached.is_live(A)
    cached.revoke(0)
    cached.directory.forget(hashes=[digest(A)])
    assert not await cached.is_live(A)


async def test_all_keys_of_a_tenant_that_changed_are_read_again_and_no_others() -> None:
    cached = CachedKeys(A, B, C)
    async with running([cached.directory]):
        for text in (A, B, C):
            await cached.directory.resolve(text)
        cached.directory.forget(tenants=["t0"])
        assert len(cached.directory) == 1
        for text in (A, B, C):
            await cached.directory.resolve(text)
    assert cached.store.lookups[3:] == [[digest(A)], [digest(B)]]


async def test_forgetting_what_is_not_known_is_harmless(cached: CachedKeys) -> None:
    await cached.directory.resolve(A)
    cached.directory.forget(hashes=[digest(B)], tenants=["t7"])
    cached.directory.forget(hashes=[digest(A), digest(A)], tenants=["t0"])
    assert len(cached.directory) == 0


async def test_everything_can_be_forgotten() -> None:
    cached = CachedKeys(A, B)
    async with running([cached.directory]):
        for text in (A, B):
            await cached.directory.resolve(text)
        cached.directory.forget_all()
        assert len(cached.directory) == 0
        assert await cached.is_live(A)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
async def test_a_change_during_a_look_up_leaves_no_stale_entry(change: Callable[[KeyCache], None]) -> None:
    cached = CachedKeys(A, returns=[1.0])

    async def change_it() -> None:
        cached.revoke(0)
        change(cached.directory)

    async with running([cached.directory]):
        await together(now(cached.directory.resolve, A), after(0.5, change_it))
        assert not await cached.is_live(A)
    assert cached.lookups == 2


async def test_a_change_of_one_key_during_a_look_up_keeps_the_others() -> None:
    cached = CachedKeys(A, B, C, returns=[0.2, 1.0])

    async def change_it() -> None:
        cached.directory.forget(hashes=[digest(B)])

    async with running([cached.directory]):
        await together(
            now(cached.directory.resolve, A),
            *[after(0.1, cached.directory.resolve, text) for text in (B, C)],
            after(0.5, change_it),
        )
    assert len(cached.directory) == 2


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
async def test_a_change_during_one_look_up_does_not_spoil_the_next(change: Callable[[KeyCache], None]) -> None:
    cached = CachedKeys(A, B, returns=[1.0])

    async def change_it() -> None:
        change(cached.directory)

    async with running([cached.directory]):
        await together(now(cached.directory.resolve, A), after(0.5, change_it))
        await cached.directory.resolve(A)
        await cached.directory.resolve(A)
    assert cached.lookups == 2


async def test_a_look_up_that_failed_is_told_and_the_next_one_is_served() -> None:
    cached = CachedKeys(A, fails=[StorageUnavailable("away")])
    async with running([cached.directory]):
        with pytest.raises(StorageUnavailable):
            await cached.directory.resolve(A)
        assert await cached.is_live(A)


async def test_known_keys_are_served_while_the_store_is_away() -> None:
    cached = CachedKeys(A, fails=[None, StorageUnavailable("away")])
    async with running([cached.directory]):
        await cached.directory.resolve(A)
        assert await cached.is_live(A)
        with pytest.raises(StorageUnavailable):
            await cached.directory.resolve(B)


# Fresh answers.


async def test_a_fresh_answer_is_looked_up_though_the_key_is_known(cached: CachedKeys) -> None:
    assert await cached.is_live(A)
    cached.revoke(0)
    assert await cached.is_live(A), "remembered"
    fresh = await cached.directory.resolve(A, fresh=True)
    assert fresh is not None
    assert fresh.key.revoked_ms is not None
    assert not await cached.is_live(A), "what was learned is remembered"
    assert cached.lookups == 2


async def test_who_asks_afresh_during_a_look_up_gets_the_next_one() -> None:
    """The running lookup may have read rows that are older than the request."""
    cached = CachedKeys(A, returns=[1.0])

    async def ask_afresh() -> bool:
        cached.revoke(0)
        fresh = await cached.directory.resolve(A, fresh=True)
        assert fresh is not None
        return fresh.key.revoked_ms is None

    async with running([cached.directory]):
        first, afresh = await together(now(cached.directory.resolve, A), after(0.5, ask_afresh))
    assert first.key.revoked_ms is None
    assert not afresh


async def test_many_who_ask_afresh_at_once_share_one_look_up() -> None:
    cached = CachedKeys(A, B, C, returns=[1.0])
    async with running([cached.directory]):
        await together(
            now(cached.directory.resolve, A, fresh=True),
            *[after(0.5, partial(cached.directory.resolve, text, fresh=True)) for text in [B, C] * 50],
        )
    assert cached.lookups == 2


async def test_a_fresh_answer_of_no_key_is_none_without_a_look_up(cached: CachedKeys) -> None:
    assert await cached.directory.resolve("no key", fresh=True) is None
    assert cached.lookups == 0
