"""The rate limiter in memory: windows that open with the first request, bounded memory, clocks that go back."""

from collections.abc import Callable

import pytest

from actors.shared.limits import Allowance, SharedTotal, WindowLimiter, single_node

NOW = 1_000_000_000


@pytest.fixture
def limiter() -> WindowLimiter:
    return WindowLimiter(60)


def test_a_window_opens_with_the_first_request(limiter: WindowLimiter) -> None:
    assert limiter.hit("a", 3, NOW) == Allowance(True, 3, 2, 60)
    assert limiter.hit("a", 3, NOW + 10_000) == Allowance(True, 3, 1, 50)


def test_the_last_request_of_a_window_is_let_through_and_the_next_refused(limiter: WindowLimiter) -> None:
    assert [limiter.hit("a", 3, NOW).allowed for _ in range(5)] == [True, True, True, False, False]


def test_a_refusal_says_how_long_to_wait(limiter: WindowLimiter) -> None:
    limiter.hit("a", 1, NOW)
    assert limiter.hit("a", 1, NOW + 1) == Allowance(False, 1, 0, 60)
    assert limiter.hit("a", 1, NOW + 59_999) == Allowance(False, 1, 0, 1)


def test_a_window_lasts_until_its_last_millisecond(limiter: WindowLimiter) -> None:
    limiter.hit("a", 1, NOW)
    assert not limiter.hit("a", 1, NOW + 59_999).allowed
    assert limiter.hit("a", 1, NOW + 60_000).allowed


def test_refused_requests_do_not_lengthen_the_window(limiter: WindowLimiter) -> None:
    limiter.hit("a", 1, NOW)
    for second in range(60):
        limiter.hit("a", 1, NOW + second * 1_000)
    assert limiter.hit("a", 1, NOW + 60_000).allowed


def test_many_at_once_are_let_through_or_refused_together(limiter: WindowLimiter) -> None:
    allowed = [limiter.hit("a", 10, NOW, count).allowed for count in (7, 4, 11, 3, 1)]
    assert allowed == [True, False, False, True, False]


def test_what_is_given_back_can_be_used_again_until_the_window_ends(limiter: WindowLimiter) -> None:
    limiter.hit("a", 3, NOW, 3)
    limiter.subtract("a", NOW + 59_999, 2)
    assert limiter.hit("a", 3, NOW + 59_999) == Allowance(True, 3, 1, 1)
    limiter.subtract("a", NOW + 60_000)
    assert limiter.hit("a", 3, NOW + 60_000, 3).allowed
    assert not limiter.hit("a", 3, NOW + 60_000).allowed


def test_nothing_can_be_saved_up_by_giving_back(limiter: WindowLimiter) -> None:
    limiter.hit("a", 3, NOW)
    limiter.subtract("a", NOW, 2)
    limiter.subtract("b", NOW)
    assert limiter.hit("a", 3, NOW) == limiter.hit("b", 3, NOW) == Allowance(True, 3, 2, 60)
    assert len(limiter) == 2


def test_keys_are_counted_apart(limiter: WindowLimiter) -> None:
    limiter.hit("a", 1, NOW)
    assert limiter.hit("b", 1, NOW).allowed


@pytest.mark.parametrize(("first", "then", "left"), [(10, 1, None), (1, 5, 3)])
def test_a_limit_that_was_changed_holds_at_once(
    limiter: WindowLimiter, first: int, then: int, left: int | None
) -> None:
    limiter.hit("a", first, NOW)
    assert limiter.hit("a", then, NOW) == Allowance(left is not None, then, left or 0, 60)


def test_a_limit_of_nothing_lets_nothing_through_and_remembers_nothing(limiter: WindowLimiter) -> None:
    assert limiter.hit("a", 0, NOW) == Allowance(False, 0, 0, 60)
    assert limiter.count_up_to("a", 0, NOW) == 0
    assert len(limiter) == 0


def test_a_clock_that_goes_back_does_not_lock_anyone_out(limiter: WindowLimiter) -> None:
    limiter.hit("a", 1, NOW)
    assert limiter.hit("a", 1, NOW - 3_600_000) == Allowance(True, 1, 0, 60)


@pytest.mark.parametrize("step_ms", [1, 1_000, 60_000])
def test_a_clock_that_is_set_back_by_at_most_a_window_keeps_the_window(limiter: WindowLimiter, step_ms: int) -> None:
    limiter.hit("a", 1, NOW)
    assert limiter.hit("a", 1, NOW - step_ms).allowed is False


def test_a_clock_that_is_set_back_by_more_than_a_window_opens_a_new_one(limiter: WindowLimiter) -> None:
    limiter.hit("a", 1, NOW)
    assert limiter.hit("a", 1, NOW - 60_001) == Allowance(True, 1, 0, 60)


