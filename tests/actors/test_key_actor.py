"""The key actor over a store in memory: from minting to claiming, and what it never stores in clear."""

from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from actors.clock import DAY_MS, HOUR_MS
from actors.kernel.actor import ActorLimits
from actors.kernel.mailbox import request_id
from actors.kernel.supervision import running
from actors.keys.actor import Issued, KeyActor, Minted
from actors.keys.messages import ByKey, Claimed, Membership
from actors.keys.state import KeyRules
from actors.shared.code_mails import Origin
from actors.shared.credentials import CLAIM_TOKEN, Kind, code_from, digest, is_key
from actors.values import Agent, Code, Done, Refused, Scope, Tier
from tests.doubles.keys import MemoryKeys
from tests.doubles.tables import Memory
from tests.fakes import Script, SeededEntropy, TrioClock, after, now, together

NOON = 20_000 * DAY_MS + DAY_MS // 2
SECRET = b"server secret"
ANN, BOB = "ann@example.org", "bob@example.org"
ORIGIN = Origin("203.0.113.7", "203.0.113.0/24")
CLI = Agent("cli", "root")


def key_actor(memory: Memory, node: int = 1) -> KeyActor:
    return KeyActor(
        MemoryKeys(memory),
        TrioClock(NOON),
        SeededEntropy(node),
        SECRET,
        KeyRules(),
        node=f"node {node}",
        limits=ActorLimits(),
    )


def last_code(memory: Memory) -> str:
    """The code of the last mail, as its reader would see it."""
    return code_from(SECRET, list(memory.messages.values())[-1].nonce)


def other(code: str) -> str:
    return f"{(int(code) + 1) % 1_000_000:06d}"


async def claimed(keys: KeyActor, memory: Memory, email: str = ANN) -> Minted:
    minted = await keys.mint()
    assert await keys.start_claim(minted.claim_token, email, ORIGIN) == Done()
    assert isinstance(await keys.complete_claim(minted.claim_token, email, last_code(memory), ORIGIN), Claimed)
    return minted


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.fixture
async def keys(memory: Memory) -> AsyncIterator[KeyActor]:
    actor = key_actor(memory)
    async with running([actor]):
        yield actor


async def test_a_minted_key_is_anonymous_and_lives_for_three_days(keys: KeyActor, memory: Memory) -> None:
    minted = await keys.mint()
    assert is_key(minted.api_key)
    assert CLAIM_TOKEN.matches(minted.claim_token)
    assert minted.key == memory.keys[minted.key.id]
    assert (minted.key.kind, minted.key.expires_ms) == (Kind.ANONYMOUS, NOON + 72 * HOUR_MS)
    assert memory.tenants[minted.key.tenant_id].tier is Tier.ANONYMOUS


async def test_neither_key_nor_token_nor_code_is_stored_or_shown(keys: KeyActor, memory: Memory) -> None:
    minted = await claimed(keys, memory)
    issued = await keys.issue(ANN, CLI)
    assert not isinstance(issued, Refused)
    visible = repr(memory) + repr(minted) + repr(issued)
    for secret in (minted.api_key, minted.claim_token, issued.api_key, last_code(memory)):
        assert secret not in visible
        assert secret.rpartition("_")[2] not in visible
    assert memory.keys[minted.key.id].hash == digest(minted.api_key)


async def test_a_claim_by_email_makes_an_account(keys: KeyActor, memory: Memory) -> None:
    minted = await claimed(keys, memory)
    assert memory.keys[minted.key.id] == replace(minted.key, expires_ms=None)
    assert memory.accounts[ANN].tenant_id == minted.key.tenant_id
    assert memory.tenants[minted.key.tenant_id].tier is Tier.CLAIMED


async def test_the_mail_goes_to_the_email_and_carries_no_code(keys: KeyActor, memory: Memory) -> None:
    await keys.start_claim((await keys.mint()).claim_token, ANN, ORIGIN)
    [message] = memory.messages.values()
    assert (message.recipient, message.template) == (ANN, "claim_code")
    assert message.expires_ms - message.created_ms == 600_000


async def test_the_code_of_one_token_does_not_open_another(keys: KeyActor, memory: Memory) -> None:
    one, another = await keys.mint(), await keys.mint()
    await keys.start_claim(one.claim_token, ANN, ORIGIN)
    code = last_code(memory)
    await keys.start_claim(another.claim_token, ANN, ORIGIN)
    answer = await keys.complete_claim(another.claim_token, ANN, code, ORIGIN)
    assert isinstance(answer, Refused)
    assert answer.code is Code.INVALID_CODE


async def test_a_hundred_guesses_at_once_spend_five_attempts_and_the_right_code_comes_too_late() -> None:
    memory = Memory(before=Script([0.01] * 100))
    nodes = [key_actor(memory, 1), key_actor(memory, 2)]
    async with running(nodes):
        minted = await nodes[0].mint()
        await nodes[0].start_claim(minted.claim_token, ANN, ORIGIN)
        code = last_code(memory)
        wrong = other(code)
        answers = await together(
            *[now(nodes[place % 2].complete_claim, minted.claim_token, ANN, wrong, ORIGIN) for place in range(100)],
            after(1, nodes[0].complete_claim, minted.claim_token, ANN, code, ORIGIN),
        )
    assert {answer.code for answer in answers} == {Code.INVALID_CODE}
    assert memory.claims[digest(minted.claim_token)].attempts == 5


