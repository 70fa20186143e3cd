"""The turns of ads: what is said of a share is what page views show."""

from collections import Counter
from collections.abc import Sequence

import pytest

from actors.bookings.records import Side
from actors.bookings.store import SoldPlacement
from service.snapshots.turns import Turns, share
from tests.fakes import SeededEntropy
from tests.snapshots.rows import content, week

VIEWS = 10_000
ADS = [(1, 3), (2, 3), (3, 3), (4, 3), (5, 3), (7, 3), (5, 1), (7, 6), (23, 3)]


def sold(number: int) -> Sequence[SoldPlacement]:
    return [
        SoldPlacement(str(each), f"left-{each}", Side.LEFT, content(str(each)), "Example", week(0), week(1), demo=False)
        for each in range(number)
    ]


@pytest.mark.parametrize(("number", "at_once"), ADS)
def test_each_ad_has_its_share_of_page_views_on_every_side_place_and_node(number: int, at_once: int) -> None:
    ads, entropies, nodes = sold(number), [SeededEntropy(3), SeededEntropy(4)], [Turns(), Turns()]
    shown, places = Counter[str](), Counter[tuple[str, int]]()
    for view in range(VIEWS):
        node = view * 7 % 3 % 2  # a balancer that favours one
        drawn = nodes[node].next(Side.LEFT, ads, at_once, entropies[node])
        nodes[node].next(Side.RIGHT, ads[: view % 3], at_once, entropies[node])
        assert len(drawn) == len({each.booking_id for each in drawn}) == min(number, at_once)
        shown.update(each.booking_id for each in drawn)
        places.update((each.booking_id, place) for place, each in enumerate(drawn))
    said = share(number, at_once)
    assert all(abs(shown[each.booking_id] / VIEWS - said) < 0.02 * said for each in ads)
    assert len(places) == number * min(number, at_once)
    assert max(places.values()) - min(places.values()) <= len(nodes), "each place is as often each ad's"


@pytest.mark.parametrize("every", [2, 3, 6])
def test_whoever_sees_only_every_so_many_view_sees_the_same_shares(every: int) -> None:
    turns, entropy, ads = Turns(), SeededEntropy(5), sold(6)
    views = [turns.next(Side.LEFT, ads, 3, entropy) for _ in range(VIEWS * every)][::every]
    shown = Counter(each.booking_id for view in views for each in view)
    assert all(abs(shown[each.booking_id] / VIEWS - share(6, 3)) < 0.02 for each in ads)


def test_ads_that_come_and_go_in_the_middle_of_a_round_leave_the_others_their_share() -> None:
    turns, entropy, ads = Turns(), SeededEntropy(6), sold(7)
    shown = Counter[str]()
    for view in range(VIEWS):
        live = ads if view // 4 % 2 else ads[:6]
        shown.update(each.booking_id for each in turns.next(Side.LEFT, live, 3, entropy))
    expected = (share(6, 3) + share(7, 3)) / 2
    assert all(abs(shown[each.booking_id] / VIEWS - expected) < 0.02 for each in ads[:6])


@pytest.mark.parametrize(("ads", "said"), [(0, 1), (1, 1), (3, 1), (4, 0.75), (5, 0.6), (9, 1 / 3)])
def test_three_ads_at_a_time_or_fewer_are_on_every_page_view(ads: int, said: float) -> None:
    assert share(ads, 3) == pytest.approx(said)
