"""One contract for the key and quota stores, over Postgres and in memory."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import trio

from actors.clock import day_of, month_of
from actors.keys.messages import (
    Answer,
    BootstrapAdmins,
    ByAccount,
    ByKey,
    Claimed,
    CompleteClaim,
    GrantAdmin,
    Issue,
    Key,
    KeySaved,
    Membership,
    Message,
    Mint,
    Revoke,
    RevokeAdmin,
    SetTier,
    StartClaim,
)
from actors.keys.state import KeyRules, decide, rows_to_lock
from actors.quota.messages import Answer as QuotaAnswer
from actors.quota.messages import Charge, Metered, Moved, Read, Refund
from actors.quota.messages import Message as QuotaMessage
from actors.quota.state import Caps
from actors.quota.state import Decision as QuotaDecision
from actors.quota.state import decide as decide_quota
from actors.shared.code_mails import Draft
from actors.shared.credentials import Kind
from actors.values import AuditRecord, BatchId, Code, Contended, Done, OutboxMessage, Refused, Scope, Tenant, Tier
from tests.fakes import together
from tests.stores.conftest import Stores
from tests.stores.logins import Logins

NOW = 1_790_000_000_000
RULES = KeyRules()
CAPS = {
    Tier.ANONYMOUS: Caps(daily=500, lifetime=5, usecase_reads=3),
    Tier.CLAIMED: Caps(daily=500, monthly=1_000),
    Tier.UPGRADED: Caps(daily=5_000, monthly=10_000),
}
EMAIL = "owner@example.com"


def hash_of(number: int) -> bytes:
    return number.to_bytes(32)


def key(number: int, **changes: Any) -> Key:
    made = Key(
        id=f"key_{number}",
        hash=hash_of(number),
        prefix=f"cs_anon_{number:04d}",
        kind=Kind.ANONYMOUS,
        tenant_id=f"ten_{number}",
        created_ms=NOW,
        expires_ms=NOW + 1_000_000,
    )
    return replace(made, **changes)


def audit(number: int) -> AuditRecord:
    return AuditRecord(f"aud_{number}", NOW, "cli", "uid 0", "key.issued", "key", f"key_{number}")


def mint(number: int) -> Mint:
    return Mint(key(number), hash_of(1_000 + number))


def counts(number: int) -> tuple[bytes, bytes, bytes]:
    """The rows that count the letters for one token, as if each came from a block of its own."""
    return hash_of(10_000 + number), hash_of(15_000 + number), hash_of(20_000 + number)


def start(number: int, email: str = EMAIL) -> StartClaim:
    letter = OutboxMessage(f"let_{number}", email, "claim_code", b"n" * 16, NOW, NOW + 600_000)
    return StartClaim(hash_of(1_000 + number), email, Draft(letter, b"proof", b"long", *counts(number)))


def complete(number: int, email: str = EMAIL) -> CompleteClaim:
    return CompleteClaim(hash_of(1_000 + number), email, b"proof", counts(number)[0], f"aud_{number}", "req")


class Desk:
    """Sends messages through a store like an actor, with one batch id per call."""

    def __init__(self, stores: Stores, owner: str = "node/keys") -> None:
        self.stores = stores
        self.owner = owner
        self.batches = 0

    def next_batch_id(self) -> BatchId:
        self.batches += 1
        return BatchId(self.owner, self.batches)

    async def keys(self, *messages: Message, batch_id: BatchId | None = None, now_ms: int = NOW) -> list[Answer]:
        decision = await self.stores.keys.transact(
            batch_id or self.next_batch_id(),
            rows_to_lock(messages),
            lambda snapshot: decide(snapshot, messages, now_ms, RULES),
            now_ms,
        )
        return decision.answers

    async def quota(
        self, *messages: QuotaMessage, batch_id: BatchId | None = None, now_ms: int = NOW
    ) -> list[QuotaAnswer]:
        tenant_ids = sorted({message.tenant_id for message in messages})
        decision = await self.stores.quota.meter(
            batch_id or BatchId("node/quota", self.next_batch_id().seq),
            tenant_ids,
            lambda tenants: decide_quota(tenants, messages, now_ms, CAPS),
        )
        return decision.answers

    async def tenant(self, number: int) -> Tenant:
        (answer,) = await self.quota(Read(f"ten_{number}"))
        assert isinstance(answer, Metered)
        return answer.tenant


@pytest.fixture
def desk(stores: Stores) -> Desk:
    return Desk(stores)


async def test_a_minted_key_is_resolved_with_its_tenants_tier(desk: Desk) -> None:
    assert await desk.keys(mint(1), mint(2)) == [KeySaved(key(1)), KeySaved(key(2))]
    found = await desk.stores.keys.resolve([hash_of(1), hash_of(2), hash_of(3)])
    assert set(found) == {hash_of(1), hash_of(2)}
    resolved = found[hash_of(1)]
    assert (resolved.key, resolved.tier, resolved.email) == (key(1), Tier.ANONYMOUS, None)


async def test_a_claim_moves_the_key_removes_its_expiry_and_gives_it_the_email(desk: Desk) -> None:
    await desk.keys(mint(1))
    assert await desk.keys(start(1)) == [Done()]
    (claimed,) = await desk.keys(complete(1))
    assert isinstance(claimed, Claimed)
    resolved = (await desk.stores.keys.resolve([hash_of(1)]))[hash_of(1)]
    assert resolved.key == replace(key(1), expires_ms=None)
    assert (resolved.tier, resolved.email) == (Tier.CLAIMED, EMAIL)


async def test_letters_of_claims_are_counted_over_batches(desk: Desk) -> None:
    for number in range(25):
        await desk.keys(mint(number))
    several = [start(number) for number in range(25)]
    shared = [
        replace(each, draft=replace(each.draft, network_id=hash_of(1), block_id=hash_of(4), mailbox_id=hash_of(2)))
        for each in several
    ]
    sent = [answer for each in shared for answer in await desk.keys(each)]
    assert [isinstance(answer, Done) for answer in sent] == [True] * 20 + [False] * 5
    elsewhere = replace(shared[20].draft, network_id=hash_of(3), block_id=hash_of(5))
    assert await desk.keys(replace(shared[20], draft=elsewhere)) == [Done()]


async def test_a_second_claim_by_the_same_email_adds_its_counts_to_the_account(desk: Desk) -> None:
    await desk.keys(mint(1), mint(2))
    await desk.quota(Charge("ten_1", usecase=True), Charge("ten_2", usecase=False), Charge("ten_2", usecase=True))
    await desk.keys(start(1), start(2))
    await desk.keys(complete(1), complete(2))
    assert await desk.quota(Charge("ten_2", usecase=False)) == [Moved("ten_1")]
    tenant = await desk.tenant(1)
    assert (tenant.lifetime_used, tenant.usecase_reads, tenant.month_used, tenant.day_used) == (3, 2, 3, 3)
    assert (tenant.month, tenant.day) == (month_of(NOW), day_of(NOW))


async def test_a_batch_that_runs_again_is_written_once_and_returns_its_first_decision(desk: Desk) -> None:
    await desk.keys(mint(1))
    batch_id = BatchId("other/quota", 1)
    first = await desk.quota(Charge("ten_1", usecase=False), batch_id=batch_id)
    again = await desk.quota(Charge("ten_1", usecase=False), batch_id=batch_id)
    assert again == first
    assert (await desk.tenant(1)).lifetime_used == 1


async def test_a_batch_behind_a_later_one_of_its_owner_writes_nothing(desk: Desk) -> None:
    await desk.keys(mint(1))
    late = BatchId("other/quota", 1)
    late.decided = QuotaDecision()
    await desk.quota(Charge("ten_1", usecase=False), batch_id=BatchId("other/quota", 2))
    assert await desk.quota(Charge("ten_1", usecase=False), batch_id=late) == []
    assert (await desk.tenant(1)).lifetime_used == 1


async def test_an_unknown_tenant_is_answered_as_moved(desk: Desk) -> None:
    assert await desk.quota(Charge("ten_9", usecase=False)) == [Moved(None)]


async def test_a_revoked_key_stays_revoked_and_is_still_resolved(desk: Desk) -> None:
    await desk.keys(mint(1))
    (kept,) = await desk.keys(Revoke("key_1", audit(1)))
    assert isinstance(kept, KeySaved)
    resolved = (await desk.stores.keys.resolve([hash_of(1)]))[hash_of(1)]
    assert resolved.key.revoked_ms == NOW


async def test_keys_are_found_by_their_prefix(desk: Desk) -> None:
    await desk.keys(mint(1), mint(2))
    assert [found.key.id for found in await desk.stores.keys.resolve_prefix("cs_anon_0002")] == ["key_2"]
    assert await desk.stores.keys.resolve_prefix("cs_anon_0003") == []


async def test_a_tier_is_set_and_charged_by(desk: Desk) -> None:
    await desk.keys(mint(1))
    await desk.keys(start(1))
    await desk.keys(complete(1))
    order = AuditRecord("aud_9", NOW, "cli", "uid 0", "tier.upgraded", "tenant", "")
    await desk.keys(SetTier(EMAIL, Tier.UPGRADED, order))
    assert (await desk.tenant(1)).tier is Tier.UPGRADED


async def test_two_nodes_that_make_one_account_at_once_make_one(stores: Stores) -> None:
    """The loser is `Contended` with the winner's account, or waits for it. Run again, it merges."""
    one, other = Desk(stores, "one/keys"), Desk(stores, "other/keys")
    await one.keys(mint(1), mint(2))
    await one.keys(start(1), start(2))

    async def claim(desk: Desk, number: int) -> None:
        batch_id = desk.next_batch_id()
        for _ in range(5):
            try:
                await desk.keys(complete(number), batch_id=batch_id)
                return
            except Contended:
                pass
        raise AssertionError("always contended")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(claim, one, 1)
        nursery.start_soon(claim, other, 2)
    found = await stores.keys.resolve([hash_of(1), hash_of(2)])
    assert len({resolved.key.tenant_id for resolved in found.values()}) == 1
    assert {resolved.email for resolved in found.values()} == {EMAIL}


