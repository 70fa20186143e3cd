"""Rows of the sponsorship tables as records of the ledger, and campaigns as columns."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from actors.bookings.records import (
    Booking,
    BookingStatus,
    BookingView,
    Campaign,
    CampaignStatus,
    CampaignView,
    Content,
    Mode,
    PackageKind,
    Side,
    Slot,
    YoutubeStatus,
)
from storage.pool import Row
from storage.postgres.columns import columns_of, record_of

_CAMPAIGN = (
    "id",
    "tenant_id",
    "name",
    *(f"content.{field.name}" for field in fields(Content)),
    "status",
    "created_ms",
    "review_note",
    "shown_as",
    "demo",
)


def slot_of(row: Row) -> Slot:
    return record_of(Slot, row, side=Side(row["side"]), package_kind=_kind(row["package_kind"]))


def campaign_of(row: Row) -> Campaign:
    return record_of(Campaign, row, content=record_of(Content, row), status=CampaignStatus(row["status"]))


def booking_of(row: Row) -> Booking:
    youtube = row["youtube_status"]
    return record_of(
        Booking,
        row,
        status=BookingStatus(row["status"]),
        mode=Mode(row["mode"]),
        package_kind=_kind(row["package_kind"]),
        youtube_status=None if youtube is None else YoutubeStatus(youtube),
    )


def campaign_view_of(row: Row) -> CampaignView:
    return CampaignView(campaign_of(row), row["sponsor_name"])


def booking_view_of(row: Row, delivered: Row | None) -> BookingView:
    """A booking with its delivery sums. `delivered` is None if no event was ever counted."""
    impressions, clicks = (0, 0) if delivered is None else (delivered["impressions"], delivered["clicks"])
    return BookingView(booking_of(row), row["campaign_name"], row["sponsor_name"], impressions, clicks)


def campaign_columns(campaigns: Iterable[Campaign]) -> list[list[Any]]:
    return columns_of(_CAMPAIGN, campaigns)


def _kind(value: str | None) -> PackageKind | None:
    return None if value is None else PackageKind(value)
