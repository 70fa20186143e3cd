"""Moments, days, amounts and counts in the words of pages."""

from datetime import UTC, datetime

import pytest

from actors.shared import dates
from actors.times import DAY_MS, HOUR_MS, MINUTE_MS
from service.web.pages.parts import words

YEAR_10000_MS = 253_402_300_800_000


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000


NOW_MS = at("2026-11-25T09:41:00")


@pytest.mark.parametrize(
    ("moment", "shown"),
    [
        ("2026-11-25T09:41:00", "today, 09:41"),
        ("2026-11-25T00:00:00", "today, 00:00"),
        ("2026-11-25T23:59:59", "today, 23:59"),
        ("2026-11-26T10:00:00", "tomorrow, 10:00"),
        ("2026-11-24T18:12:00", "yesterday, 18:12"),
        ("2026-11-23T18:12:00", "23 November, 18:12"),
        ("2026-11-02T08:55:00", "2 November, 08:55"),
        ("2026-01-01T00:00:00", "1 January, 00:00"),
        ("2025-12-31T23:59:59", "31 December 2025, 23:59"),
        ("2027-01-31T12:00:00", "31 January 2027, 12:00"),
    ],
)
def test_a_moment_is_told_by_its_distance_from_today(moment: str, shown: str) -> None:
    told = words.when(at(moment), NOW_MS)
    assert told.words == str(told) == shown
    assert told.iso == f"{moment}Z"
    assert told.__html__() == f'<time datetime="{moment}Z">{shown}</time>'


def test_a_sentence_begins_with_a_capital_letter() -> None:
    assert words.when(NOW_MS, NOW_MS, first=True).words == "Today, 09:41"
    assert words.when(at("2026-11-02T08:55:00"), NOW_MS, first=True).words == "2 November, 08:55"
    assert words.ago(NOW_MS, NOW_MS, first=True).words == "Just now"


def test_the_day_before_new_year_is_yesterday_and_a_later_one_has_its_year() -> None:
    new_year = at("2027-01-01T00:00:30")
    assert words.when(at("2026-12-31T23:00:00"), new_year).words == "yesterday, 23:00"
    assert words.when(at("2026-12-30T23:00:00"), new_year).words == "30 December 2026, 23:00"


def test_days_name_the_year_where_it_is_not_this_one() -> None:
    assert str(words.date(at("2026-11-02T08:55:00"), NOW_MS)) == "2 November"
    assert str(words.date(at("2027-01-31T00:00:00"), NOW_MS)) == "31 January 2027"
    assert words.date(at("2026-11-02T08:55:00"), NOW_MS).__html__() == '<time datetime="2026-11-02">2 November</time>'
    assert str(words.short(at("2026-11-30T00:00:00"), NOW_MS)) == "30 Nov"
    assert str(words.short(at("2025-11-30T00:00:00"), NOW_MS)) == "30 Nov 2025"
    assert str(words.weekday(at("2026-11-30T00:00:00"), NOW_MS)) == "Monday, 30 November"
    assert str(words.weekday(at("2027-01-04T00:00:00"), NOW_MS)) == "Monday, 4 January 2027"


@pytest.mark.parametrize(
    ("start", "end", "shown", "in_lists"),
    [
        ("2026-11-30", "2026-12-07", "30 November to 6 December", "30 Nov to 6 Dec"),
        ("2026-11-16", "2026-11-23", "16 to 22 November", "16 to 22 Nov"),
        ("2026-11-09", "2027-02-08", "9 November 2026 to 7 February 2027", "9 Nov to 7 Feb 2027"),
        ("2027-02-01", "2027-02-08", "1 to 7 February 2027", "1 to 7 Feb 2027"),
        ("2025-11-24", "2025-12-08", "24 November to 7 December 2025", "24 Nov to 7 Dec 2025"),
        ("2025-12-29", "2026-01-05", "29 December 2025 to 4 January 2026", "29 Dec 2025 to 4 Jan 2026"),
        ("2026-11-30", "2026-12-01", "30 November", "30 Nov"),
        ("2027-11-30", "2027-12-01", "30 November 2027", "30 Nov 2027"),
    ],
)
def test_a_range_ends_on_the_day_before_its_end(start: str, end: str, shown: str, in_lists: str) -> None:
    assert dates.days(at(start), at(end), NOW_MS) == shown
    assert dates.days(at(start), at(end), NOW_MS, short=True) == in_lists