async def test_guesses_at_one_claim_on_several_nodes_are_all_counted(stores: Stores) -> None:
    nodes = [Desk(stores, f"n{number}/keys") for number in range(4)]
    await nodes[0].keys(mint(1), start(1))
    wrong = replace(complete(1), proof=b"wrong")
    await together(*(partial(settled, node, wrong) for node in nodes))
    answers = await nodes[0].keys(wrong, complete(1))
    assert [getattr(answer, "code", None) for answer in answers] == [Code.INVALID_CODE] * 2


async def test_many_tenants_in_one_batch_are_all_counted(desk: Desk) -> None:
    await desk.keys(*map(mint, range(1, 101)))
    charges = [Charge(f"ten_{number}", usecase=False) for number in range(100, 0, -1) for _ in range(2)]
    answers = await desk.quota(*charges)
    assert all(isinstance(answer, Metered) for answer in answers)
    assert [(await desk.tenant(number)).lifetime_used for number in (1, 50, 100)] == [2, 2, 2]


# Scoped keys and administrators.


def scoped(number: int, **changes: Any) -> Key:
    made = key(number, kind=Kind.SCOPED, scopes=(Scope.LIBRARY_READ,), expires_ms=None)
    return replace(made, **changes)


async def test_the_live_keys_of_a_tenant_are_listed_the_newest_first(desk: Desk) -> None:
    full = key(1, kind=Kind.USER, expires_ms=None)
    made = [scoped(2, created_ms=NOW + 5), scoped(3, name="two words"), scoped(4, created_ms=NOW + 9), scoped(5)]
    await desk.keys(Issue(full, EMAIL, audit(1)), *[Issue(each, EMAIL, audit(int(each.id[4:]))) for each in made])
    await desk.keys(Issue(scoped(6), "other@example.com", audit(6)))
    await desk.keys(Revoke("key_4", audit(9)))
    found = await desk.stores.keys.live_keys("ten_1", NOW)
    assert found[:3] == [replace(made[place], tenant_id="ten_1") for place in (0, 3, 1)]
    assert found[3:] == [full]
    assert await desk.stores.keys.live_keys("ten_9", NOW) == []


