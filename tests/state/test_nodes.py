"""Counting nodes: which heartbeats are young enough, what remains after an outage, and each node's share of a limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.nodes.messages import LiveNode, NodeInfo
from actors.nodes.state import NodeRules, live_nodes
from actors.shared.limits import share

RULES = NodeRules(beat_seconds=2.0, live_seconds=10.0, keep_seconds=60.0)


def node(node_id: str, started_ms: int = 0) -> NodeInfo:
    return NodeInfo(node_id, f"host of {node_id}", 1, "1.0.0", "http://192.0.2.1:8080", started_ms)


ME = node("me", 5)


def ids(seen: tuple[LiveNode, ...]) -> list[str]:
    return [each.node.id for each in seen]


# Rules.


@pytest.mark.parametrize(("beat", "live", "keep"), [(0.4, 0.8, 0.8), (5.0, 10.0, 60.0)])
def test_a_node_lives_for_two_beats_and_remembers_others_for_as_long(beat: float, live: float, keep: float) -> None:
    assert NodeRules(beat, live, keep).live_seconds == live


@pytest.mark.parametrize(("beat", "live", "keep"), [(0.0, 10.0, 60.0), (5.1, 10.0, 60.0), (2.0, 10.0, 9.9)])
def test_rules_by_which_a_lost_beat_would_lose_a_node_are_a_mistake(beat: float, live: float, keep: float) -> None:
    with pytest.raises(AssertionError):
        NodeRules(beat, live, keep)


# Live nodes.


def test_the_oldest_node_comes_first_and_nodes_of_one_moment_by_their_ids() -> None:
    seen = [LiveNode(node("z", 1), 1.0), LiveNode(ME, 0.0), LiveNode(node("b", 9), 2.0), LiveNode(node("a", 9), 3.0)]
    assert ids(live_nodes(ME, seen, 0.0, RULES)) == ["z", "me", "a", "b"]


def test_a_node_counts_itself_once_whatever_it_hears() -> None:
    assert ids(live_nodes(ME, [], 0.0, RULES)) == ["me"]
    assert ids(live_nodes(ME, [LiveNode(ME, 0.0)], 0.0, RULES)) == ["me"]
    assert ids(live_nodes(ME, [LiveNode(node("other"), 0.0)], 0.0, RULES)) == ["other", "me"]


def test_a_heartbeat_that_was_kept_while_this_one_was_made_is_shown_as_of_now() -> None:
    assert live_nodes(ME, [LiveNode(node("other", 9), -0.2)], 1.0, RULES)[1].age_seconds == 1.0


def test_an_outage_ages_the_known_nodes_and_in_the_end_leaves_the_node_alone() -> None:
    seen = [LiveNode(ME, 0.0), LiveNode(node("other", 9), 3.0)]
    assert live_nodes(ME, seen, 60.0, RULES) == (LiveNode(ME, 60.0), LiveNode(node("other", 9), 63.0))
    assert live_nodes(ME, seen, 60.01, RULES) == (LiveNode(ME, 60.01),)


@pytest.mark.parametrize("wrong", [(0.0, 10.0, 60.0), (6.0, 10.0, 60.0), (2.0, 10.0, 9.0)])
def test_rules_that_would_lose_live_nodes_are_none(wrong: tuple[float, float, float]) -> None:
    with pytest.raises(AssertionError):
        NodeRules(*wrong)


# Shares.


def test_a_share_is_rounded_up_and_never_nothing() -> None:
    assert [share(60, nodes) for nodes in (1, 2, 3, 7, 60, 100)] == [60, 30, 20, 9, 1, 1]
    assert [share(1, nodes) for nodes in (1, 2, 256)] == [1, 1, 1]
    assert share(0, 3) == 0, "a limit of nothing stays one"


@given(limit=st.integers(1, 10**9), nodes=st.integers(1, 256))
def test_shares_add_up_to_the_limit_and_less_than_one_a_node_more(limit: int, nodes: int) -> None:
    assert limit <= nodes * share(limit, nodes) < limit + nodes


@given(limit=st.integers(1, 10**6), nodes=st.integers(1, 255))
def test_a_further_node_never_makes_a_share_larger(limit: int, nodes: int) -> None:
    assert share(limit, nodes + 1) <= share(limit, nodes)
