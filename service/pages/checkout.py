"""The pages of one booking, behind sealed links: our own checkout of test mode, and the receipt of both modes.

Decides which page is shown and what stands on it; knows no framework. Whether a booking is paid is the ledger's to say.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from actors.bookings.records import OPEN, Booking, BookingStatus, BookingView, Mode
from actors.clock import DAY_MS, SECOND_MS
from actors.values import Agent, Refused
from service.links import Page
from service.services import Services

PAGE_AGENT = Agent("system", "checkout page")


@dataclass(frozen=True, slots=True)
class Shown:
    """A template and what it says."""

    template: str
    values: Mapping[str, object]


async def checkout(services: Services, token: str) -> Shown | None:
    """The checkout page of a booking of test mode; None where there is none."""
    view = await _booking_to_pay(services, token)
    return None if view is None else _checkout(services, view)


async def acted(services: Services, token: str, action: str) -> Shown | None:
    """The page after one of the two buttons, `pay` and `cancel`. A booking that is closed stays as it is."""
    before = await _booking_to_pay(services, token)
    if before is None:
        return None
    if before.booking.status_at(services.clock.now_ms()) not in OPEN:
        return _checkout(services, before)
    outcome = await (_pay(services, before.booking) if action == "pay" else _cancel(services, before.booking))
    if isinstance(outcome, Refused):
        # Something came in between, such as the other button in another tab: say how it stands now.
        after = await _booking_to_pay(services, token)
        return None if after is None else _checkout(services, after)
    return _checkout(services, outcome, just_now=True)


async def _pay(services: Services, booking: Booking) -> BookingView | Refused:
    """No money moves. The names are the same at each press, so that all presses are one payment."""
    name = f"test_{booking.id}"
    return await services.ledger.take_payment(name, booking.id, name, booking.amount_cents, booking.currency)


async def _cancel(services: Services, booking: Booking) -> BookingView | Refused:
    return await services.ledger.cancel(booking.tenant_id, booking.id, PAGE_AGENT)


async def receipt(services: Services, token: str) -> Shown | None:
    """The receipt of a booking; before it is paid, that it is not."""
    booking_id = services.links.booking_id(Page.RECEIPT, token)
    view = await services.sponsorship.booking(None, booking_id) if booking_id is not None else None
    if view is None:
        return None
    booking = view.booking
    values = {
        "state": booking.status_at(services.clock.now_ms()).value,
        "paid": moment(booking.paid_ms)
        if booking.paid_ms is not None and services.links.receipt_url(booking)
        else None,
        "refunded": money(booking.refunded_cents, booking.currency) if booking.refunded_cents else None,
        "reference": booking.payment_id,
        "issue": booking.payment_issue,
    }
    return Shown("receipt.html", _purchase(view) | values)


async def _booking_to_pay(services: Services, token: str) -> BookingView | None:
    """The booking that a token of the checkout page is for, while that page is how bookings are paid."""
    booking_id = services.links.booking_id(Page.CHECKOUT, token)
    if booking_id is None or services.config.billing.mode != "test":
        return None
    view = await services.sponsorship.booking(None, booking_id)
    return view if view is not None and view.booking.mode is Mode.TEST else None


def _checkout(services: Services, view: BookingView, *, just_now: bool = False) -> Shown:
    booking = view.booking
    status = booking.status_at(services.clock.now_ms())
    # A reserved booking goes to checkout by an operation of the API, and only then can it be paid.
    state = "open" if status is BookingStatus.CHECKOUT else status.value
    values = {"state": state, "just_now": just_now, "receipt_url": services.links.receipt_url(booking)}
    return Shown("checkout.html", _purchase(view) | values)


def _purchase(view: BookingView) -> dict[str, object]:
    """What was or would be bought, in words."""
    booking = view.booking
    return {
        "booking_id": booking.id,
        "sponsor": view.sponsor_name,
        "campaign": view.campaign_name,
        "slot": booking.slot_name,
        "package": booking.package_description,
        "weeks": "1 week" if booking.weeks == 1 else f"{booking.weeks} weeks",
        "first_day": day(booking.week_start_ms),
        "last_day": day(booking.week_end_ms - DAY_MS),
        "amount": money(booking.amount_cents, booking.currency),
        "held_until": moment(booking.hold_ms),
        "test_mode": booking.mode is Mode.TEST,
        "demo": booking.demo,
    }


def money(cents: int, currency: str) -> str:
    """An amount of a currency with hundredths: `USD 1,250.00`."""
    return f"{currency.upper()} {cents // 100:,}.{cents % 100:02}"


def day(moment_ms: int) -> str:
    when = datetime.fromtimestamp(moment_ms // SECOND_MS, UTC)
    return f"{when:%A}, {when.day} {when:%B %Y}"


def moment(moment_ms: int) -> dict[str, str]:
    """A moment as a machine reads it, and as a person does."""
    when = datetime.fromtimestamp(moment_ms // SECOND_MS, UTC)
    return {"iso": f"{when:%Y-%m-%dT%H:%M:%SZ}", "words": f"{when.day} {when:%B %Y, %H:%M} UTC"}
