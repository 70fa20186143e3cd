"""The contract of the key store for keys that were found in public."""

import json
from functools import partial

import pytest

from actors.keys.exposures import EndExposed, ExposedEnded, FoundKey
from actors.keys.messages import Claimed, Issue
from actors.keys.state import Decision, decide, rows_to_lock
from actors.shared.credentials import Kind
from actors.shared.notices import notice
from actors.values import BatchId, Scope
from tests.fakes import together
from tests.stores.conftest import Stores
from tests.stores.test_keys_and_quota_contract import (
    EMAIL,
    NOW,
    RULES,
    Desk,
    audit,
    complete,
    hash_of,
    key,
    mint,
    start,
)


@pytest.fixture
def desk(stores: Stores) -> Desk:
    return Desk(stores)


async def expose(stores: Stores, *numbers: int) -> Decision:
    """Report keys by their texts, as another node does."""
    found = tuple(
        FoundKey(hash_of(number), audit(90 + number), notice(f"let_{90 + number}", "key_exposed", "", NOW))
        for number in numbers
    )
    batch_id, message = BatchId("other/keys", numbers[0]), EndExposed(found)
    return await stores.keys.transact(
        batch_id, rows_to_lock([message]), lambda snapshot: decide(snapshot, [message], NOW, RULES), NOW
    )


async def test_a_key_is_found_by_its_text_and_ends_with_what_it_granted(desk: Desk) -> None:
    scopes = (Scope.KEYS_MANAGE,)
    await desk.keys(Issue(key(1, kind=Kind.USER, expires_ms=None), EMAIL, audit(1)), mint(3))
    await desk.keys(
        Issue(key(2, kind=Kind.SCOPED, scopes=scopes, expires_ms=None, granter_id="key_1"), EMAIL, audit(2))
    )
    decision = await expose(desk.stores, 1, 4)
    assert decision.answers == [ExposedEnded(frozenset({hash_of(1)}), (hash_of(1), hash_of(2)))]
    assert [(each.recipient, json.loads(each.facts)["others"]) for each in decision.outbox] == [(EMAIL, "1")]
    stored = await desk.stores.keys.resolve([hash_of(number) for number in (1, 2, 3)])
    assert {each.key.id for each in stored.values() if each.key.revoked_ms is None} == {"key_3"}


async def test_a_key_that_is_claimed_while_it_is_reported_ends_and_its_new_owner_is_told(desk: Desk) -> None:
    """Whichever comes first: a key that has ended is claimed no more, and one that was claimed has an owner."""
    for number in range(1, 9):
        email = f"owner-{number % 3}@example.com"
        await desk.keys(mint(number), start(number, email))
        claim, report = partial(desk.keys, complete(number, email)), partial(expose, desk.stores, number)
        calls = (claim, report) if number % 2 else (report, claim)
        answers = await together(*calls)
        ((claimed,), decision) = answers if number % 2 else reversed(answers)
        told = [message.recipient for message in decision.outbox]
        assert told == ([email] if isinstance(claimed, Claimed) else [])
        assert decision.answers[0].changed == (hash_of(number),)