@pytest.mark.parametrize("step_ms", [0, -1_000])
def test_memory_is_bounded_also_while_the_clock_goes_back(step_ms: int) -> None:
    limiter = WindowLimiter(60, capacity=100)
    for number in range(10_000):
        limiter.hit(str(number), 1, NOW + number * step_ms)
        assert len(limiter) <= 100


def test_the_oldest_window_is_forgotten_first() -> None:
    limiter = WindowLimiter(60, capacity=2)
    for place, key in enumerate("abc"):
        limiter.hit(key, 1, NOW + place)
    assert not limiter.hit("c", 1, NOW + 3).allowed
    assert not limiter.hit("b", 1, NOW + 3).allowed
    assert limiter.hit("a", 1, NOW + 3).allowed


def test_a_reopened_window_is_the_youngest() -> None:
    limiter = WindowLimiter(60, capacity=3)
    earlier = NOW - 3_600_000
    for key, now_ms in (("a", NOW), ("b", NOW), ("a", earlier), ("c", earlier), ("d", earlier)):
        limiter.hit(key, 1, now_ms)
    assert [limiter.hit(key, 1, earlier).allowed for key in "acd"] == [False, False, False]


def test_windows_that_have_ended_are_forgotten_as_others_come(limiter: WindowLimiter) -> None:
    for number in range(50):
        limiter.hit(f"old {number}", 1, NOW)
    for number in range(50):
        limiter.hit(f"new {number}", 1, NOW + 60_000)
    assert len(limiter) == 50


# Limits shared by nodes.


