"""Operations 23 to 26 and what else administrators do: review, slots, bookings, refunds, the audit."""

from functools import partial

from actors.bookings.campaigns import unknown_campaign
from actors.bookings.changes import unknown_booking
from actors.bookings.records import CampaignStatus, Content, Slot, Sponsor, YoutubeStatus
from actors.bookings.slots import unknown_slot
from actors.bookings.store import Before
from actors.bookings.transitions import CampaignMove
from actors.values import AuditRecord, Code, Refused, Scope
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import NO_STORE, Answer
from service.api.operation import Call, Operation
from service.api.operations.bookings import booking_of, place_of_booking, shown
from service.api.operations.listing import listed
from service.api.operations.sponsors import place_of_campaign
from service.api.policy import Access
from service.schemas.audit import Audit, AuditPage
from service.schemas.bookings import BookingAnswer, BookingPage, RefundBody, VideoEdit
from service.schemas.campaigns import Campaign, CampaignAnswer, CampaignPage, Review
from service.schemas.fields import may_exist
from service.schemas.inventory import SlotAnswer, SlotList, admin_slot_of
from service.schemas.lists import AuditQuery, CampaignsQuery, SponsorshipQuery
from service.schemas.slots import SlotCreate, SlotEdit, offer_over
from service.schemas.sponsors import Sponsor as ShownSponsor
from service.schemas.sponsors import SponsorPage


async def list_campaigns(services: Services, call: Call) -> Answer | Refused:
    query: CampaignsQuery = call.query
    status = None if query.status is None else CampaignStatus(query.status)
    order = query.order or "newest"
    fetch = partial(services.sponsorship.everybodys_campaigns, status, oldest=order == "oldest")
    # A cursor of one order would lead astray in another.
    name = f"all campaigns {query.status} {order}"
    return await listed(services, call, name, fetch, place_of_campaign, Campaign.of, CampaignPage)


async def review(services: Services, call: Call) -> Answer | Refused:
    body: Review = call.body
    campaign_id = call.path_values["id"]
    if not may_exist(campaign_id):
        return unknown_campaign()
    shown, seen, seen_as = body.seen, None, None
    if shown is not None:
        seen = Content(shown.headline, shown.body, shown.cta, shown.targetUrl, shown.logoText)
        seen_as = shown.sponsorName
    view = await services.ledger.move_campaign(
        None, campaign_id, CampaignMove(body.decision), call.caller.agent, body.note, seen, seen_as
    )
    return view if isinstance(view, Refused) else Answer.of(CampaignAnswer(campaign=Campaign.of(view)), [*NO_STORE])


async def list_sponsors(services: Services, call: Call) -> Answer | Refused:
    def place(sponsor: Sponsor) -> Before:
        return Before(sponsor.created_ms, sponsor.id)

    fetch = services.sponsorship.sponsors
    return await listed(services, call, "all sponsors", fetch, place, ShownSponsor.of, SponsorPage)


async def list_bookings(services: Services, call: Call) -> Answer | Refused:
    fetch = partial(services.sponsorship.bookings, None)
    show = partial(booking_of, services)
    return await listed(services, call, "all bookings", fetch, place_of_booking, show, BookingPage)


async def refund(services: Services, call: Call) -> Answer | Refused:
    body: RefundBody | None = call.body
    booking_id = call.path_values["id"]
    if not may_exist(booking_id):
        return unknown_booking()
    reason = None if body is None else body.reason
    view = await services.ledger.order_refund(booking_id, reason, call.caller.agent)
    if not isinstance(view, Refused):
        services.sweeper.wake()
    return shown(services, view)


CLEARABLE = {"youtubeUrl": "youtube_url", "youtubeNotes": "youtube_notes"}
"""Fields of a video that null takes away, and what the ledger calls them."""


async def describe_video(services: Services, call: Call) -> Answer | Refused:
    body: VideoEdit = call.body
    booking_id = call.path_values["id"]
    if not may_exist(booking_id):
        return unknown_booking()
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
    return shown(services, view)


async def list_audit(services: Services, call: Call) -> Answer | Refused:
    def place(record: AuditRecord) -> Before:
        return Before(record.created_ms, record.id)

    query: AuditQuery = call.query
    fetch = partial(services.sponsorship.audit, target_id=query.targetId)
    return await listed(services, call, f"audit {query.targetId}", fetch, place, Audit.of, AuditPage)


async def list_slots(services: Services, call: Call) -> Answer | Refused:
    slots = await services.sponsorship.slots()
    return Answer.of(SlotList(items=[admin_slot_of(slot) for slot in slots]), [*NO_STORE])


async def create_slot(services: Services, call: Call) -> Answer | Refused:
    body: SlotCreate = call.body
    refused = offer_over(body, services.clock.now_ms())
    if refused is not None:
        return refused
    return _slot(await services.ledger.create_slot(agent=call.caller.agent, **body.arguments()))


async def edit_slot(services: Services, call: Call) -> Answer | Refused:
    body: SlotEdit = call.body
    slot_id = call.path_values["id"]
    if not may_exist(slot_id):
        return unknown_slot()
    refused = offer_over(body, services.clock.now_ms())
    if refused is not None:
        return refused
    return _slot(await services.ledger.edit_slot(slot_id, call.caller.agent, **body.arguments()))