async def test_keys_of_one_moment_are_listed_by_their_ids_as_bytes(desk: Desk) -> None:
    ids = ["key_a", "key_B", "key_1", "key_b", "key_A"]
    await desk.keys(*[Issue(scoped(n, id=key_id), EMAIL, audit(n)) for n, key_id in enumerate(ids)])
    found = await desk.stores.keys.live_keys("ten_0", NOW)
    assert [each.id for each in found] == ["key_b", "key_a", "key_B", "key_A", "key_1"]


async def test_a_session_grants_keys_until_it_ends(desk: Desk) -> None:
    await Logins(desk.stores).settle(EMAIL)
    granted, ended, foreign = (
        Issue(scoped(number), EMAIL, audit(number), ByAccount(session))
        for number, session in ((1, "ses_1"), (2, "ses_1"), (3, "ses_9"))
    )
    (kept,) = await desk.keys(granted)
    assert isinstance(kept, KeySaved)
    await Logins(desk.stores).end(1)
    answers = await desk.keys(ended, foreign)
    assert [getattr(answer, "code", None) for answer in answers] == [Code.UNAUTHORIZED] * 2


async def test_an_account_with_a_passkey_takes_no_key_by_email(desk: Desk) -> None:
    await Logins(desk.stores).settle(EMAIL)
    await desk.keys(mint(1))
    await desk.keys(start(1))
    await Logins(desk.stores).passkey(1, EMAIL)
    (refused,) = await desk.keys(complete(1))
    assert isinstance(refused, Refused)
    assert refused.code is Code.FORBIDDEN
    found = await desk.stores.keys.resolve([hash_of(1)])
    assert (found[hash_of(1)].key.kind, found[hash_of(1)].email) == (Kind.ANONYMOUS, None)


