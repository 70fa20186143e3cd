"""Rows of the sponsorship tables as the records of the ledger, and records as columns."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any, TypeVar

from actors.bookings.records import (
    Booking,
    BookingStatus,
    BookingView,
    Campaign,
    CampaignStatus,
    CampaignView,
    Content,
    IdempotencyRecord,
    Mode,
    PackageKind,
    Side,
    Slot,
    Sponsor,
    YoutubeStatus,
)
from storage.postgres.columns import columns_of

Row = Mapping[str, Any]
E = TypeVar("E", bound=StrEnum)

_SPONSOR = tuple(field.name for field in fields(Sponsor))
_SLOT = tuple(field.name for field in fields(Slot))
_BOOKING = tuple(field.name for field in fields(Booking))
_REMEMBERED = tuple(field.name for field in fields(IdempotencyRecord))
_CONTENT = tuple(field.name for field in fields(Content))
_CAMPAIGN = (
    "id",
    "tenant_id",
    "name",
    *(f"content.{name}" for name in _CONTENT),
    "status",
    "created_ms",
    "review_note",
    "shown_as",
    "demo",
)


def sponsor_of(row: Row) -> Sponsor:
    return Sponsor(**_picked(row, _SPONSOR))


def remembered_of(row: Row) -> IdempotencyRecord:
    return IdempotencyRecord(**_picked(row, _REMEMBERED))


def slot_of(row: Row) -> Slot:
    values = _picked(row, _SLOT)
    values["side"] = Side(values["side"])
    values["package_kind"] = _kind(values["package_kind"])
    return Slot(**values)


def content_of(row: Row) -> Content:
    return Content(**_picked(row, _CONTENT))


def campaign_of(row: Row) -> Campaign:
    return Campaign(
        id=row["id"],
        tenant_id=row["tenant_id"],
        name=row["name"],
        content=content_of(row),
        status=CampaignStatus(row["status"]),
        created_ms=row["created_ms"],
        review_note=row["review_note"],
        shown_as=row["shown_as"],
        demo=row["demo"],
    )


def booking_of(row: Row) -> Booking:
    values = _picked(row, _BOOKING)
    values["status"] = BookingStatus(values["status"])
    values["mode"] = Mode(values["mode"])
    values["package_kind"] = _kind(values["package_kind"])
    if values["youtube_status"] is not None:
        values["youtube_status"] = YoutubeStatus(values["youtube_status"])
    return Booking(**values)


def campaign_view_of(row: Row) -> CampaignView:
    return CampaignView(campaign_of(row), row["sponsor_name"])


def booking_view_of(row: Row, delivered: Row | None) -> BookingView:
    """A booking with its sums, which are None where nothing was ever counted."""
    impressions, clicks = (0, 0) if delivered is None else (delivered["impressions"], delivered["clicks"])
    return BookingView(booking_of(row), row["campaign_name"], row["sponsor_name"], impressions, clicks)


def campaign_columns(campaigns: Iterable[Campaign]) -> list[list[Any]]:
    return columns_of(_CAMPAIGN, campaigns)


def _picked(row: Row, names: Iterable[str]) -> dict[str, Any]:
    return {name: row[name] for name in names}


def _kind(value: str | None) -> PackageKind | None:
    return None if value is None else PackageKind(value)
