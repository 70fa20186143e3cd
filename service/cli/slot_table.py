"""Slots as a table for the operator. Pure."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from actors.bookings.records import Slot

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HEADS = ("ID", "NAME", "SIDE", "CENTS A WEEK", "WEEKS", "PACKAGE", "STATE")
NUMBERS = (3, 4)
"""Columns that are aligned to the right."""


def table(slots: Sequence[Slot], now_ms: int) -> list[str]:
    """A header line and one line per slot."""
    rows = [HEADS, *(_row(slot, now_ms) for slot in slots)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    return [
        "  ".join(_cell(*cell) for cell in zip(row, widths, range(len(HEADS)), strict=True)).rstrip() for row in rows
    ]


def _row(slot: Slot, now_ms: int) -> tuple[str, ...]:
    state = state_of(slot, now_ms) + (", demo" if slot.demo else "")
    return (
        slot.id,
        slot.name,
        slot.side,
        str(slot.week_price_cents),
        str(slot.weeks),
        slot.package_kind or "-",
        state,
    )


def _cell(text: str, width: int, column: int) -> str:
    return text.rjust(width) if column in NUMBERS else text.ljust(width)


def state_of(slot: Slot, now_ms: int) -> str:
    """The state of sale, such as `on sale until 2027-01-31 18:00 UTC`."""
    if slot.retired_ms is not None:
        return "retired"
    if not slot.active:
        return "inactive"
    if slot.coming_soon:
        return "coming soon"
    if slot.offer_ends_ms is None:
        return "on sale"
    return f"on sale until {_written(slot.offer_ends_ms)}" if now_ms < slot.offer_ends_ms else "offer ended"


def _written(at_ms: int) -> str:
    try:
        return (EPOCH + timedelta(milliseconds=at_ms)).strftime("%Y-%m-%d %H:%M UTC")
    except OverflowError:
        return "after the year 9999"