async def test_a_person_grants_what_his_account_holds_at_the_commit(desk: Desk) -> None:
    await desk.keys(Issue(key(1, kind=Kind.USER, expires_ms=None), EMAIL, audit(1)))
    await Logins(desk.stores).session(1, EMAIL)
    full = Issue(key(2, kind=Kind.USER, expires_ms=None), EMAIL, audit(2), ByAccount("ses_1"))
    admin = scoped(3, scopes=(Scope.ADMIN_READ, Scope.LIBRARY_READ))
    grants = [
        full,
        Issue(admin, EMAIL, audit(3), ByAccount("ses_1")),
        Issue(scoped(4), EMAIL, audit(4), ByAccount("ses_1")),
    ]
    refused = [getattr(answer, "code", None) for answer in await desk.keys(*grants)]
    assert refused == [None, Code.INSUFFICIENT_SCOPE, None]
    await desk.keys(GrantAdmin(EMAIL, membership_audit(5, EMAIL)))
    (kept,) = await desk.keys(Issue(admin, EMAIL, audit(6), ByAccount("ses_1")))
    assert isinstance(kept, KeySaved)
    assert {each.id for each in await desk.stores.keys.live_keys("ten_1", NOW)} == {f"key_{n}" for n in (1, 2, 3, 4)}


# Uses.


async def test_the_latest_use_of_a_key_is_kept_whoever_writes_it_last(desk: Desk) -> None:
    keys = desk.stores.keys
    assert await keys.uses_of(["key_1"]) == {}
    await keys.save_uses({"key_2": NOW, "key_1": NOW + 5})
    await keys.save_uses({"key_1": NOW + 3, "key_2": NOW + 7, "key_3": NOW})
    await keys.save_uses({})
    assert await keys.uses_of(["key_1", "key_2", "key_9"]) == {"key_1": NOW + 5, "key_2": NOW + 7}


async def test_nodes_that_write_the_same_keys_do_not_get_into_each_others_way(stores: Stores) -> None:
    names = [f"key_{number}" for number in range(300)]

    async def write(node: int) -> None:
        for step in range(5):
            order = names if node % 2 else names[::-1]
            await stores.keys.save_uses(dict.fromkeys(order, NOW + 10 * step + node))

    async with trio.open_nursery() as nursery:
        for node in range(4):
            nursery.start_soon(write, node)
    assert await stores.keys.uses_of(names) == dict.fromkeys(names, NOW + 43)


