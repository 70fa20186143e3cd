"""Operations of administrators (specification, 23 to 26): review, slots, bookings and refunds."""

from collections.abc import Sequence
from functools import partial

from actors.bookings.campaigns import unknown_campaign
from actors.bookings.changes import unknown_booking
from actors.bookings.records import BookingView, CampaignStatus, Content, Slot, YoutubeStatus
from actors.bookings.slots import unknown_slot
from actors.bookings.store import Before, BookingFilter
from actors.bookings.transitions import CampaignMove
from actors.clock import DAY_MS
from actors.values import Code, Refused
from service.api.context import Services
from service.api.messages import Answer, respond
from service.api.operation import Call, admin_read, admin_write
from service.api.operations import admin_exports as files
from service.api.operations.bookings import admin_booking_answer, admin_booking_of, booking_position
from service.api.operations.responses import list_page, newest_first, searched, with_id
from service.api.operations.sponsors import campaign_position
from service.schemas.admin_overview import BookingsQuery
from service.schemas.bookings import BookingAnswer, BookingPage, RefundBody, VideoEdit
from service.schemas.campaigns import Campaign, CampaignAnswer, CampaignPage, Review
from service.schemas.internal import BookingDossier
from service.schemas.inventory import SlotAnswer, SlotList, admin_slot_of
from service.schemas.invoices import Invoice
from service.schemas.lists import CampaignsQuery, SlotsQuery, SponsorsQuery
from service.schemas.slots import SlotCreate, SlotEdit, offer_over
from service.schemas.sponsors import Sponsor as ShownSponsor
from service.schemas.sponsors import SponsorPage


async def list_campaigns(services: Services, call: Call) -> Answer | Refused:
    query: CampaignsQuery = call.query
    status = None if query.status is None else CampaignStatus(query.status)
    order = query.order or "newest"
    fetch = partial(services.sponsorship.everybodys_campaigns, status, text=query.query, oldest=order == "oldest")
    if query.format == "csv":
        return await files.campaigns_file(services, fetch)
    # A cursor is valid only for the same filter and order.
    name = searched(f"all campaigns {query.status} {order}", query.query)
    return await list_page(services, call, name, fetch, campaign_position, Campaign.for_review, CampaignPage)


async def list_campaigns_of(services: Services, call: Call) -> Answer | Refused:
    """The campaigns of one account, newest first."""
    account_id = call.path_values["id"]
    fetch = partial(services.sponsorship.campaigns, account_id)
    return await list_page(
        services, call, f"campaigns of {account_id}", fetch, campaign_position, Campaign.for_review, CampaignPage
    )


@with_id(unknown_campaign)
async def review(services: Services, call: Call, campaign_id: str) -> Answer | Refused:
    body: Review = call.body
    reviewed, seen, seen_as = body.seen, None, None
    if reviewed is not None:
        seen = Content(reviewed.headline, reviewed.body, reviewed.cta, reviewed.targetUrl, reviewed.logoText)
        seen_as = reviewed.sponsorName
    move = CampaignMove(body.decision)
    view = await services.ledger.move_campaign(None, campaign_id, move, call.caller.agent, body.note, seen, seen_as)
    services.counts.forget()
    services.announce()
    return respond(view, lambda view: CampaignAnswer(campaign=Campaign.for_review(view)))


async def list_sponsors(services: Services, call: Call) -> Answer | Refused:
    query: SponsorsQuery = call.query
    fetch = partial(services.sponsorship.sponsors, text=query.query)
    if query.format == "csv":
        return await files.sponsors_file(services, fetch)
    name = searched("all sponsors", query.query)
    return await list_page(services, call, name, fetch, newest_first, ShownSponsor.of, SponsorPage)


async def list_bookings(services: Services, call: Call) -> Answer | Refused:
    query: BookingsQuery = call.query
    wanted = query.wanted()
    if query.format == "csv":
        return await files.bookings_file(services, wanted)
    if wanted == BookingFilter():
        name, fetch = "all bookings", partial(services.sponsorship.bookings, None)
    else:
        # A cursor is valid only for the same filter.
        name, fetch = f"bookings {wanted!r}", partial(_filtered, services, wanted)
    render = partial(admin_booking_of, services)
    return await list_page(services, call, name, fetch, booking_position, render, BookingPage)


