"""The unit day: what counts as one visitor, under which secret, and how long a secret lives."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.events.messages import Event, Kind, Unit
from actors.events.state import AHEAD_MS, VisitorHasher, first_secret_day, secret_days, visitor_of_day
from actors.times import DAY_MS, HOUR_MS
from actors.values import StorageUnavailable
from service.http.addresses import is_address, limited_as

SECRET, DAY = b"a secret of the server, 32 bytes", 20_000
ONE, OTHER = b"1" * 32, b"2" * 32


def visit(visitor: str) -> Event:
    return Event("bok_1", Kind.IMPRESSION, visitor)


def hasher(**secrets: bytes) -> VisitorHasher:
    """One that knows these secrets: `d0` is that of the day, `d1` that of the next."""
    made = VisitorHasher(SECRET)
    made.learn({DAY + int(name[1:]): secret for name, secret in secrets.items()}, DAY)
    return made


@given(st.lists(st.tuples(st.text("ab: 1", max_size=3), st.text("ab: 1\n", max_size=3)), min_size=2, max_size=2))
def test_a_visitor_is_an_address_and_an_agent_wherever_they_end(two: list[tuple[str, str]]) -> None:
    made = hasher(d0=ONE)
    keys = [made.key(DAY, visit(visitor_of_day(*each)), Unit.DAY) for each in two]
    assert (keys[0] == keys[1]) == (two[0] == two[1])


def test_keys_of_a_day_need_its_secret_and_the_servers_and_are_never_those_of_a_device() -> None:
    event, other_server = visit("v"), VisitorHasher(SECRET[::-1])
    other_server.learn({DAY: ONE}, DAY)
    keys = [
        hasher(d0=ONE).key(DAY, event, Unit.DAY),
        hasher(d0=OTHER).key(DAY, event, Unit.DAY),
        hasher(d1=ONE, d0=OTHER).key(DAY, event, Unit.DAY),
        other_server.key(DAY, event, Unit.DAY),
        hasher(d0=ONE).key(DAY, event),
    ]
    assert len(set(keys)) == 4
    assert keys[1] == keys[2]
    assert keys[0].hex() == "5ef45007274072daae86757608d77b33", "an update in the middle of a day counts nobody twice"


def test_without_the_secret_of_a_day_its_events_are_refused_and_others_are_not() -> None:
    made = hasher(d0=ONE)
    for day in (DAY - 1, DAY + 1):
        with pytest.raises(StorageUnavailable, match=r"^the secret of the day is not read from the database yet$"):
            made.keys(day, [visit("v")], Unit.DAY)
        assert made.keys(day, [visit("v")])


def test_a_secret_that_is_over_or_replaced_leaves_no_key_behind() -> None:
    made = hasher(d0=ONE, d1=OTHER)
    before = [made.key(day, visit("v"), Unit.DAY) for day in (DAY, DAY + 1)]
    made.learn({DAY: ONE, DAY + 1: ONE}, DAY + 1)
    assert made.secret_of(DAY) is None
    assert made.key(DAY + 1, visit("v"), Unit.DAY) != before[1]
    with pytest.raises(StorageUnavailable):
        made.key(DAY, visit("v"), Unit.DAY)
    assert repr(made) == f"<VisitorHasher of the days [{DAY + 1}]>"


@given(st.integers(DAY * DAY_MS, (DAY + 9) * DAY_MS))
def test_a_secret_is_known_before_its_day_and_deleted_within_48_hours_after_it_was_made(now_ms: int) -> None:
    today, kept = now_ms // DAY_MS, first_secret_day(now_ms)
    assert secret_days(now_ms).start == today
    assert ((today + 1) in secret_days(now_ms)) == (now_ms + AHEAD_MS >= (today + 1) * DAY_MS)
    assert kept in (today - 1, today)
    assert now_ms - (kept * DAY_MS - AHEAD_MS) < 48 * HOUR_MS
    assert first_secret_day(now_ms - HOUR_MS) <= today, "a clock that is late still has its day"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("203.0.113.7", "::ffff:203.0.113.7", True),
        ("203.0.113.7", "203.0.113.8", False),
        ("2001:db8::1", "2001:DB8:0:0::2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("2001:db8::1", "203.0.113.7", False),
    ],
)
def test_forms_of_one_address_and_addresses_of_one_ipv6_network_are_one_visitor(
    one: str, other: str, equal: bool
) -> None:
    assert is_address(one)
    assert is_address(other)
    assert (visitor_of_day(limited_as(one), "x") == visitor_of_day(limited_as(other), "x")) == equal


@pytest.mark.parametrize(
    "text", ["", "203.0.113", "203.0.113.7:80", "203.0.113.0/24", "[::1]", "fe80::1%eth0", "a" * 65]
)
def test_what_is_no_address(text: str) -> None:
    assert not is_address(text)


def counted(visits: Sequence[tuple[str, str]]) -> int:
    """The visitors of one booking and day that are counted of visits from addresses with user agents."""
    made = hasher(d0=ONE)
    return len(set(made.keys(DAY, [visit(visitor_of_day(limited_as(each[0]), each[1])) for each in visits], Unit.DAY)))


def visitors(chance: Random, number: int) -> tuple[str, str]:
    """A customer of an access provider with one of few user agents: neighbours in a network often have the same."""
    address = (
        f"2001:db8:{number // 2500:x}:{number:x}::1" if number % 2 else f"100.64.{number // 250}.{number % 250 + 1}"
    )
    return address, f"Mozilla/5.0 (Mobile {int(chance.paretovariate(0.5)) % 300})"


def test_of_a_day_of_10000_visitors_with_addresses_of_their_own_none_is_lost() -> None:
    chance = Random(36)
    day = [visitors(chance, number) for number in range(10_000)]
    moved = [(f"198.18.{number // 250}.{number % 250 + 1}", day[number * 10][1]) for number in range(1_000)]
    visits = [each for each in day for _ in range(chance.randint(1, 2))]
    chance.shuffle(visits)
    assert counted(visits) == 10_000
    assert counted(visits + moved) == 11_000, "who changes the network counts again"


@pytest.mark.parametrize(
    ("people", "agents", "mean"), [(1, 3, 1), (5, 3, 2.6), (20, 3, 3), (5, 10, 4.1), (20, 10, 8.8), (100, 10, 10)]
)
def test_people_behind_one_address_count_by_their_agents(people: int, agents: int, mean: float) -> None:
    """The figures of docs/events.md, of which the test before has the first two."""
    chance = Random(people * agents)
    offices = [[("203.0.113.7", str(chance.randrange(agents))) for _ in range(people)] for _ in range(400)]
    assert sum(map(counted, offices)) / 400 == pytest.approx(mean, abs=0.1)
