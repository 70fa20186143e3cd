"""Rows of the sponsorship tables as records of the ledger, and campaigns as columns."""

import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from typing import Any

from actors.bookings.records import Booking, BookingView, Campaign, CampaignStatus, CampaignView, Content, Slot
from storage.connection.pool import Row
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
    "submitted_ms",
)


def slot_of(row: Row) -> Slot:
    return record_of(Slot, row)


def campaign_of(row: Row) -> Campaign:
    pending = None if row["pending"] is None else Content(**json.loads(row["pending"]))
    return record_of(Campaign, row, content=record_of(Content, row), pending=pending)


def booking_of(row: Row) -> Booking:
    return record_of(Booking, row)


def campaign_view_of(row: Row) -> CampaignView:
    return CampaignView(campaign_of(row), row["sponsor_name"])


def booking_view_of(row: Row, delivered: Row | None) -> BookingView:
    """A booking with its delivery sums. `delivered` is None if no event was ever counted."""
    impressions, clicks = (0, 0) if delivered is None else (delivered["impressions"], delivered["clicks"])
    status = CampaignStatus(row["campaign_status"])
    return BookingView(booking_of(row), row["campaign_name"], row["sponsor_name"], impressions, clicks, status)


def campaign_columns(campaigns: Iterable[Campaign]) -> list[list[Any]]:
    rows = list(campaigns)
    edits = [None if row.pending is None else json.dumps(asdict(row.pending), ensure_ascii=False) for row in rows]
    return [*columns_of(_CAMPAIGN, rows), edits]