async def _filtered(
    services: Services, wanted: BookingFilter, before: Before | None, limit: int
) -> Sequence[BookingView]:
    return await services.sponsorship.filtered_bookings(wanted, services.clock.now_ms(), before, limit)


MAX_INVOICES = 50
"""Documents of a booking that its page lists."""


@with_id(unknown_booking)
async def read_dossier(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    store = services.sponsorship
    view = await store.booking(None, booking_id)
    campaign = None if view is None else await store.campaign(None, view.booking.campaign_id)
    if view is None or campaign is None:
        return unknown_booking()
    booking = view.booking
    invoices = await store.invoices_of(booking.tenant_id, booking.id, MAX_INVOICES)
    dossier = BookingDossier(
        booking=admin_booking_of(services, view),
        campaign=Campaign.for_review(campaign),
        accountId=booking.tenant_id,
        paymentId=booking.payment_id,
        paidAt=booking.paid_ms,
        paidCents=booking.paid_cents,
        paidCurrency=booking.money_currency,
        refundDueAt=booking.refund_due_ms,
        invoices=[Invoice.of(each) for each in invoices],
        days=[(each.day * DAY_MS, each.impressions, each.clicks) for each in await store.delivered(booking.id)],
    )
    return Answer.of(dossier)


@with_id(unknown_booking)
async def refund(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    body: RefundBody | None = call.body
    reason = None if body is None else body.reason
    view = await services.ledger.order_refund(booking_id, reason, call.caller.agent)
    if not isinstance(view, Refused):
        services.sweeper.wake()
        services.counts.forget()
    return admin_booking_answer(services, view)


CLEARABLE = {"youtubeUrl": "youtube_url", "youtubeNotes": "youtube_notes"}
"""Fields that null clears, with their names in the ledger."""


@with_id(unknown_booking)
async def describe_video(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    body: VideoEdit = call.body
    view = await services.ledger.describe_video(
        booking_id,
        call.caller.agent,
        None if body.youtubeStatus is None else YoutubeStatus(body.youtubeStatus),
        body.youtubeUrl,
        body.youtubeNotes,
        clear=tuple(
            field for name, field in CLEARABLE.items() if name in body.model_fields_set and getattr(body, name) is None
        ),
    )
    return admin_booking_answer(services, view)


async def list_slots(services: Services, call: Call) -> Answer | Refused:
    slots = await services.sponsorship.slots()
    if call.query.format == "csv":
        return files.slots_file(slots)
    return Answer.of(SlotList(items=[admin_slot_of(slot) for slot in slots]))


async def create_slot(services: Services, call: Call) -> Answer | Refused:
    body: SlotCreate = call.body
    if refused := offer_over(body, services.clock.now_ms()):
        return refused
    return respond(await services.ledger.create_slot(agent=call.caller.agent, **body.arguments()), _slot_answer)


@with_id(unknown_slot)
async def edit_slot(services: Services, call: Call, slot_id: str) -> Answer | Refused:
    body: SlotEdit = call.body
    if refused := offer_over(body, services.clock.now_ms()):
        return refused
    return respond(await services.ledger.edit_slot(slot_id, call.caller.agent, **body.arguments()), _slot_answer)


@with_id(unknown_slot)
async def retire_slot(services: Services, call: Call, slot_id: str) -> Answer | Refused:
    return respond(await services.ledger.retire_slot(slot_id, call.caller.agent), _slot_answer)


def _slot_answer(slot: Slot) -> SlotAnswer:
    return SlotAnswer(slot=admin_slot_of(slot))


ROWS = (
    admin_read(
        name="listAllCampaigns",
        path="/api/v1/admin/sponsorships/campaigns",
        summary="List all campaigns",
        description="Returns the campaigns of every sponsor, newest first. For the review queue, use "
        "`GET /api/v1/admin/sponsorships/reviews`.",
        handler=list_campaigns,
        result=CampaignPage,
        query=CampaignsQuery,
        spreadsheet=True,
    ),
    admin_write(
        name="reviewCampaign",
        method="POST",
        path="/api/v1/admin/sponsorships/campaigns/{id}/review",
        summary="Review a campaign",
        description="Approves or rejects a pending campaign or a waiting edit, pauses an approved campaign or resumes "
        "a paused one. A rejected edit leaves the approved content as it is. A rejection needs a note, which the sponsor "
        "can read. Send the content you reviewed as `seen`; if it has changed since, the API returns 409.",
        handler=review,
        result=CampaignAnswer,
        body=Review,
        example={"decision": "reject", "note": "The link leads to another product."},
        codes=(Code.NOT_FOUND, Code.INVALID_STATE, Code.PROFILE_REQUIRED),
    ),
    admin_read(
        name="listSponsors",
        path="/api/v1/admin/sponsorships/sponsors",
        summary="List sponsors",
        description="Returns the accounts that have a sponsor profile, newest first.",
        handler=list_sponsors,
        result=SponsorPage,
        query=SponsorsQuery,
        spreadsheet=True,
    ),
    admin_read(
        name="listSlots",
        path="/api/v1/admin/sponsorships/slots",
        summary="List slots",
        description="Returns all slots ordered by id, including retired ones.",
        handler=list_slots,
        result=SlotList,
        query=SlotsQuery,
        spreadsheet=True,
    ),
    admin_write(
        name="createSlot",
        method="POST",
        path="/api/v1/admin/sponsorships/slots",
        summary="Create a slot",
        description="Creates a slot. If you send no id, one is generated.",
        handler=create_slot,
        result=SlotAnswer,
        body=SlotCreate,
        leads_to=dict.fromkeys(("editSlot", "retireSlot"), "/slot/id"),
        example={"id": "left-top", "name": "Left, top", "side": "left", "weekPriceCents": 12_000},
        codes=(Code.INVALID_STATE,),
    ),
    admin_write(
        name="editSlot",
        method="PATCH",
        path="/api/v1/admin/sponsorships/slots/{id}",
        summary="Edit a slot",
        description="Changes the fields that you send. Existing bookings keep their name, package, price and weeks. The "
        "`side` cannot change while weeks are booked that are not over; the API returns 409 and names them. To bring back "
        "a retired slot, set it active.",
        handler=edit_slot,
        result=SlotAnswer,
        body=SlotEdit,
        example={"weekPriceCents": 15_000, "offerEndsAt": None},
        codes=(Code.NOT_FOUND, Code.INVALID_STATE),
    ),
    admin_write(
        name="retireSlot",
        method="DELETE",
        path="/api/v1/admin/sponsorships/slots/{id}",
        summary="Retire a slot",
        description="Stops showing and selling the slot. Existing bookings stay. Repeating the request has no effect.",
        handler=retire_slot,
        result=SlotAnswer,
        codes=(Code.NOT_FOUND,),
    ),
    admin_read(
        name="listAllBookings",
        path="/api/v1/admin/sponsorships/bookings",
        summary="List all bookings",
        description="Returns the bookings of every sponsor, newest first. For those whose payment needs attention, use "
        "`trouble=true`.",
        handler=list_bookings,
        result=BookingPage,
        query=BookingsQuery,
        spreadsheet=True,
    ),
    admin_write(
        name="describeVideo",
        method="PATCH",
        path="/api/v1/admin/sponsorships/bookings/{id}",
        summary="Describe the video of a booking",
        description="Sets the status of the video in a package. A published video needs its address.",
        handler=describe_video,
        result=BookingAnswer,
        body=VideoEdit,
        example={"youtubeStatus": "published", "youtubeUrl": "https://video.example.com/watch/1"},
        codes=(Code.NOT_FOUND, Code.INVALID_STATE),
    ),
    admin_write(
        name="refundBooking",
        method="POST",
        path="/api/v1/admin/sponsorships/bookings/{id}/refund",
        summary="Refund a booking",
        description="Refunds all that is left of the payment. The booking stays `refunding` until the payment "
        "processor confirms. Repeating the request has no effect.",
        handler=refund,
        result=BookingAnswer,
        body=RefundBody,
        body_optional=True,
        example={"reason": "The week was not delivered."},
        codes=(Code.NOT_FOUND, Code.INVALID_STATE),
    ),
)