class Nodes:
    """A number of live nodes."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self) -> int:
        return self.count


def hits(limiter: WindowLimiter, limit: int, now_ms: int = NOW, tries: int = 100) -> int:
    return sum(limiter.hit("a", limit, now_ms).allowed for _ in range(tries))


@pytest.mark.parametrize(("nodes", "passed"), [(1, 60), (2, 30), (3, 20), (7, 9), (60, 1), (200, 1)])
def test_a_node_lets_its_share_through_rounded_up(nodes: int, passed: int) -> None:
    assert hits(WindowLimiter(60, nodes=Nodes(nodes)), 60) == passed


def test_the_limit_that_is_told_is_that_of_all_and_what_is_left_is_left_here() -> None:
    limiter = WindowLimiter(60, nodes=Nodes(3))
    assert limiter.hit("a", 60, NOW) == Allowance(True, 60, 19, 60)


def test_a_further_node_brings_nobody_a_fresh_budget() -> None:
    nodes = Nodes(1)
    limiter = WindowLimiter(60, nodes=nodes)
    assert hits(limiter, 60, tries=40) == 40
    nodes.count = 2
    assert limiter.hit("a", 60, NOW + 1_000) == Allowance(False, 60, 0, 59)
    assert hits(limiter, 60, NOW + 60_000) == 30


def test_a_node_that_is_gone_leaves_its_share_to_the_others_within_the_window() -> None:
    nodes = Nodes(2)
    limiter = WindowLimiter(60, nodes=nodes)
    assert hits(limiter, 60) == 30
    nodes.count = 1
    assert hits(limiter, 60) == 30
    nodes.count = 2
    assert hits(limiter, 60) == 0


def test_what_one_node_alone_would_let_through_at_once_passes_with_many_in_a_window_of_its_own() -> None:
    limiter = WindowLimiter(60, nodes=Nodes(3))
    assert limiter.hit("a", 60, NOW, 61) == Allowance(False, 60, 20, 60)
    assert limiter.hit("a", 60, NOW, 60) == Allowance(True, 60, 0, 60)
    assert limiter.hit("a", 60, NOW + 59_999) == Allowance(False, 60, 0, 1)
    assert limiter.hit("a", 60, NOW + 60_000).allowed
    assert not limiter.hit("a", 60, NOW + 60_000, 20).allowed, "beside others no more than the share passes"
    assert limiter.hit("a", 60, NOW + 60_000, 19).allowed


def test_hits_larger_than_a_share_pass_once_a_window_on_each_node_and_no_others_beside_them() -> None:
    """The price of allowing them: after one, single requests beyond the limit are refused."""
    limiters = [WindowLimiter(60, nodes=Nodes(3)) for _ in range(3)]
    for minute in range(3):
        now_ms = NOW + minute * 60_000
        assert [limiter.hit("a", 60, now_ms, 50).allowed for limiter in limiters] == [True] * 3
        assert sum(hits(limiter, 60, now_ms) for limiter in limiters) == 0
    now_ms = NOW + 180_000
    assert sum(hits(limiter, 60, now_ms) for limiter in limiters) == 60
    assert not any(limiter.hit("a", 60, now_ms, 50).allowed for limiter in limiters)


def test_a_share_can_have_a_least_size() -> None:
    limiter = WindowLimiter(60, nodes=Nodes(100))
    assert sum(limiter.hit("a", 60, NOW, least=15).allowed for _ in range(100)) == 15


# Limits of all clients together.


def passing(
    total: SharedTotal, network: str, tries: int, now_ms: int = NOW, *, limit: int = 100, factor: int = 3
) -> int:
    return sum(total.hit(network, limit, factor, now_ms).allowed for _ in range(tries))


def used_up(nodes: Callable[[], int] = single_node, capacity: int = 100_000) -> SharedTotal:
    """A total of 100 that ten networks have used up, each a tenth."""
    total = SharedTotal(3_600, capacity, nodes=nodes)
    for name in "abcdefghij":
        passing(total, name, 20)
    return total


@pytest.mark.parametrize(("limit", "passed"), [(100, 10), (500, 50), (109, 10), (10, 1), (5, 1), (1, 1)])
def test_a_network_uses_at_most_a_tenth_of_a_total_and_at_least_one(limit: int, passed: int) -> None:
    total = SharedTotal(3_600)
    assert passing(total, "a", 60, limit=limit) == passed
    assert passing(total, "a", 60, NOW + 3_599_999, limit=limit) == 0
    assert passing(total, "a", 60, NOW + 3_600_000, limit=limit) == passed


def test_a_network_that_used_its_tenth_is_told_when_it_may_go_on() -> None:
    total = SharedTotal(3_600)
    passing(total, "a", 10)
    assert total.hit("a", 100, 3, NOW + 600_000) == Allowance(False, 10, 0, 3_000)


def test_refusals_do_not_use_up_the_tenth_of_a_network() -> None:
    total = used_up()
    assert passing(total, "k", 20) == 1
    assert passing(total, "k", 20, limit=200) == 19


def test_beyond_a_total_each_network_that_had_nothing_passes_once() -> None:
    total = used_up()
    for network, passed in (("a", 0), ("b", 0), ("x", 1), ("y", 1), ("x", 0)):
        assert passing(total, network, 3) == passed, network


def test_a_total_ends_at_its_factor_however_many_networks_there_are() -> None:
    total = SharedTotal(3_600)
    assert sum(passing(total, str(number), 2) for number in range(1_000)) == 300
    alone = SharedTotal(3_600)
    assert sum(passing(alone, str(number), 2, factor=1) for number in range(1_000)) == 100


def test_a_total_tells_when_its_window_ends_and_starts_anew() -> None:
    total = used_up()
    passing(total, "k", 1)
    assert total.hit("k", 100, 3, NOW + 600_000) == Allowance(False, 100, 0, 3_000)
    assert passing(total, "a", 20, NOW + 3_600_000) == 10


def test_what_is_given_back_to_a_total_can_be_used_by_others() -> None:
    total = used_up()
    assert passing(total, "x", 5) == 1
    total.subtract("a", NOW)
    assert passing(total, "x", 5) == 1
    for _ in range(5):
        assert passing(total, "c", 1) == 0
        assert passing(total, "y", 1) == 1
        total.subtract("y", NOW)


def test_what_a_network_gives_back_it_can_use_again() -> None:
    total = SharedTotal(3_600)
    assert passing(total, "a", 20) == 10
    total.subtract("a", NOW)
    assert passing(total, "a", 20) == 1


def test_a_network_that_gave_its_only_hit_back_had_nothing() -> None:
    total = used_up()
    assert passing(total, "x", 5) == 1
    total.subtract("x", NOW)
    assert passing(total, "y", 1) == 1, "within the total"
    assert passing(total, "x", 5) == 1, "beyond it"


def test_a_network_that_is_refused_beyond_a_total_had_nothing() -> None:
    total = SharedTotal(3_600)
    assert passing(total, "a", 1) == 1
    assert sum(passing(total, str(number), 1, NOW + 1_000, limit=10, factor=1) for number in range(20)) == 9
    assert passing(total, "x", 1, NOW + 2_000, limit=10, factor=1) == 0
    assert sum(passing(total, f"{number}th", 1, NOW + 3_600_000, limit=10) for number in range(10)) == 10
    assert passing(total, "x", 1, NOW + 3_600_000, limit=10) == 1


def test_live_nodes_share_a_total() -> None:
    total = SharedTotal(3_600, nodes=Nodes(2))
    assert passing(total, "a", 20) == 5
    assert sum(passing(total, str(number), 2) for number in range(1_000)) == 145


def test_the_memory_of_a_total_is_bounded() -> None:
    total = SharedTotal(3_600, capacity=100)
    for number in range(10_000):
        total.hit(str(number), 10, 3, NOW)
    assert max(len(total._networks), len(total._portions)) <= 100
