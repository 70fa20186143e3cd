"""Operations for pages of this service only. They are dispatched like all others, but not routed or documented.

The token of a checkout or receipt link grants access to it; an unknown token is a 404.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from pydantic import BaseModel

from actors.bookings.records import OPEN, Booking, BookingView, Mode
from actors.bookings.slots import unknown_slot
from actors.catalog.messages import Kind
from actors.events.sites import host_of as site_of
from actors.shared import notices
from actors.values import Agent, Code, Problem, Refused
from actors.webhooks.state import unknown_webhook
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call, Handler, Operation
from service.api.operations.account_data import stop_mails, view_stopping
from service.api.operations.admin_accounts import list_keys
from service.api.operations.admin_catalog import list_retired, preview
from service.api.operations.admin_overview import read_sales
from service.api.operations.admin_sponsorship import list_campaigns_of, read_dossier
from service.api.operations.authorizations import PAGE_ROWS
from service.api.operations.bookings import booking_of, read_steps, send_material
from service.api.operations.catalog import list_related, place_in_catalog
from service.api.operations.development import DEVELOPMENT_ROWS
from service.api.operations.figures import read_figures
from service.api.operations.node_status import read_load, read_readiness
from service.api.operations.placements import list_page_ads, read_share
from service.api.operations.responses import with_id
from service.api.operations.sessions import session_begun
from service.api.operations.shared_reports import SHARED_ROWS
from service.api.policy import Access, Budget
from service.schemas.account import AccountKeys
from service.schemas.admin_overview import RevenueQuery
from service.schemas.bookings import BookingAnswer, VideoMaterial
from service.schemas.campaigns import CampaignPage
from service.schemas.catalog import BotAnswer, BotBody, BotPage, UseCaseAnswer, UseCaseBody, UseCasePage
from service.schemas.internal import (
    BookingDossier,
    BookingSteps,
    CatalogPlace,
    CatalogSize,
    DeliveryFigures,
    Ending,
    FiguresQuery,
    LinkUse,
    LoadHour,
    Purchase,
    ReadinessDay,
    RetiredEntries,
    RowCount,
    Sales,
    ShareOfVoice,
    ShareQuery,
    SightingQuery,
    SiteSighting,
    Spent,
    SponsorOverview,
    StoppedMails,
)
from service.schemas.inventory import PageAds, SlotAnswer, admin_slot_of
from service.schemas.lists import CatalogQuery, SponsorshipQuery
from service.schemas.rows import filled
from service.schemas.sessions import SessionBegun
from service.tokens.links import EndingLink, Page

CHECKOUT_AGENT = Agent("system", "checkout page")
MAX_READ = 1_000
"""The newest bookings of an account that the sums of an overview are over."""

MAX_PRESENT = 50
MAX_PAST = 6

Change = Callable[[Services, Booking], Awaitable[BookingView | Refused]]


async def count_catalog(services: Services, call: Call) -> Answer | Refused:
    statistics = services.catalog.statistics()
    return Answer.of(CatalogSize(usecases=statistics.usecases, bots=statistics.bots))


async def find_sighting(services: Services, call: Call) -> Answer | Refused:
    site = call.query.site.lower()
    if site_of(f"https://{site}") != site:
        words = "must be a host name with at least one dot, such as blog.example.com"
        problem = Problem("site", "string_pattern_mismatch", words)
        return Refused(Code.INVALID_REQUEST, "The query is not valid", problems=(problem,))
    seen = await services.sites.sighting(site)
    if seen is None:
        return Answer.of(SiteSighting(site=site))
    return Answer.of(
        SiteSighting(site=site, kind=seen.kind.value, outcome=seen.outcome, works=seen.works, seenAt=seen.seen_ms)
    )


async def use_sign_in_link(services: Services, call: Call) -> Answer | Refused:
    begun = await services.sessions.use_link(call.body.token, call.request.headers.get("user-agent", ""))
    return begun if isinstance(begun, Refused) else session_begun(services, begun)


async def view_checkout(services: Services, call: Call) -> Answer | Refused:
    view = await _payable(services, call)
    return view if isinstance(view, Refused) else _purchase(services, view)


async def pay_checkout(services: Services, call: Call) -> Answer | Refused:
    return await _change(services, call, _pay)


async def cancel_checkout(services: Services, call: Call) -> Answer | Refused:
    return await _change(services, call, _cancel)


async def view_receipt(services: Services, call: Call) -> Answer | Refused:
    booking_id = services.links.booking_id(Page.RECEIPT, call.path_values["token"])
    view = await services.sponsorship.booking(None, booking_id) if booking_id is not None else None
    return _not_found() if view is None else _purchase(services, view)


async def _change(services: Services, call: Call, change: Change) -> Answer | Refused:
    """Apply a change to an open booking, and return the booking."""
    before = await _payable(services, call)
    if isinstance(before, Refused):
        return before
    if before.booking.status_at(services.clock.now_ms()) not in OPEN:
        return _purchase(services, before)
    changed = await change(services, before.booking)
    services.announce()
    if not isinstance(changed, Refused):
        return _purchase(services, changed, changed=True)
    # Another request closed the booking in the meantime, for example from a second tab.
    return await view_checkout(services, call)


async def _pay(services: Services, booking: Booking) -> BookingView | Refused:
    """No money moves. All clicks share a payment id, so they are one payment."""
    payment_id = f"test_{booking.id}"
    return await services.ledger.record_payment(
        payment_id,
        booking.id,
        payment_id,
        booking.amount_cents,
        booking.currency,
        terms_version=services.config.site.terms or None,
    )


async def _cancel(services: Services, booking: Booking) -> BookingView | Refused:
    return await services.ledger.cancel(booking.tenant_id, booking.id, CHECKOUT_AGENT)


async def _payable(services: Services, call: Call) -> BookingView | Refused:
    """The booking that a checkout token is for. Only bookings of test mode are paid on our own page."""
    booking_id = services.links.booking_id(Page.CHECKOUT, call.path_values["token"])
    if booking_id is None or services.config.billing.mode != "test":
        return _not_found()
    view = await services.sponsorship.booking(None, booking_id)
    if view is None or view.booking.mode is not Mode.TEST:
        return _not_found()
    return view


def _not_found() -> Refused:
    return Refused(Code.NOT_FOUND, "There is nothing at this address.")


def _purchase(services: Services, view: BookingView, *, changed: bool = False) -> Answer:
    booking = view.booking
    purchase = filled(
        Purchase,
        booking,
        bookingId=booking.id,
        status=booking.status_at(services.clock.now_ms()),
        sponsor=view.sponsor_name,
        campaign=view.campaign_name,
        slot=booking.slot_name,
        package=booking.package_description,
        holdUntil=booking.hold_ms,
        testMode=booking.mode is Mode.TEST,
        amountCents=booking.paid_cents or booking.amount_cents,
        currency=booking.money_currency,
        receiptUrl=services.links.receipt_url(booking),
        paymentIssue=booking.issue,
        changed=changed,
    )
    return Answer.of(purchase)


@with_id(unknown_slot)
async def read_slot(services: Services, call: Call, slot_id: str) -> Answer | Refused:
    found = [slot for slot in await services.sponsorship.slots() if slot.id == slot_id]
    return Answer.of(SlotAnswer(slot=admin_slot_of(found[0]))) if found else unknown_slot()


async def read_overview(services: Services, call: Call) -> Answer | Refused:
    store, owner, now_ms = services.sponsorship, call.caller.owner, services.clock.now_ms()
    totals = await store.totals(owner, MAX_READ)
    overview = SponsorOverview(
        present=[booking_of(services, each) for each in await store.present_bookings(owner, now_ms, MAX_PRESENT)],
        past=[booking_of(services, each) for each in await store.past_bookings(owner, now_ms, MAX_PAST)],
        bookings=totals.bookings,
        more=totals.bookings == MAX_READ,
        sinceMs=totals.since_ms,
        impressions=totals.impressions,
        clicks=totals.clicks,
        spent=[filled(Spent, each, currency=currency) for currency, each in totals.spent.items()],
    )
    return Answer.of(overview)


async def count_bookings(services: Services, call: Call) -> Answer | Refused:
    return _rows(await services.sponsorship.count_bookings(call.caller.owner, MAX_READ))


async def count_invoices(services: Services, call: Call) -> Answer | Refused:
    return _rows(await services.sponsorship.count_invoices(call.caller.owner, MAX_READ))


async def count_submissions(services: Services, call: Call) -> Answer | Refused:
    return _rows(await services.submissions.count_submissions(call.caller.owner, MAX_READ))


@with_id(unknown_webhook)
async def count_deliveries(services: Services, call: Call, webhook_id: str) -> Answer | Refused:
    if await services.webhooks.webhook(call.caller.owner, webhook_id) is None:
        return unknown_webhook()
    return _rows(await services.webhooks.count_deliveries(webhook_id, MAX_READ))


def _rows(number: int) -> Answer:
    """The number of the caller's rows, null if there are `MAX_READ` or more."""
    return Answer.of(RowCount(rows=None if number == MAX_READ else number))


