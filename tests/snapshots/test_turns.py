"""Turns to search: rotation by network, then by caller, the part of turns and places for a network, and bounds."""

import random
from collections import Counter
from contextlib import suppress

import pytest

from actors.values import Overloaded
from service.snapshots.turns import CallerBusy, Searcher, Ticket, Turns


def ticket(name: str) -> Ticket:
    """A request by a caller whose network is the first letter of its name."""
    return Ticket(Searcher(name, name[0]))


def ask(turns: Turns, *names: str) -> list[Ticket]:
    """The requests of these callers, running or waiting."""
    tickets = [ticket(name) for name in names]
    for each in tickets:
        turns.ask(each)
    return tickets


def order(turns: Turns, running: list[Ticket]) -> list[str]:
    """The callers whose turns begin as the running ones end one by one, oldest first."""
    begun, running = [], list(running)
    while running:
        following = turns.end(running.pop(0))
        running += following
        begun += [each.of.caller for each in following]
    return begun


def test_turns_rotate_over_networks_and_then_over_the_callers_of_a_network() -> None:
    turns = Turns(1, 100, 10)
    [first, *_] = ask(turns, "z", "a1", "a1", "a2", "a3", "b1", "b1")
    assert order(turns, [first]) == ["a1", "b1", "a2", "b1", "a3", "a1"]


def test_a_caller_waits_for_at_most_one_search_of_another_network_however_many_addresses_that_has() -> None:
    turns = Turns(1, 200, 2)
    [first, *_] = ask(turns, *(f"a{number}" for number in range(50)), "b")
    assert order(turns, [first])[0] == "b"


def test_a_network_whose_turn_ended_waits_for_one_that_came_later() -> None:
    turns = Turns(1, 100, 10)
    [first, *_] = ask(turns, "a1", "a2", "b")
    assert order(turns, [first]) == ["b", "a2"]


@pytest.mark.parametrize(("most", "part"), [(1, 1), (2, 1), (3, 1), (4, 1), (7, 1), (8, 2)])
def test_a_network_has_at_most_a_quarter_of_the_turns_even_where_others_are_free(most: int, part: int) -> None:
    turns = Turns(most, 100, 10)
    ask(turns, *(f"a{number}" for number in range(10)))
    assert turns.running == part
    assert turns.ask(ticket("b")) is (part < most)


def test_a_network_has_at_most_half_of_the_waiting_places() -> None:
    turns = Turns(2, 8, 2)
    ask(turns, "a0", "a1", "a2", "a3", "a4")
    with pytest.raises(CallerBusy):
        turns.ask(ticket("a5"))
    ask(turns, "b0", "c1", "c2", "d1", "d2")
    assert turns.waiting == 8
    with pytest.raises(Overloaded):
        turns.ask(ticket("e"))


def test_an_account_has_one_turn_and_its_waiting_places_in_all_networks_together() -> None:
    turns = Turns(8, 100, 2)
    tickets = [Ticket(Searcher("account", network)) for network in "abcd"]
    assert [turns.ask(each) for each in tickets[:3]] == [True, False, False]
    with pytest.raises(CallerBusy):
        turns.ask(tickets[3])
    assert turns.end(tickets[0]) == [tickets[1]]


def test_the_searches_of_accounts_count_for_the_network_that_they_come_from() -> None:
    turns = Turns(8, 100, 2)
    accounts = [Ticket(Searcher(f"account {number}", "a")) for number in range(16)]
    assert [turns.ask(each) for each in accounts] == [True] * 2 + [False] * 14
    assert turns.ask(ticket("b"))


def test_a_turn_that_ends_may_make_room_for_its_network_and_for_its_caller() -> None:
    turns = Turns(8, 100, 2)
    [first, _, neighbour] = ask(turns, "a1", "a2", "a3")
    elsewhere = Ticket(Searcher("a1", "b"))
    assert not turns.ask(elsewhere)
    assert turns.end(first) == [elsewhere, neighbour]


def test_a_request_that_leaves_makes_room_to_wait() -> None:
    turns = Turns(1, 2, 2)
    [_, waiting] = ask(turns, "a1", "a2")
    with pytest.raises(CallerBusy):
        turns.ask(ticket("a3"))
    assert turns.end(waiting) == []
    assert not turns.ask(ticket("a3"))


@pytest.mark.parametrize("seed", range(50))
def test_under_any_load_the_bounds_hold_no_turn_is_idle_and_all_end(seed: int) -> None:
    random_ = random.Random(seed)
    most, waiters, each = random_.randint(1, 6), random_.randint(1, 12), random_.randint(1, 4)
    turns = Turns(most, waiters, each)
    running: list[Ticket] = []
    waiting: list[Ticket] = []

    def may_run(request: Ticket) -> bool:
        networks = [other.of.network for other in running]
        return (
            len(running) < most
            and request.of.caller not in {other.of.caller for other in running}
            and networks.count(request.of.network) < max(1, most // 4)
        )

    for step in range(400):
        if step < 300 and random_.random() < 0.6:
            request = Ticket(Searcher(random_.choice("uvwxyz"), random_.choice("abc")))
            with suppress(CallerBusy, Overloaded):
                (running if turns.ask(request) else waiting).append(request)
        elif running or waiting:
            leaving = random_.choice(running + waiting)
            begun = turns.end(leaving)
            (running if leaving in running else waiting).remove(leaving)
            waiting = [other for other in waiting if other not in begun]
            running += begun
        assert (turns.running, turns.waiting) == (len(running), len(waiting))
        assert len(running) <= most
        assert len({other.of.caller for other in running}) == len(running)
        assert all(count <= max(1, most // 4) for count in Counter(other.of.network for other in running).values())
        assert len(waiting) <= waiters
        assert all(count <= max(1, waiters // 2) for count in Counter(other.of.network for other in waiting).values())
        assert all(count <= each for count in Counter(other.of.caller for other in waiting).values())
        assert not any(may_run(other) for other in waiting)
    while running:
        begun = turns.end(running.pop())
        waiting = [other for other in waiting if other not in begun]
        running += begun
    assert (turns.waiting, waiting) == (0, [])
    assert turns._waiting == {}
