"""The last events of websites: which one is shown, and that one network of clients cannot push out others."""

import pytest

from actors.clock import HOUR_MS
from actors.events.messages import Kind
from actors.events.sightings import STAYS_MS, Sighting, Sightings, newer


def sighting(host: str = "a.example", seen_ms: int = 0, outcome: str = "recorded") -> Sighting:
    return Sighting(host, Kind.IMPRESSION, outcome, seen_ms)


@pytest.mark.parametrize(
    ("first", "last", "gap_ms", "shown"),
    [
        ("recorded", "duplicate", 1, "duplicate"),
        ("crawler", "recorded", 1, "recorded"),
        ("crawler", "inactive", 1, "inactive"),
        ("recorded", "crawler", STAYS_MS - 1, "recorded"),
        ("recorded", "crawler", STAYS_MS, "crawler"),
    ],
)
def test_the_last_is_shown_unless_it_hides_one_that_works(first: str, last: str, gap_ms: int, shown: str) -> None:
    before, after = sighting(outcome=first), sighting(seen_ms=gap_ms, outcome=last)
    assert newer(before, after).outcome == newer(after, before).outcome == shown
    assert newer(None, after) == after


def test_a_network_adds_few_websites_an_hour_and_still_reports_those_that_are_known() -> None:
    sightings = Sightings(most=100, new_hosts=3, networks=2)
    for number in range(10):
        sightings.add(sighting(f"{number}.example"), "one")
    assert [each.host for each in sightings.waiting()] == ["0.example", "1.example", "2.example"]
    sightings.add(sighting("owner.example"), "two")
    sightings.add(sighting("owner.example", 5), "one")
    assert sightings.of("owner.example") == sighting("owner.example", 5)
    sightings.add(sighting("third.example"), "three")
    assert sightings.of("third.example") is None, "networks are bounded, too"
    sightings.wrote(sightings.waiting())
    sightings.add(sighting("9.example", HOUR_MS), "one")
    assert [each.host for each in sightings.waiting()] == ["9.example"], "an hour later"


def test_websites_in_memory_are_bounded_and_the_first_goes_first() -> None:
    sightings = Sightings(most=2)
    for number in range(4):
        sightings.add(sighting(f"{number}.example"), str(number))
    assert [each.host for each in sightings.waiting()] == ["2.example", "3.example"]


def test_websites_of_one_moment_and_hour_are_told_apart_from_later_ones() -> None:
    at_once = sighting(), sighting(outcome="duplicate")
    assert (newer(*at_once), newer(*at_once[::-1])) == at_once[::-1]
    sightings = Sightings(new_hosts=1)
    for each in (sighting(), sighting("b.example", HOUR_MS - 1), sighting(seen_ms=1, outcome="crawler")):
        sightings.add(each, "one")
    assert sightings.waiting() == [sighting()], "within an hour, and a monitor hides no visitor"


def test_a_website_that_was_written_already_can_be_pushed_out() -> None:
    sightings = Sightings(most=1)
    sightings.add(sighting(), "one")
    sightings.wrote(sightings.waiting())
    sightings.add(sighting("b.example"), "two")
    assert sightings.waiting() == [sighting("b.example")]


def test_what_comes_while_others_are_written_is_written_later() -> None:
    sightings = Sightings()
    sightings.add(sighting(), "one")
    written = sightings.waiting()
    sightings.add(sighting(seen_ms=1), "one")
    sightings.wrote(written)
    assert sightings.waiting() == [sighting(seen_ms=1)]