async def view_ending(services: Services, call: Call) -> Answer | Refused:
    """Return the target of an ending link. Reading it changes nothing, because mail programs open links by themselves."""
    link = _ending_of(services, call)
    return _unknown_link() if link is None else _ending(link)


async def end_by_link(services: Services, call: Call) -> Answer | Refused:
    """End it. Repeating this changes nothing."""
    link = _ending_of(services, call)
    if link is None:
        return _unknown_link()
    agent = Agent("system", "link in a mail", link.email)
    match link.ending:
        case notices.Ending.KEY:
            revoked = await services.keys.revoke(link.target_id, agent)
            if not isinstance(revoked, Refused):
                services.key_cache.forget(revoked.changed)
        case notices.Ending.SESSION:
            await services.sessions.end_session(link.target_id, link.email, agent)
        case notices.Ending.ADMIN:
            await services.keys.revoke_admin(link.email, agent, granted_ms=int(link.target_id))
    # A key or a session that no longer exists has ended, too, and so has a grant that was followed by another one.
    return _ending(link, ended=True)


def _ending_of(services: Services, call: Call) -> EndingLink | None:
    return services.links.ending(call.path_values["token"], services.clock.now_ms())


def _ending(link: EndingLink, *, ended: bool = False) -> Answer:
    return Answer.of(Ending(kind=link.ending.value, label=link.label, email=link.email, ended=ended))


