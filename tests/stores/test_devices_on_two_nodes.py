"""Nodes that share one Postgres and contend for one device, session, account or code."""

from functools import partial
from itertools import count

import pytest

from actors.values import Contended
from storage.connection.pool import Database
from tests.fakes import together
from tests.stores.conftest import stores_over
from tests.stores.logins import ANN, BOB, NOW, Logins, code, deciding, look, poll, start, word
from tests.stores.test_ledger_on_two_nodes import while_held


@pytest.fixture
async def nodes(database: Database) -> tuple[Logins, Logins]:
    """Two nodes. They share a pool, but each transaction has its own connection."""
    await a_node(database).settle(ANN, BOB)
    return a_node(database), a_node(database)


Nodes = tuple[Logins, Logins]
_numbers = count(1)


def a_node(database: Database) -> Logins:
    """Another node. Each sends one batch at a time, like an actor."""
    return Logins(stores_over(database), f"node{next(_numbers)}")


async def test_two_polls_at_once_on_two_nodes_make_one_key(nodes: Nodes, database: Database) -> None:
    one, two = nodes
    await one.send(start(1), deciding(1))
    first, second = await while_held(
        database,
        "select from devices for update",
        partial(one.words, poll(1, 1)),
        partial(two.words, poll(1, 2)),
    )
    assert (first, second) == (["a key"], ["invalid_code"])
    assert await one.keys(1, 2) == ["cs_user_0001"]


async def test_approval_and_denial_at_once_are_one_decision(nodes: Nodes, database: Database) -> None:
    one, two = nodes
    await one.send(start(1))
    first, second = await while_held(
        database,
        "select from devices for update",
        partial(one.words, deciding(1)),
        partial(two.words, deciding(1, approve=False, session=2, email=BOB)),
    )
    assert (first, second) == (["approved"], ["invalid_state"])


async def test_wrong_codes_of_one_session_on_two_nodes_are_all_counted(nodes: Nodes, database: Database) -> None:
    """The first guesses of a session have no row to lock yet."""
    one, two = nodes
    results = await while_held(
        database,
        "select from sessions for update",
        *(partial(node.words, look(code(99))) for node in (one, two, a_node(database), a_node(database))),
    )
    assert results == [["invalid_code"]] * 4
    assert await one.words(look(code(98)), look(code(97))) == ["invalid_code", "rate_limited"]


async def test_an_approval_and_an_issued_key_at_once_do_not_pass_the_cap(nodes: Nodes, database: Database) -> None:
    one, two = nodes
    for number in range(1, 9):
        assert await one.issue(number) == "kept"
    await one.send(start(1))
    approved, issued = await while_held(
        database, "select from accounts for update", partial(one.words, deciding(1)), partial(two.issue, 9)
    )
    assert (approved, issued) == (["approved"], "key_limit")
    assert await two.words(poll(1)) == ["a key"]
    assert await two.issue(9) == "key_limit"


async def test_a_key_that_is_handed_out_meanwhile_is_counted_once(nodes: Nodes, database: Database) -> None:
    """Eight keys and one promise leave room for exactly one more."""
    one, two = nodes
    for number in range(1, 8):
        assert await one.issue(number) == "kept"
    await one.send(start(1), deciding(1))
    key, issued = await while_held(
        database, "select from accounts for update", partial(one.words, poll(1)), partial(two.issue, 8)
    )
    assert (key, issued) == (["a key"], "kept")
    assert await two.issue(9) == "key_limit"


async def test_a_code_that_another_node_takes_meanwhile_is_contended_and_then_given_up(
    nodes: Nodes, database: Database
) -> None:
    one, two = nodes
    insert = (
        "insert into devices (id, code_hash, user_code, agent, address, created_ms, expires_ms, status, interval_seconds) "
        f"values ('dev_0', decode(repeat('00', 32), 'hex'), '{code(1)}', '', '', {NOW}, {NOW + 1}, 'pending', 5)"
    )
    [result] = await while_held(database, insert, partial(one.send, start(2, code(1), code(2))))
    assert isinstance(result, Contended)
    [answer] = await two.send(start(2, code(1), code(2)))
    assert word(answer) == "pending"
    assert await one.words(look(code(2))) == ["pending"]


async def test_crossing_batches_of_two_nodes_do_not_deadlock(nodes: Nodes, database: Database) -> None:
    one, two = nodes
    await one.send(*(start(number) for number in range(8)))
    forth = [deciding(number, session=1 + number % 2, email=(ANN, BOB)[number % 2]) for number in range(8)]
    polls, others = [poll(number) for number in range(8)], [poll(number, 10 + number) for number in range(8)]
    results = await together(
        partial(one.words, *forth, *polls),
        partial(two.words, *reversed(others), *reversed(forth)),
        *(partial(a_node(database).issue, 100 + number, (ANN, BOB)[number % 2]) for number in range(4)),
    )
    assert not [result for result in results if isinstance(result, Exception)], results
    handed_out = await one.keys(*range(18))
    assert len(handed_out) == sum(words.count("a key") for words in results[:2])