# Days.


async def test_the_days_of_a_tenant_are_counted_and_those_of_others_and_beyond_are_not(desk: Desk) -> None:
    await desk.keys(mint(1), mint(2))
    today = day_of(NOW)
    await desk.quota(Charge("ten_1", False), Charge("ten_1", False), Charge("ten_2", False))
    assert await desk.stores.quota.days("ten_1", today - 6, today) == {today: 2}
    assert await desk.stores.quota.days("ten_1", today - 6, today - 1) == {}
    assert await desk.stores.quota.days("ten_9", today - 6, today) == {}


async def test_the_days_of_keys_add_up_to_the_day_of_their_tenant_also_after_refunds(desk: Desk) -> None:
    await desk.keys(mint(1), mint(2))
    today = day_of(NOW)
    charged, *_ = await desk.quota(*[Charge("ten_1", False, "key_1")] * 3, Charge("ten_2", False, "key_2"))
    assert isinstance(charged, Metered)
    back = Refund("ten_1", False, charged.tenant.month, today, "key_1")
    await desk.quota(back, Charge("ten_1", False, "key_a"), replace(back, day=today - 1))
    quota = desk.stores.quota
    assert await quota.days_by_key("ten_1", ["key_1", "key_a", "key_2", "key_b"], today - 6, today) == {
        (None, today): 3,
        ("key_1", today): 2,
        ("key_a", today): 1,
    }
    assert await quota.days_by_key("ten_1", ["key_a"], today, today) == {(None, today): 3, ("key_a", today): 1}
    assert await quota.days_by_key("ten_1", ["key_a"], today - 6, today - 1) == {}
    assert await quota.days_by_key("ten_9", ["key_1"], today, today) == {}


async def test_a_refund_of_a_charge_that_was_not_counted_by_key_is_no_use_of_it(desk: Desk) -> None:
    """A node of the last release charged it."""
    await desk.keys(mint(1))
    today = day_of(NOW)
    (charged,) = await desk.quota(Charge("ten_1", False))
    assert isinstance(charged, Metered)
    await desk.quota(Refund("ten_1", False, charged.tenant.month, today, "key_1"))
    assert await desk.stores.quota.days_by_key("ten_1", ["key_1"], today, today) == {}


async def test_the_days_of_a_claimed_key_move_to_its_account(desk: Desk) -> None:
    today = day_of(NOW)
    await desk.keys(mint(1), mint(2))
    await desk.keys(start(1), complete(1))
    await desk.quota(Charge("ten_1", False, "key_1"), Charge("ten_2", False, "key_2"), Charge("ten_2", False, "key_2"))
    await desk.keys(start(2), complete(2))
    assert await desk.stores.quota.days_by_key("ten_1", ["key_1", "key_2"], today, today) == {
        (None, today): 3,
        ("key_1", today): 1,
        ("key_2", today): 2,
    }
    assert await desk.stores.quota.days_by_key("ten_2", ["key_2"], today, today) == {}


def membership_audit(number: int, email: str) -> AuditRecord:
    return AuditRecord(f"aud_{number}", NOW, "cli", "uid 0", "admin.granted", "account", email)


async def is_admin(stores: Stores, number: int) -> bool:
    by_hash = (await stores.keys.resolve([hash_of(number)]))[hash_of(number)]
    (by_prefix,) = await stores.keys.resolve_prefix(key(number).prefix)
    assert by_hash == by_prefix
    return by_hash.admin


async def test_an_administrator_comes_and_goes_also_before_there_is_an_account(desk: Desk) -> None:
    stores = desk.stores
    assert await stores.keys.count_administrators() == 0
    assert await desk.keys(GrantAdmin(EMAIL, membership_audit(1, EMAIL))) == [Membership((EMAIL,), 1)]
    await desk.keys(
        Issue(key(1, kind=Kind.USER), EMAIL, audit(2)), Issue(key(2, kind=Kind.USER), "b@b.example", audit(3))
    )
    await desk.keys(mint(3))
    assert [await is_admin(stores, number) for number in (1, 2, 3)] == [True, False, False]
    assert await desk.keys(GrantAdmin(EMAIL, membership_audit(4, EMAIL))) == [Membership((), 1)]
    assert await desk.keys(RevokeAdmin(EMAIL, membership_audit(5, EMAIL))) == [Membership((EMAIL,), 0)]
    assert not await is_admin(stores, 1)
    assert await desk.keys(RevokeAdmin(EMAIL, membership_audit(6, EMAIL))) == [Membership((), 0)]


