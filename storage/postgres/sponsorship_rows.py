"""Rows of the sponsorship tables, joined with others, as views."""

from actors.bookings.records import Booking, BookingView, Campaign, CampaignStatus, CampaignView
from storage.connection.pool import Row
from storage.rows.columns import record_of


def campaign_view_of(row: Row) -> CampaignView:
    return CampaignView(record_of(Campaign, row), row["sponsor_name"])


def booking_view_of(row: Row, delivered: Row | None) -> BookingView:
    """A booking with its delivery sums. `delivered` is None if no event was ever counted."""
    impressions, clicks = (0, 0) if delivered is None else (delivered["impressions"], delivered["clicks"])
    status = CampaignStatus(row["campaign_status"])
    booking = record_of(Booking, row)
    return BookingView(booking, row["campaign_name"], row["sponsor_name"], impressions, clicks, status)