def test_a_range_without_days_is_its_first_day() -> None:
    assert dates.days(NOW_MS, NOW_MS, NOW_MS) == "25 November"


@pytest.mark.parametrize(
    ("ahead_ms", "shown"),
    [
        (22 * MINUTE_MS, "until 10:03 today, 22 minutes from now"),
        (30_000, "until 09:41 today, less than a minute from now"),
        (HOUR_MS - 1, "until 10:40 today, 59 minutes from now"),
        (HOUR_MS, "until 10:41 today, 1 hour from now"),
        (24 * HOUR_MS, "until 09:41 tomorrow, 24 hours from now"),
        (2 * DAY_MS - 1, "until 27 November, 09:40"),
        (7 * DAY_MS, "until 2 December, 09:41"),
        (40 * DAY_MS, "until 4 January 2027, 09:41"),
        (-MINUTE_MS, "until 09:40 today"),
        (-20 * HOUR_MS, "until 13:41 yesterday"),
        (-7 * DAY_MS, "until 18 November, 09:41"),
    ],
)
def test_an_end_says_how_far_away_it_is(ahead_ms: int, shown: str) -> None:
    assert words.until(NOW_MS + ahead_ms, NOW_MS).words == shown


@pytest.mark.parametrize(
    ("length_ms", "shown"),
    [
        (-1, "less than a minute"),
        (0, "less than a minute"),
        (MINUTE_MS, "1 minute"),
        (22 * MINUTE_MS + 59_000, "22 minutes"),
        (HOUR_MS, "1 hour"),
        (26 * HOUR_MS, "26 hours"),
        (2 * DAY_MS, "2 days"),
        (74 * DAY_MS + HOUR_MS, "74 days"),
    ],
)
def test_a_time_has_one_unit(length_ms: int, shown: str) -> None:
    assert words.span(length_ms) == shown
    assert words.left(NOW_MS + length_ms, NOW_MS).words == shown


@pytest.mark.parametrize(
    ("passed_ms", "shown"),
    [
        (-HOUR_MS, "just now"),
        (59_000, "just now"),
        (2 * MINUTE_MS, "2 minutes ago"),
        (26 * HOUR_MS, "26 hours ago"),
        (2 * DAY_MS, "23 November"),
        (400 * DAY_MS, "21 October 2025"),
    ],
)
def test_the_past_is_told_by_its_distance_and_then_by_its_date(passed_ms: int, shown: str) -> None:
    assert words.ago(NOW_MS - passed_ms, NOW_MS).words == shown


def test_a_record_has_its_year_and_zone() -> None:
    assert words.moment(at("2026-11-02T08:55:00")).words == "2 November 2026, 08:55 UTC"
    assert words.time_of_day(at("2026-11-25T10:03:00"), NOW_MS).words == "10:03"
    assert words.time_of_day(at("2026-11-26T10:03:00"), NOW_MS).words == "tomorrow, 10:03"


def test_moments_past_the_calendar_are_its_last_second() -> None:
    assert words.when(YEAR_10000_MS, NOW_MS).words == "31 December 9999, 23:59"
    assert dates.days(YEAR_10000_MS, 2 * YEAR_10000_MS, NOW_MS) == "31 December 9999"