async def retire_slot(services: Services, call: Call) -> Answer | Refused:
    slot_id = call.path_values["id"]
    if not may_exist(slot_id):
        return unknown_slot()
    return _slot(await services.ledger.retire_slot(slot_id, call.caller.agent))


def _slot(slot: Slot | Refused) -> Answer | Refused:
    return slot if isinstance(slot, Refused) else Answer.of(SlotAnswer(slot=admin_slot_of(slot)), [*NO_STORE])


_administering = partial(
    Operation, family=Family.SPONSORSHIP, tag="Administration", access=Access.REQUIRED, metered=True, admin=True
)
_reading = partial(_administering, method="GET", scopes=(Scope.ADMIN_READ,))
_writing = partial(_administering, scopes=(Scope.ADMIN_WRITE,))

ROWS = (
    _reading(
        name="listAllCampaigns",
        path="/api/v1/admin/sponsorships/campaigns",
        summary="List all campaigns",
        description="Those of every sponsor, the newest first; `status=pending&order=oldest` is the queue of a review.",
        handler=list_campaigns,
        result=CampaignPage,
        query=CampaignsQuery,
    ),
    _writing(
        name="reviewCampaign",
        method="POST",
        path="/api/v1/admin/sponsorships/campaigns/{id}/review",
        summary="Review a campaign",
        description="Approve or reject a campaign that waits for review, pause one that is approved, resume a paused one. "
        "A rejection needs a note, which its sponsor reads. With `seen` only what you have read is decided on.",
        handler=review,
        result=CampaignAnswer,
        body=Review,
        example={"decision": "reject", "note": "The link leads to another product."},
        codes=(Code.NOT_FOUND, Code.INVALID_STATE, Code.PROFILE_REQUIRED),
    ),
    _reading(
        name="listSponsors",
        path="/api/v1/admin/sponsorships/sponsors",
        summary="List sponsors",
        description="Accounts with a sponsor profile, the newest first.",
        handler=list_sponsors,
        result=SponsorPage,
        query=SponsorshipQuery,
    ),
    _reading(
        name="listSlots",
        path="/api/v1/admin/sponsorships/slots",
        summary="List slots",
        description="All slots by id, retired ones too.",
        handler=list_slots,
        result=SlotList,
    ),
    _writing(
        name="createSlot",
        method="POST",
        path="/api/v1/admin/sponsorships/slots",
        summary="Create a slot",
        description="Without an id it gets one.",
        handler=create_slot,
        result=SlotAnswer,
        body=SlotCreate,
        leads_to=dict.fromkeys(("editSlot", "retireSlot"), "/slot/id"),
        example={"id": "left-top", "name": "Left, top", "side": "left", "weekPriceCents": 12_000},
        codes=(Code.INVALID_STATE,),
    ),
    _writing(
        name="editSlot",
        method="PATCH",
        path="/api/v1/admin/sponsorships/slots/{id}",
        summary="Edit a slot",
        description="Changes the fields that are given. What is booked already keeps its price and weeks. Making a retired "
        "slot active brings it back.",
        handler=edit_slot,
        result=SlotAnswer,
        body=SlotEdit,
        example={"weekPriceCents": 15_000, "offerEndsAt": None},
        codes=(Code.NOT_FOUND,),
    ),
    _writing(
        name="retireSlot",
        method="DELETE",
        path="/api/v1/admin/sponsorships/slots/{id}",
        summary="Retire a slot",
        description="It is shown and sold no more; what is booked stays. Repeating it changes nothing.",
        handler=retire_slot,
        result=SlotAnswer,
        codes=(Code.NOT_FOUND,),
    ),
    _reading(
        name="listAllBookings",
        path="/api/v1/admin/sponsorships/bookings",
        summary="List all bookings",
        description="Those of every sponsor, the newest first.",
        handler=list_bookings,
        result=BookingPage,
        query=SponsorshipQuery,
    ),
    _writing(
        name="describeVideo",
        method="PATCH",
        path="/api/v1/admin/sponsorships/bookings/{id}",
        summary="Say how far a booking's video is",
        description="For packages with a video. A published one needs its address.",
        handler=describe_video,
        result=BookingAnswer,
        body=VideoEdit,
        example={"youtubeStatus": "published", "youtubeUrl": "https://video.example.com/watch/1"},
        codes=(Code.NOT_FOUND, Code.INVALID_STATE),
    ),
    _writing(
        name="refundBooking",
        method="POST",
        path="/api/v1/admin/sponsorships/bookings/{id}/refund",
        summary="Refund a booking",
        description="All of it. The booking is refunding until the processor has paid back; ordering it again is harmless.",
        handler=refund,
        result=BookingAnswer,
        body=RefundBody,
        body_optional=True,
        example={"reason": "The week was not delivered."},
        codes=(Code.NOT_FOUND, Code.INVALID_STATE),
    ),
    _reading(
        name="listAudit",
        path="/api/v1/admin/sponsorships/audit",
        summary="Read the audit",
        description="Every change and who made it, the newest first; with `targetId` the history of one thing.",
        handler=list_audit,
        result=AuditPage,
        query=AuditQuery,
    ),
)
