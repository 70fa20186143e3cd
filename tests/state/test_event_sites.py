"""The rules of counting by website: which `Origin` names one, and who earns a place."""

import pytest

from actors.events.messages import Event, Kind
from actors.events.sites import Candidates, host_of
from actors.events.state import rows_of
from storage.events.packing import counted_by_site, keys_without, packed, rows_in_order

DAY = 20_000


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("https://blog.example.com", "blog.example.com"),
        ("http://Blog.EXAMPLE.com:8080", "blog.example.com"),
        ("https://blog.example.com.", "blog.example.com"),
        ("https://xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("http://127.0.0.1:8000", "127.0.0.1"),
        ("https://a_b.example.com", "a_b.example.com"),
    ],
)
def test_a_website_is_the_host_of_its_origin(origin: str, host: str) -> None:
    assert host_of(origin) == host


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "other",
        "https://other",
        "https://localhost:3000",
        "https://[2001:db8::1]",
        "chrome-extension://abcdefghijklmnop",
        "file://",
        "https://blog.example.com/path",
        "https://user@blog.example.com",
        "https://bücher.example",
        "https://a..example.com",
        "https://.example.com",
        "https://blog.example.com:99999999",
        "https://blog.example.com https://a.example.com",
        "https://blog.example.com\n",
        "https://" + "a." * 200 + "com",
        "https://" + "a" * 64 + ".example.com",
        "https://" + "a" * 100_000 + ".com",
    ],
)
def test_nonsense_names_no_website(origin: str) -> None:
    assert host_of(origin) == ""


def test_a_website_earns_a_place_by_visitors_from_many_networks_of_one_day() -> None:
    candidates = Candidates(networks=3)
    assert not any(candidates.add("a.example.com", "203.0.113.0/24", DAY) for _ in range(1_000))
    assert not candidates.add("a.example.com", "198.51.100.0/24", DAY)
    assert candidates.add("a.example.com", "192.0.2.0/24", DAY)
    assert len(candidates) == 0
    assert not candidates.add("b.example.com", "203.0.113.0/24", DAY)
    assert not candidates.add("b.example.com", "198.51.100.0/24", DAY)
    assert not candidates.add("c.example.com", "203.0.113.0/24", DAY)
    assert len(candidates) == 2
    assert not candidates.add("b.example.com", "192.0.2.0/24", DAY + 1), "a day begins anew"


def test_so_many_candidates_are_remembered_and_no_more() -> None:
    candidates = Candidates(networks=3, capacity=2)
    assert len(candidates) == 0
    for number, remembered in enumerate((1, 2, 2)):
        candidates.add(f"{number}.example.com", "203.0.113.0/24", DAY)
        assert len(candidates) == remembered


def test_one_network_is_enough_if_so_configured() -> None:
    assert Candidates(networks=1).add("a.example.com", "203.0.113.0/24", DAY)


def test_two_networks_are_enough_if_so_configured() -> None:
    candidates = Candidates(networks=2)
    assert not candidates.add("a.example.com", "203.0.113.0/24", DAY)
    assert candidates.add("a.example.com", "198.51.100.0/24", DAY)


def test_made_up_hosts_of_one_client_push_out_each_other_and_no_website_with_visitors() -> None:
    candidates = Candidates(networks=20, capacity=100)
    for number in range(10):
        candidates.add("real.example.com", f"10.0.{number}.0/24", DAY)
    for number in range(10_000):
        assert not candidates.add(f"made-up-{number}.example.com", "203.0.113.0/24", DAY)
    assert len(candidates) <= 200
    earned = [candidates.add("real.example.com", f"10.0.{number}.0/24", DAY) for number in range(10, 20)]
    assert earned == [False] * 9 + [True]


def test_rows_keep_the_website_of_their_events_and_are_counted_by_it() -> None:
    events = [Event("b", Kind.CLICK, "v"), Event("a", Kind.IMPRESSION, "v"), Event("a", Kind.IMPRESSION, "w")]
    rows = rows_of(events, [b"3", b"2", b"1"], [0, 7, 7])
    assert [(row.booking_id, row.key, row.site) for row in rows] == [("a", b"1", 7), ("a", b"2", 7), ("b", b"3", 0)]
    assert counted_by_site(rows, {"a": 5, "b": 4}) == ([4, 5], [0, 7], [0, 2], [1, 0])
    assert rows_of(events, [b"3", b"2", b"1"])[0].site is None


def test_rows_are_numbered_in_the_order_in_which_they_are_packed() -> None:
    """Booking by booking, impressions first: a database says by position which of them it knew."""
    kinds = [Kind.CLICK, Kind.IMPRESSION, Kind.CLICK, Kind.IMPRESSION]
    events = [Event(booking, kind, f"v{number}") for booking in ("b", "a") for number, kind in enumerate(kinds)]
    rows = rows_of(events, [bytes([number]) * 16 for number in (7, 2, 5, 4, 3, 6, 1, 8)])
    bookings, clicks, groups = packed(rows, {"a": 9, "b": 4})
    assert (bookings, clicks) == ([9, 9, 4, 4], [False, True, False, True])
    in_order = rows_in_order(rows)
    assert b"".join(row.key for row in in_order) == b"".join(groups)
    assert [row.kind for row in in_order] == [Kind.IMPRESSION, Kind.IMPRESSION, Kind.CLICK, Kind.CLICK] * 2
    assert keys_without(in_order, [1, 8]) == [row.key for row in in_order[1:-1]]