def test_amounts_are_short_in_lists_and_whole_on_payments() -> None:
    assert [words.price(cents) for cents in (9_900, 1_786, 5, 125_000)] == ["$99", "$17.86", "$0.05", "$1,250"]
    assert words.price(9_900, "eur") == "EUR 99.00"
    assert words.price(-1_786) == "-$17.86"
    assert words.money(76_700) == "USD 767.00"


def test_counts_have_commas_and_their_noun() -> None:
    assert words.number(15_507) == "15,507"
    assert [words.up_to_99(count) for count in (1, 99, 100, 21_100)] == ["1", "99", "99+", "99+"]
    assert [words.counted(count, "day") for count in (0, 1, 2, 1_500)] == ["0 days", "1 day", "2 days", "1,500 days"]
    assert words.counted(2, "entry", "entries") == "2 entries"
    assert words.counted(1, "entry", "entries") == "1 entry"


def test_a_rate_without_times_shown_says_when_there_will_be_one() -> None:
    assert words.rate(0.0207) == "2.07 %"
    assert words.rate(0.0) == "0.00 %"
    assert words.rate(None) == "No rate yet"
    assert words.rate(None, "Known once it was shown") == "Known once it was shown"


def test_a_click_costs_its_share_to_the_cent() -> None:
    assert words.per_click(14_329, 321) == "$0.45"
    assert words.per_click(1_000, 3) == "$3.33"
    assert words.per_click(1, 2) == "$0.01"
    assert words.per_click(1, 3) == "less than $0.01"
    assert words.per_click(0, 3) == "$0"
    assert words.per_click(9_900, 0) == "Known after the first click"
    assert words.per_click(9_900, 0, "No click yet") == "No click yet"


def test_an_id_is_cut_where_it_is_shown_and_whole_where_it_is_copied() -> None:
    shown = words.short_id("bok_5fUjNNcVWeAgAe5wobydjf")
    assert str(shown) == "bok_5fUj…"
    assert str(words.short_id("abc")) == "abc"
    whole = "bok_5fUjNNcVWeAgAe5wobydjf"
    assert shown.__html__() == f'<span class="mono cut" title="{whole}">{whole}</span>'


def test_an_id_cannot_end_its_attribute() -> None:
    told = "&quot;&gt;&lt;b&gt;"
    assert words.short_id('"><b>').__html__() == f'<span class="mono cut" title="{told}">{told}</span>'


def test_an_address_breaks_before_its_parts() -> None:
    command = "curl 'https://catalog.test/api/v1/bots?q=a&limit=3'"
    shown = "curl &#39;https://catalog.test<wbr>/api<wbr>/v1<wbr>/bots<wbr>?q=a<wbr>&amp;limit=3&#39;"
    assert words.breakable(command) == shown
    assert words.breakable("/api/v1/bots/{slug}") == "/api<wbr>/v1<wbr>/bots<wbr>/{slug}"
    assert words.breakable("whsec_a/b <b>") == "whsec_a/b &lt;b&gt;", "a secret stays whole"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://tools.example.com/", "tools.example.com"),
        ("http://tools.example.com:8080/start", "tools.example.com:8080/start"),
        ("https://tools.example.com/a/path/that/goes/on?and=on", "tools.example.com/a/path/that/go…"),
        ("https://tools.example.com?from=" + "x" * 700, "tools.example.com?from=xxxxxxxxx…"),
        ("https://" + "bank.example.com." * 14 + "other.example", "…mple.com.bank.example.com.other.example"),
        ("no address at all", "no address at all"),
        ("", ""),
    ],
)
def test_an_address_is_its_host_and_a_short_path_with_the_whole_as_its_title(address: str, shown: str) -> None:
    short = words.short_url(address)
    assert str(short) == shown
    title = f' title="{address}"' if "…" in shown else ""
    assert short.__html__() == f"<bdi{title}>{shown}</bdi>"


def test_an_address_is_escaped() -> None:
    address = 'https://tools.example.com/"><b>/and/so/on'
    assert "<b>" not in words.short_url(address).__html__()
    assert '"><' not in words.short_url(address).__html__()
