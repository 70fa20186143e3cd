"""Typed text as values, and the audit in words."""

import pytest

from service.schemas.fields import NEWEST_MS
from service.web.pages.admin.record_changes import Change, News, changes_of, news_of
from service.web.pages.parts.forms import (
    address_of,
    amount_of,
    cents_of,
    line_of,
    moment_of,
    moment_text,
    text_of,
    whole_of,
)


@pytest.mark.parametrize(
    ("text", "cents"),
    [("120", 12_000), ("120.5", 12_050), ("0.50", 50), (" 1,250.00 ", 125_000), ("1,234,567.89", 123_456_789)],
)
def test_amounts_are_read_to_the_cent(text: str, cents: int) -> None:
    assert cents_of(text) == cents
    assert cents_of(amount_of(cents)) == cents


@pytest.mark.parametrize("text", ["", "-1", "1.234", "1,25", "1e3", "12 000", "$5", "٣", "0x10", "9" * 30, "1.", ".5"])
def test_what_is_no_amount_is_none(text: str) -> None:
    assert cents_of(text) is None


@pytest.mark.parametrize("text", ["2026-11-20T12:30", "2026-11-20T12:30:15", "1970-01-01T00:00"])
def test_moments_are_utc_and_come_back_as_they_were_typed(text: str) -> None:
    read = moment_of(text)
    assert read is not None
    assert moment_text(read) == text


def test_a_moment_that_the_calendar_does_not_reach_is_its_last_one() -> None:
    assert moment_text(NEWEST_MS) == "9999-12-31T23:59:59"


@pytest.mark.parametrize("text", ["", "2026-02-30T10:00", "2026-11-20", "2026-11-20 12:30", "0000-01-01T00:00", "soon"])
def test_what_is_no_moment_is_none(text: str) -> None:
    assert moment_of(text) is None


def test_whole_numbers_are_plain_digits() -> None:
    assert [whole_of(text) for text in ("7", " 12 ", "", "-1", "1.0", "²", "1234567")] == [7, 12] + [None] * 5


def test_texts_lose_space_around_them_and_the_line_ends_of_forms() -> None:
    assert text_of({"note": " a\r\nb "}, "note") == "a\nb"
    assert text_of({"note": " \r\n"}, "note") is None
    assert text_of({}, "note") is None


def test_changes_of_the_audit_are_readable() -> None:
    changes = {
        "reviewNote": [None, "Fine"],
        "cta": "Go",
        "headline": "A",
        "status": ["pending", "approved"],
        "weekPriceCents": [12_000, 15_000],
        "offerEndsMs": [None, 0],
        "active": [True, False],
        "scopes": ["library:read", "sponsor:read"],
        "amountCents": 500,
        "reason": None,
    }
    assert changes_of(changes) == [
        Change("status", "approved", "pending"),
        Change("headline", "A"),
        Change("cta", "Go"),
        Change("reviewNote", "Fine"),
        Change("weekPriceCents", "USD 150.00", "USD 120.00"),
        Change("offerEndsMs", "1 January 1970, 00:00 UTC"),
        Change("active", "no", "yes"),
        Change("scopes", "library:read, sponsor:read"),
        Change("amountCents", "USD 5.00"),
    ]


def _record(action: str, **changes: list[str | None]) -> dict[str, object]:
    return {"action": f"campaign.{action}", "createdAt": 5, "changes": changes}


def test_only_what_differs_from_the_last_approval_is_new() -> None:
    campaign = {"headline": "C", "cta": "Go", "sponsorName": "Brand"}
    records = [
        _record("edited", headline=["B", "C"], cta=["Look", "Go"]),
        _record("edited", headline=["A", "B"], cta=["Go", "Look"], name=["x", "y"]),
        _record("approved", status=["pending", "approved"]),
        _record("edited", headline=["Z", "A"]),
        _record("approved", shownAs=[None, "Brand"]),
    ]
    assert news_of(campaign, records, complete=False) == News(5, known=True, changes=[Change("headline", "C", "A")])
    renamed = campaign | {"headline": "A", "sponsorName": "New"}
    assert news_of(renamed, records, complete=True).changes == [Change("sponsorName", "New", "Brand")]


@pytest.mark.parametrize("complete", [True, False])
def test_without_an_approval_it_is_known_only_where_all_was_read(complete: bool) -> None:
    records = [_record("edited", headline=["A", "B"]), _record("created")]
    assert news_of({"headline": "B"}, records, complete=complete) == News(None, known=complete)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("tools.example.com", "https://tools.example.com"),
        (" tools.example.com/a?b=c#d ", "https://tools.example.com/a?b=c#d"),
        ("tools.example.com:8080/x", "https://tools.example.com:8080/x"),
        ("localhost:3000", "https://localhost:3000"),
        ("//tools.example.com", "https://tools.example.com"),
        ("http://tools.example.com", "http://tools.example.com"),
        ("HTTPS://tools.example.com", "HTTPS://tools.example.com"),
        ("mailto:you@example.com", "mailto:you@example.com"),
        ("javascript:alert(1)", "javascript:alert(1)"),
        ("http:/tools.example.com", "http:/tools.example.com"),
        ("tools dot example", "https://tools dot example"),
        ("", ""),
        ("  ", ""),
    ],
)
def test_an_address_without_a_scheme_gets_https(text: str, address: str) -> None:
    assert address_of({"website": text}, "website") == address
    assert address_of({}, "website") == ""


def test_line_ends_of_a_text_on_one_line_become_spaces() -> None:
    assert line_of({"body": " Now \r\n or\nlater "}, "body") == "Now or later"
    assert line_of({}, "body") == ""


def test_a_long_gap_in_a_text_on_one_line_is_read_in_one_pass() -> None:
    gap = " " * 1_000_000  # Were each space a new start of the search, this would take half an hour.
    assert line_of({"body": f"Now{gap}or\n{gap}later"}, "body") == f"Now{gap}or later"