def _unknown_link() -> Refused:
    return Refused(Code.NOT_FOUND, "This link is not valid, or it is older than 30 days.")


def _row(
    name: str,
    path: str,
    handler: Handler,
    result: type[BaseModel],
    method: str = "GET",
    access: Access = Access.PUBLIC,
    **rest: Any,
) -> Operation:
    return Operation(
        name=name,
        method=method,
        path=f"/internal/{path}",
        summary=name,
        description="Only pages of this service call this operation.",
        tag="Internal",
        handler=handler,
        result=result,
        access=access,
        **rest,
    )


_of_admin = partial(_row, access=Access.REQUIRED, admin=True)
INTERNAL = (
    _row("readReadiness", "readiness", read_readiness, ReadinessDay),
    _of_admin("readLoad", "load", read_load, LoadHour),
    _row("listPageAds", "page-ads", list_page_ads, PageAds),
    _row("countCatalog", "catalog", count_catalog, CatalogSize),
    _row("findSighting", "sighting", find_sighting, SiteSighting, query=SightingQuery),
    _row("placeInCatalog", "catalog/{kind}", place_in_catalog, CatalogPlace, query=CatalogQuery),
    _of_admin(
        "previewUseCase",
        "usecases/{slug}",
        partial(preview, kind=Kind.USECASES),
        UseCaseAnswer,
        "POST",
        body=UseCaseBody,
    ),
    _of_admin("previewBot", "bots/{slug}", partial(preview, kind=Kind.BOTS), BotAnswer, "POST", body=BotBody),
    _of_admin("listRetired", "retired", list_retired, RetiredEntries),
    _row("listRelatedUseCases", "usecases/{slug}/related", partial(list_related, Kind.USECASES), UseCasePage),
    _row("listRelatedBots", "bots/{slug}/related", partial(list_related, Kind.BOTS), BotPage),
    *(_row(*row, **rest) for row, rest in DEVELOPMENT_ROWS),
    _row(
        "useSignInLink",
        "sign-in-link",
        use_sign_in_link,
        SessionBegun,
        "POST",
        body=LinkUse,
        budget=Budget.SIGN_IN_COMPLETE,
    ),
    _row("viewCheckout", "checkout/{token}", view_checkout, Purchase),
    _row("payCheckout", "checkout/{token}", pay_checkout, Purchase, "POST"),
    _row("cancelCheckout", "checkout/{token}", cancel_checkout, Purchase, "DELETE"),
    _row("viewReceipt", "receipt/{token}", view_receipt, Purchase),
    _row("readBookingSteps", "bookings/{id}/steps", read_steps, BookingSteps, access=Access.REQUIRED),
    _row("sendMaterial", "material/{id}", send_material, BookingAnswer, "PUT", Access.REQUIRED, body=VideoMaterial),
    _row("readOverview", "overview", read_overview, SponsorOverview, access=Access.REQUIRED),
    _row("readFigures", "figures", read_figures, DeliveryFigures, access=Access.REQUIRED, query=FiguresQuery),
    _row("readShare", "slots/{id}/share", read_share, ShareOfVoice, query=ShareQuery),
    _of_admin("readSales", "sales", read_sales, Sales, query=RevenueQuery),
    _of_admin("readDossier", "dossiers/{id}", read_dossier, BookingDossier),
    *(_row(*row, **rest) for row, rest in (*SHARED_ROWS, *PAGE_ROWS)),
    _of_admin("readSlot", "slots/{id}", read_slot, SlotAnswer),
    _of_admin("listCampaignsOf", "accounts/{id}/campaigns", list_campaigns_of, CampaignPage, query=SponsorshipQuery),
    _of_admin("readAccountKeys", "accounts/{id}/keys", list_keys, AccountKeys),
    _row("countBookings", "bookings", count_bookings, RowCount, access=Access.REQUIRED),
    _row("countInvoices", "invoices", count_invoices, RowCount, access=Access.REQUIRED),
    _row("countSubmissions", "submissions", count_submissions, RowCount, access=Access.REQUIRED),
    _row("countDeliveries", "webhooks/{id}/deliveries", count_deliveries, RowCount, access=Access.REQUIRED),
    _row("viewEnding", "ending/{token}", view_ending, Ending),
    _row("endByLink", "ending/{token}", end_by_link, Ending, "POST"),
    _row("viewStopping", "stopping/{token}", view_stopping, StoppedMails),
    _row("stopMails", "stopping/{token}", stop_mails, StoppedMails, "POST"),
)