async def test_two_nodes_that_complete_one_claim_at_once_answer_alike_and_audit_once() -> None:
    memory = Memory(before=Script([0.01] * 100))
    nodes = [key_actor(memory, 1), key_actor(memory, 2)]
    async with running(nodes):
        minted = await nodes[0].mint()
        await nodes[0].start_claim(minted.claim_token, ANN, ORIGIN)
        one, another = await together(
            *[now(node.complete_claim, minted.claim_token, ANN, last_code(memory), ORIGIN) for node in nodes]
        )
    assert isinstance(one, Claimed)
    assert one == another
    assert [record.action for record in memory.audits] == ["key.claimed"]


async def test_a_claim_is_announced_to_every_node() -> None:
    memory = Memory()
    heard: list[str] = []
    memory.listeners.append(heard.append)
    keys = key_actor(memory)
    async with running([keys]):
        minted = await claimed(keys, memory)
    assert heard == [f"key:{minted.key.hash.hex()}", f"tenant:{minted.key.tenant_id}"]


@pytest.mark.parametrize(
    ("scopes", "kind"), [(None, Kind.USER), ((Scope.LIBRARY_READ,), Kind.SCOPED), ((), Kind.SCOPED)]
)
async def test_a_key_is_issued_full_or_scoped(scopes: tuple[Scope, ...] | None, kind: Kind, keys: KeyActor) -> None:
    issued = await keys.issue(ANN, CLI, scopes=scopes, name="laptop")
    assert not isinstance(issued, Refused)
    assert is_key(issued.api_key)
    assert (issued.key.kind, issued.key.scopes, issued.key.name, issued.key.expires_ms) == (
        kind,
        scopes,
        "laptop",
        None,
    )
    assert issued.key.hash == digest(issued.api_key)


async def test_who_acted_is_in_the_audit() -> None:
    memory = Memory()
    keys = key_actor(memory)
    request_id.set("req-7")
    async with running([keys]):
        issued = await keys.issue(ANN, Agent("key", "key_1", BOB))
        assert not isinstance(issued, Refused)
        await keys.revoke(issued.key.id, CLI)
        await keys.set_tier(ANN, Tier.UPGRADED, CLI)
    seen = [(each.action, each.actor_type, each.actor_id, each.actor_email) for each in memory.audits]
    assert seen == [
        ("key.issued", "key", "key_1", BOB),
        ("key.revoked", "cli", "root", None),
        ("tier.upgraded", "cli", "root", None),
    ]
    assert [each.target_id for each in memory.audits] == [issued.key.id, issued.key.id, issued.key.tenant_id]
    assert {each.request_id for each in memory.audits} == {"req-7"}
    assert len({each.id for each in memory.audits}) == 3


async def test_who_appointed_and_removed_an_administrator_is_in_the_audit() -> None:
    memory = Memory()
    heard: list[str] = []
    keys = key_actor(memory)
    async with running([keys]):
        issued = await keys.issue(ANN, CLI)
        assert isinstance(issued, Issued)
        memory.listeners.append(heard.append)
        assert await keys.grant_admin(ANN, Agent("key", "key_1", BOB)) == Membership((ANN,), 1)
        assert await keys.revoke_admin(ANN, CLI) == Membership((ANN,), 0)
        assert await keys.revoke_admin(ANN, CLI) == Membership((), 0)
    seen = [(each.action, each.actor_id, each.target_type, each.target_id) for each in memory.audits[1:]]
    assert seen == [("admin.granted", "key_1", "account", ANN), ("admin.revoked", "root", "account", ANN)]
    assert heard == [f"tenant:{issued.key.tenant_id}"] * 2


async def test_a_scoped_keys_name_and_scopes_are_in_the_audit(keys: KeyActor, memory: Memory) -> None:
    await keys.issue(ANN, CLI)
    await keys.issue(ANN, CLI, scopes=(Scope.LIBRARY_READ,), name="laptop")
    assert [record.changes for record in memory.audits] == ["{}", '{"scopes": ["library:read"], "name": "laptop"}']


async def test_a_key_and_its_revocation_on_another_node_leave_no_key_granted_afterwards() -> None:
    memory = Memory(before=Script([0.01] * 100))
    nodes = [key_actor(memory, 1), key_actor(memory, 2)]
    async with running(nodes):
        manager = await nodes[0].issue(ANN, CLI, scopes=(Scope.KEYS_MANAGE,))
        assert isinstance(manager, Issued)
        by: dict[str, Any] = {"scopes": (Scope.KEYS_MANAGE,), "granted_by": ByKey(manager.key.id)}
        before, _, late = await together(
            now(nodes[0].issue, ANN, CLI, **by),
            after(0.5, nodes[1].revoke, manager.key.id, CLI),
            after(1.0, partial(nodes[0].issue, ANN, CLI, **by)),
        )
    assert isinstance(before, Issued)
    assert isinstance(late, Refused)
    assert late.code is Code.INVALID_API_KEY
    assert len(memory.keys) == 2
