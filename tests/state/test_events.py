"""The rules of deduplication: keys, rows, and the days that have a partition."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.clock import DAY_MS, day_of
from actors.events.messages import NEVER, Event, Kind, Record, Row, Window
from actors.events.state import (
    KEY_BYTES,
    REMEMBERED_PREFIXES,
    EventRules,
    VisitorHasher,
    days_to_keep,
    rows_of,
)
from actors.times import WEEK_MS, week_of
from tests.fakes import utc_ms

DAY = 20_000
MIDNIGHT = DAY * DAY_MS
SECRET = b"a secret of the server, 32 bytes"
VISITOR = "3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a54"
EVENT = Event("bok_1", Kind.IMPRESSION, VISITOR)


# Keys.


def test_the_same_event_on_the_same_day_has_the_same_key_on_every_node() -> None:
    one, other = VisitorHasher(SECRET), VisitorHasher(SECRET)
    assert one.key(DAY, EVENT) == other.key(DAY, Event(*EVENT)) == one.key(DAY, EVENT)
    assert len(one.key(DAY, EVENT)) == KEY_BYTES


@pytest.mark.parametrize(
    ("day", "event"),
    [
        (DAY, EVENT._replace(booking_id="bok_2")),
        (DAY, EVENT._replace(kind=Kind.CLICK)),
        (DAY, EVENT._replace(visitor=VISITOR[:-1] + "5")),
        (DAY + 1, EVENT),
    ],
)
def test_another_booking_kind_visitor_or_day_has_another_key(day: int, event: Event) -> None:
    seals = VisitorHasher(SECRET)
    assert seals.key(day, event) != seals.key(DAY, EVENT)


events = st.builds(Event, st.text(max_size=8), st.sampled_from(Kind), st.text(max_size=8))
days = st.integers(DAY, DAY + 1)


@given(st.tuples(days, events), st.tuples(days, events))
def test_keys_are_equal_where_everything_is_and_nowhere_else(one: tuple[int, Event], other: tuple[int, Event]) -> None:
    seals = VisitorHasher(SECRET)
    assert (seals.key(*one) == seals.key(*other)) == (one == other)


@given(st.text("01ic", max_size=12), st.integers(0, 12), st.integers(0, 12), st.sampled_from(Kind))
def test_no_two_events_read_alike_wherever_the_same_text_is_cut(text: str, one: int, other: int, kind: Kind) -> None:
    """Digits and letters that could belong to either part: the length before the first part tells them apart."""
    seals = VisitorHasher(SECRET)
    cuts = [Event(text[:cut], kind, text[cut:]) for cut in (min(one, len(text)), min(other, len(text)))]
    assert (seals.key(DAY, cuts[0]) == seals.key(DAY, cuts[1])) == (cuts[0] == cuts[1])


@pytest.mark.parametrize(
    ("kind", "key"),
    [(Kind.IMPRESSION, "f91d5f733c78745905e8e439d6ea0761"), (Kind.CLICK, "2e433506a00d48b087f62c459515ed3e")],
)
def test_a_key_is_the_same_after_an_update_so_that_nothing_is_counted_twice(kind: Kind, key: str) -> None:
    assert VisitorHasher(SECRET).key(DAY, EVENT._replace(kind=kind)).hex() == key


@pytest.mark.parametrize("size", [16, 64])
def test_the_shortest_and_the_longest_secret_will_do(size: int) -> None:
    assert len(VisitorHasher(bytes(size)).key(DAY, EVENT)) == KEY_BYTES


@pytest.mark.parametrize("place", [0, 15, 31, 63])
def test_every_byte_of_the_secret_matters(place: int) -> None:
    secret = bytes(64)
    changed = secret[:place] + b"\x01" + secret[place + 1 :]
    assert VisitorHasher(secret).key(DAY, EVENT) != VisitorHasher(changed).key(DAY, EVENT)


@pytest.mark.parametrize("size", [0, 15, 65])
def test_a_secret_that_is_too_short_or_would_not_count_whole_is_a_mistake(size: int) -> None:
    with pytest.raises(AssertionError):
        VisitorHasher(bytes(size))


def test_neither_keys_nor_events_show_who_the_visitor_was() -> None:
    seals = VisitorHasher(SECRET)
    keys = seals.keys(DAY, [EVENT])
    record = Record([EVENT], DAY, keys)
    for shown in (repr(EVENT), repr(record), f"{record}", repr([EVENT]), repr(rows_of([EVENT], keys)), repr(seals)):
        assert VISITOR not in shown
    assert repr(EVENT) == "<Event impression of bok_1>"
    assert VISITOR.encode() not in keys[0]


def test_the_keys_of_two_days_are_kept_and_of_no_more() -> None:
    seals = VisitorHasher(SECRET)
    for day in (DAY, DAY + 1, DAY, DAY + 1):
        seals.key(day, EVENT)
        assert str(day) in repr(seals)
    assert repr(seals) == f"<VisitorHasher of the days [{DAY}, {DAY + 1}]>"
    seals.key(DAY + 2, EVENT)
    assert repr(seals) == f"<VisitorHasher of the days [{DAY + 1}, {DAY + 2}]>"


def test_a_day_that_was_forgotten_has_the_same_key_when_the_clock_comes_back_to_it() -> None:
    seals = VisitorHasher(SECRET)
    key = seals.key(DAY, EVENT)
    for day in range(DAY + 1, DAY + 9):
        seals.key(day, EVENT)
    assert seals.key(DAY, EVENT) == key


def test_keys_come_in_the_order_of_their_events() -> None:
    many = [EVENT._replace(visitor=str(number)) for number in range(9)]
    seals = VisitorHasher(SECRET)
    assert seals.keys(DAY, many) == [seals.key(DAY, event) for event in many]


def test_more_bookings_than_are_remembered_have_the_same_keys_again() -> None:
    seals = VisitorHasher(SECRET)
    many = [EVENT._replace(booking_id=f"bok_{number}") for number in range(REMEMBERED_PREFIXES + 9)]
    assert seals.keys(DAY, many) == [VisitorHasher(SECRET).key(DAY, event) for event in many]
    assert seals.keys(DAY, many) == [VisitorHasher(SECRET).key(DAY, event) for event in many]


# Rows.

keyed = st.lists(st.tuples(events, st.binary(min_size=1, max_size=2)), max_size=30, unique_by=lambda each: each[1])


@given(keyed, st.randoms())
def test_rows_are_sorted_as_the_primary_key_is_and_differ_in_their_keys(
    some: list[tuple[Event, bytes]], chance: Random
) -> None:
    offered = [*some, *some]
    chance.shuffle(offered)
    rows = rows_of([event for event, _ in offered], [key for _, key in offered])
    assert {row.key for row in rows} == {key for _, key in some}
    assert len(rows) == len(some)
    order = [(row.booking_id.encode(), row.key) for row in rows]
    assert all(one < other for one, other in pairwise(order))


def test_events_without_their_keys_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        rows_of([EVENT, EVENT], [b"k"])


def test_a_row_says_what_is_counted() -> None:
    assert rows_of([EVENT, EVENT], [b"k", b"k"]) == [Row("bok_1", b"k", Kind.IMPRESSION)]


# The days that have a partition.

RULES = EventRules()
moments = st.integers(MIDNIGHT - WEEK_MS, MIDNIGHT + 4 * WEEK_MS)


@given(moments, st.integers(1, 60))
def test_the_keys_of_a_weeks_days_live_until_so_many_days_after_its_end_and_no_longer(
    now_ms: int, keep_days: int
) -> None:
    kept = days_to_keep(now_ms, EventRules(keep_days=keep_days))
    for day in range(kept.start - 30, kept.stop):
        week_ends_ms = week_of(day * DAY_MS) + WEEK_MS
        assert (day in kept) == (now_ms < week_ends_ms + keep_days * DAY_MS), day


def test_a_week_goes_whole_35_days_after_its_end_to_the_millisecond() -> None:
    monday = utc_ms(2026, 11, 16)
    first = day_of(monday)
    goes_ms = utc_ms(2026, 11, 23) + 35 * DAY_MS
    assert days_to_keep(goes_ms - 1, RULES).start == first
    assert days_to_keep(goes_ms, RULES).start == first + 7


@given(moments, st.integers(1, 60))
def test_today_and_the_days_ahead_have_a_partition(now_ms: int, ahead_days: int) -> None:
    kept = days_to_keep(now_ms, EventRules(ahead_days=ahead_days))
    assert kept[-1] == day_of(now_ms) + ahead_days
    assert day_of(now_ms) in kept


@pytest.mark.parametrize("rules", [{"keep_days": 0}, {"ahead_days": 0}])
def test_keeping_nothing_is_a_mistake(rules: dict[str, int]) -> None:
    with pytest.raises(AssertionError):
        EventRules(**rules)


# Windows.


def test_a_window_holds_its_start_and_not_its_end() -> None:
    window = Window(10, 20)
    assert [window.holds(at) for at in (9, 10, 19, 20)] == [False, True, True, False]
    assert not any(NEVER.holds(at) for at in (-1, 0, 1))