async def settled(desk: Desk, *messages: Message) -> list[Answer]:
    """Retry contended batches, like an actor."""
    batch_id = desk.next_batch_id()
    for _ in range(10):
        try:
            return await desk.keys(*messages, batch_id=batch_id)
        except Contended:
            pass
    raise AssertionError("always contended")


async def test_nodes_that_start_at_once_agree_on_the_first_administrators(stores: Stores) -> None:
    """They name different emails. Without the table lock, each would find the table empty."""
    answers: list[Answer] = []

    async def bootstrap(number: int) -> None:
        email = f"{number}@example.com"
        order = BootstrapAdmins((email,), (membership_audit(number, email),))
        answers.extend(await settled(Desk(stores, f"n{number}/keys"), order))

    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(bootstrap, number)
    assert sorted(len(answer.changed) for answer in answers if isinstance(answer, Membership)) == [0, 0, 0, 0, 1]
    assert await stores.keys.count_administrators() == 1


async def test_nodes_that_remove_the_last_two_at_once_do_not_both_leave_one(stores: Stores) -> None:
    """Each answer says how many are left, so one of the two must report that it removed the last."""
    emails = ["a@a.example", "b@b.example"]
    await Desk(stores).keys(*[GrantAdmin(email, membership_audit(n, email)) for n, email in enumerate(emails)])
    answers: list[Answer] = []

    async def remove(number: int) -> None:
        order = RevokeAdmin(emails[number], membership_audit(10 + number, emails[number]))
        answers.extend(await settled(Desk(stores, f"n{number}/keys"), order))

    async with trio.open_nursery() as nursery:
        for number in range(2):
            nursery.start_soon(remove, number)
    assert sorted(answer.administrators for answer in answers if isinstance(answer, Membership)) == [0, 1]
    assert await stores.keys.count_administrators() == 0


async def test_nodes_that_create_the_same_key_at_once_create_one(stores: Stores) -> None:
    """Keys of one idempotency key have one id and different texts."""
    await Desk(stores).keys(Issue(key(1), EMAIL, audit(1)))
    await Logins(stores).session(1, EMAIL)
    answers = []

    async def issue(number: int) -> None:
        same = replace(scoped(number), id="key_same")
        answers.extend(
            await settled(Desk(stores, f"n{number}/keys"), Issue(same, EMAIL, audit(number), ByAccount("ses_1")))
        )

    async with trio.open_nursery() as nursery:
        for number in range(30, 34):
            nursery.start_soon(issue, number)
    [created] = [answer for answer in answers if isinstance(answer, KeySaved)]
    assert {answer.code for answer in answers if isinstance(answer, Refused)} == {Code.IDEMPOTENCY_CONFLICT}
    assert [each.hash for each in await stores.keys.live_keys("ten_1", NOW) if each.id == "key_same"] == [
        created.key.hash
    ]
    assert list(await stores.keys.resolve([hash_of(number) for number in range(30, 34)])) == [created.key.hash]


async def test_an_account_at_its_limit_is_not_taken_over_it_by_two_nodes(stores: Stores) -> None:
    await Desk(stores).keys(*[Issue(scoped(n), EMAIL, audit(n)) for n in range(1, 25)])
    answers = []

    async def issue(number: int) -> None:
        answers.extend(
            await settled(Desk(stores, f"n{number}/keys"), Issue(scoped(number), EMAIL, audit(number), ByKey("key_1")))
        )

    async with trio.open_nursery() as nursery:
        for number in range(30, 34):
            nursery.start_soon(issue, number)
    assert sorted(isinstance(answer, KeySaved) for answer in answers) == [False, False, False, True]
    assert len(await stores.keys.live_keys("ten_1", NOW)) == 25
