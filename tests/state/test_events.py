"""The rules of deduplication: buckets, keys, rows, and the days that have a partition."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.clock import DAY_MS, HOUR_MS, day_of
from actors.events.messages import NEVER, Bucket, Event, Kind, Record, Row, Window
from actors.events.router import Even
from actors.events.state import (
    KEY_BYTES,
    REMEMBERED_PREFIXES,
    EventRules,
    VisitorHasher,
    bucket_of,
    days_to_keep,
    rows_of,
)
from actors.shared.weeks import WEEK_MS, week_of
from tests.fakes import utc_ms

DAY = 20_000
MIDNIGHT = DAY * DAY_MS
SECRET = b"a secret of the server, 32 bytes"
BUCKET = Bucket(DAY, 0)
VISITOR = "3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a54"
EVENT = Event("bok_1", Kind.IMPRESSION, VISITOR)
WIDTHS = (1, 2, 3, 4, 6, 8, 12, 24)


# Buckets.


@pytest.mark.parametrize("hours", WIDTHS)
def test_a_bucket_holds_its_hours_to_the_millisecond(hours: int) -> None:
    for first in range(0, 24, hours):
        start, end = MIDNIGHT + first * HOUR_MS, MIDNIGHT + (first + hours) * HOUR_MS
        bucket = Bucket(DAY, first)
        assert [bucket_of(at, hours) for at in (start, (start + end) // 2, end - 1)] == [bucket] * 3
        assert bucket_of(start - 1, hours) != bucket != bucket_of(end, hours)
        assert isinstance(bucket_of(end - 1, hours).hour, int)
    assert EventRules(bucket_hours=hours).bucket_hours == hours


@pytest.mark.parametrize("hours", WIDTHS)
def test_a_day_has_as_many_buckets_as_fit(hours: int) -> None:
    buckets = {bucket_of(MIDNIGHT + minute * 60_000, hours) for minute in range(24 * 60)}
    assert buckets == {Bucket(DAY, hour) for hour in range(0, 24, hours)}


def test_the_usual_bucket_is_the_utc_day() -> None:
    day = utc_ms(2026, 11, 20) // DAY_MS
    assert bucket_of(utc_ms(2026, 11, 20, 23, 59, 59) + 999, 24) == Bucket(day, 0)
    assert bucket_of(utc_ms(2026, 11, 21), 24) == Bucket(day + 1, 0)


@pytest.mark.parametrize("hours", [-24, 0, 5, 7, 9, 16, 25, 48])
def test_a_bucket_that_does_not_divide_the_day_is_a_mistake(hours: int) -> None:
    with pytest.raises(AssertionError):
        EventRules(bucket_hours=hours)


# Keys.


def test_the_same_event_in_the_same_bucket_has_the_same_key_on_every_node() -> None:
    one, other = VisitorHasher(SECRET), VisitorHasher(SECRET)
    assert one.key(BUCKET, EVENT) == other.key(Bucket(*BUCKET), Event(*EVENT)) == one.key(BUCKET, EVENT)
    assert len(one.key(BUCKET, EVENT)) == KEY_BYTES


@pytest.mark.parametrize(
    ("bucket", "event"),
    [
        (BUCKET, EVENT._replace(booking_id="bok_2")),
        (BUCKET, EVENT._replace(kind=Kind.CLICK)),
        (BUCKET, EVENT._replace(visitor=VISITOR[:-1] + "5")),
        (Bucket(DAY, 12), EVENT),
        (Bucket(DAY + 1, 0), EVENT),
    ],
)
def test_another_booking_kind_visitor_hour_or_day_has_another_key(bucket: Bucket, event: Event) -> None:
    seals = VisitorHasher(SECRET)
    assert seals.key(bucket, event) != seals.key(BUCKET, EVENT)


events = st.builds(Event, st.text(max_size=8), st.sampled_from(Kind), st.text(max_size=8))
buckets = st.builds(Bucket, st.integers(DAY, DAY + 1), st.sampled_from(range(24)))


@given(st.tuples(buckets, events), st.tuples(buckets, events))
def test_keys_are_equal_where_everything_is_and_nowhere_else(
    one: tuple[Bucket, Event], other: tuple[Bucket, Event]
) -> None:
    seals = VisitorHasher(SECRET)
    assert (seals.key(*one) == seals.key(*other)) == (one == other)


@given(st.text("01ic", max_size=12), st.integers(0, 12), st.integers(0, 12), st.sampled_from(Kind))
def test_no_two_events_read_alike_wherever_the_same_text_is_cut(text: str, one: int, other: int, kind: Kind) -> None:
    """Digits and letters that could belong to either part: the length before the first part tells them apart."""
    seals = VisitorHasher(SECRET)
    cuts = [Event(text[:cut], kind, text[cut:]) for cut in (min(one, len(text)), min(other, len(text)))]
    assert (seals.key(BUCKET, cuts[0]) == seals.key(BUCKET, cuts[1])) == (cuts[0] == cuts[1])


@pytest.mark.parametrize(
    ("kind", "key"),
    [(Kind.IMPRESSION, "ad9607dbea4b3914a8f3359615b91ed3"), (Kind.CLICK, "061ce493fc47bf662ac83d8cac61113f")],
)
def test_a_key_is_the_same_after_an_update_so_that_nothing_is_counted_twice(kind: Kind, key: str) -> None:
    assert VisitorHasher(SECRET).key(Bucket(DAY, 6), EVENT._replace(kind=kind)).hex() == key


@pytest.mark.parametrize("size", [16, 64])
def test_the_shortest_and_the_longest_secret_will_do(size: int) -> None:
    assert len(VisitorHasher(bytes(size)).key(BUCKET, EVENT)) == KEY_BYTES


@pytest.mark.parametrize("place", [0, 15, 31, 63])
def test_every_byte_of_the_secret_matters(place: int) -> None:
    secret = bytes(64)
    changed = secret[:place] + b"\x01" + secret[place + 1 :]
    assert VisitorHasher(secret).key(BUCKET, EVENT) != VisitorHasher(changed).key(BUCKET, EVENT)


@pytest.mark.parametrize("size", [0, 15, 65])
def test_a_secret_that_is_too_short_or_would_not_count_whole_is_a_mistake(size: int) -> None:
    with pytest.raises(AssertionError):
        VisitorHasher(bytes(size))


def test_neither_keys_nor_events_show_who_the_visitor_was() -> None:
    seals = VisitorHasher(SECRET)
    keys = seals.keys(BUCKET, [EVENT])
    record = Record([EVENT], BUCKET, keys)
    for shown in (repr(EVENT), repr(record), f"{record}", repr([EVENT]), repr(rows_of([EVENT], keys)), repr(seals)):
        assert VISITOR not in shown
    assert repr(EVENT) == "<Event impression of bok_1>"
    assert VISITOR.encode() not in keys[0]


def test_the_keys_of_two_days_are_kept_and_of_no_more() -> None:
    seals = VisitorHasher(SECRET)
    for day in (DAY, DAY + 1, DAY, DAY + 1):
        seals.key(Bucket(day, 0), EVENT)
        assert str(day) in repr(seals)
    assert repr(seals) == f"<VisitorHasher of the days [{DAY}, {DAY + 1}]>"
    seals.key(Bucket(DAY + 2, 0), EVENT)
    assert repr(seals) == f"<VisitorHasher of the days [{DAY + 1}, {DAY + 2}]>"


def test_a_day_that_was_forgotten_has_the_same_key_when_the_clock_comes_back_to_it() -> None:
    seals = VisitorHasher(SECRET)
    key = seals.key(BUCKET, EVENT)
    for day in range(DAY + 1, DAY + 9):
        seals.key(Bucket(day, 0), EVENT)
    assert seals.key(BUCKET, EVENT) == key


def test_keys_come_in_the_order_of_their_events() -> None:
    many = [EVENT._replace(visitor=str(number)) for number in range(9)]
    seals = VisitorHasher(SECRET)
    assert seals.keys(BUCKET, many) == [seals.key(BUCKET, event) for event in many]


def test_more_bookings_than_are_remembered_have_the_same_keys_again() -> None:
    seals = VisitorHasher(SECRET)
    many = [EVENT._replace(booking_id=f"bok_{number}") for number in range(REMEMBERED_PREFIXES + 9)]
    assert seals.keys(BUCKET, many) == [VisitorHasher(SECRET).key(BUCKET, event) for event in many]
    assert seals.keys(BUCKET, many) == [VisitorHasher(SECRET).key(BUCKET, event) for event in many]


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


# Sections.


@given(st.integers(1, 64))
def test_places_are_spread_evenly_over_the_sections(count: int) -> None:
    sections = [Even(count).section_of(place) for place in range(256)]
    assert set(sections) == set(range(count))
    assert max(map(sections.count, range(count))) - min(map(sections.count, range(count))) <= 1


# Windows.


def test_a_window_holds_its_start_and_not_its_end() -> None:
    window = Window(10, 20)
    assert [window.holds(at) for at in (9, 10, 19, 20)] == [False, True, True, False]
    assert not any(NEVER.holds(at) for at in (-1, 0, 1))
