"""The pages of one booking, behind sealed links: our own checkout of test mode, and the receipt of both modes.

Who has no right link is told what who has a wrong address is told. Whether a booking is paid is the ledger's to say.
"""

from collections.abc import Awaitable, Callable

from actors.bookings.records import OPEN, Booking, BookingStatus, BookingView, Mode
from actors.clock import DAY_MS
from actors.values import Agent, Refused
from service.api.context import Services
from service.api.messages import NO_STORE
from service.tokens.links import Page as Link
from service.web.pages.page import Page, PageRequest, Template, nothing_here
from service.web.pages.words import day, money

PAGE_AGENT = Agent("system", "checkout page")


async def checkout(visit: PageRequest) -> Template:
    """The checkout page of a booking of test mode."""
    return _checkout(visit, await _booking_to_pay(visit))


async def pay(visit: PageRequest) -> Template:
    return await _acted(visit, _pay)


async def cancel(visit: PageRequest) -> Template:
    return await _acted(visit, _cancel)


Action = Callable[[Services, Booking], Awaitable[BookingView | Refused]]


async def _acted(visit: PageRequest, action: Action) -> Template:
    """The page after one of the two buttons. A booking that is closed stays as it is."""
    services, before = visit.services, await _booking_to_pay(visit)
    if before.booking.status_at(services.clock.now_ms()) not in OPEN:
        return _checkout(visit, before)
    outcome = await action(services, before.booking)
    if isinstance(outcome, Refused):
        # Something came in between, such as the other button in another tab: say how it stands now.
        return _checkout(visit, await _booking_to_pay(visit))
    return _checkout(visit, outcome, just_now=True)


async def _pay(services: Services, booking: Booking) -> BookingView | Refused:
    """No money moves. The names are the same at each press, so that all presses are one payment."""
    name = f"test_{booking.id}"
    return await services.ledger.take_payment(name, booking.id, name, booking.amount_cents, booking.currency)


async def _cancel(services: Services, booking: Booking) -> BookingView | Refused:
    return await services.ledger.cancel(booking.tenant_id, booking.id, PAGE_AGENT)


async def receipt(visit: PageRequest) -> Template:
    """The receipt of a booking; before it is paid, that it is not."""
    services = visit.services
    booking_id = services.links.booking_id(Link.RECEIPT, visit.path_values["token"])
    view = await services.sponsorship.booking(None, booking_id) if booking_id is not None else None
    if view is None:
        raise nothing_here()
    booking = view.booking
    values = {
        "state": booking.status_at(services.clock.now_ms()).value,
        "paid": booking.paid_ms if services.links.receipt_url(booking) else None,
        "refunded": money(booking.refunded_cents, booking.currency) if booking.refunded_cents else None,
        "reference": booking.payment_id,
        "issue": booking.payment_issue,
    }
    return Template("receipt.html", _purchase(visit, view) | values, headers=[*NO_STORE])


async def _booking_to_pay(visit: PageRequest) -> BookingView:
    """The booking that a token of the checkout page is for, while that page is how bookings are paid."""
    services = visit.services
    booking_id = services.links.booking_id(Link.CHECKOUT, visit.path_values["token"])
    if booking_id is None or services.config.billing.mode != "test":
        raise nothing_here()
    view = await services.sponsorship.booking(None, booking_id)
    if view is None or view.booking.mode is not Mode.TEST:
        raise nothing_here()
    return view


def _checkout(visit: PageRequest, view: BookingView, *, just_now: bool = False) -> Template:
    services, booking = visit.services, view.booking
    status = booking.status_at(services.clock.now_ms())
    # A reserved booking goes to checkout by an operation of the API, and only then can it be paid.
    state = "open" if status is BookingStatus.CHECKOUT else status.value
    values = {"state": state, "just_now": just_now, "receipt_url": services.links.receipt_url(booking)}
    return Template("checkout.html", _purchase(visit, view) | values, headers=[*NO_STORE])


def _purchase(visit: PageRequest, view: BookingView) -> dict[str, object]:
    """What was or would be bought, in words. `own`: whoever looks sees the booking's page, too."""
    booking, person = view.booking, visit.caller.signed_in
    return {
        "booking_id": booking.id,
        "own": person is not None and person.tenant_id == booking.tenant_id,
        "sponsor": view.sponsor_name,
        "campaign": view.campaign_name,
        "slot": booking.slot_name,
        "package": booking.package_description,
        "weeks": "1 week" if booking.weeks == 1 else f"{booking.weeks} weeks",
        "first_day": day(booking.week_start_ms),
        "last_day": day(booking.week_end_ms - DAY_MS),
        "amount": money(booking.amount_cents, booking.currency),
        "held_until": booking.hold_ms,
        "test_mode": booking.mode is Mode.TEST,
        "demo": booking.demo,
    }


async def cancelled(visit: PageRequest) -> Template:
    """Where the payment processor sends who has left its page."""
    return Template("checkout_cancelled.html")


PAGES = (
    Page("/checkout/{token}", checkout, {"pay": pay, "cancel": cancel}, sealed=True),
    Page("/receipt/{token}", receipt, sealed=True),
    Page("/checkout-cancelled", cancelled),
)
