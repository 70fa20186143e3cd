"""Operations on the calling account's sponsor profile and campaigns (specification, 13 to 16)."""

from functools import partial

from actors.bookings.campaigns import unknown_campaign
from actors.bookings.records import BillingDetails as BillingDetailsRecord
from actors.bookings.records import CampaignView
from actors.bookings.store import Before
from actors.bookings.transitions import CampaignMove
from actors.values import Code, Refused, Scope
from service.api.context import Services
from service.api.messages import Answer, respond
from service.api.operation import Call, Handler, Operation, account_operation
from service.api.operations.responses import list_page, newest_first, with_id
from service.schemas.campaigns import Campaign, CampaignAnswer, CampaignBody, CampaignEdit, CampaignPage
from service.schemas.lists import SponsorshipQuery
from service.schemas.sponsors import (
    BillingDetails,
    BillingDetailsAnswer,
    BillingDetailsBody,
    BillingDetailsSaved,
    Identity,
    Profile,
    ProfileBody,
    ProfileSaved,
)


async def read_identity(services: Services, call: Call) -> Answer | Refused:
    caller = call.caller
    sponsor = await services.sponsorship.sponsor(caller.owner)
    return Answer.of(
        Identity(
            profile=None if sponsor is None else Profile.of(sponsor),
            email=caller.email,
            isAdmin=caller.admin,
            isDemo=sponsor is not None and sponsor.demo,
            scopes=list(caller.scopes),
            billingMode=services.config.billing.mode,
        )
    )


async def save_profile(services: Services, call: Call) -> Answer | Refused:
    body: ProfileBody = call.body
    sponsor = await services.ledger.save_profile(call.caller.owner, agent=call.caller.agent, **body.model_dump())
    return Answer.of(ProfileSaved(profile=Profile.of(sponsor)))


async def read_billing_details(services: Services, call: Call) -> Answer | Refused:
    found = await services.sponsorship.billing_details(call.caller.owner)
    return Answer.of(BillingDetailsAnswer(billingDetails=None if found is None else BillingDetails.of(found)))


async def save_billing_details(services: Services, call: Call) -> Answer | Refused:
    body: BillingDetailsBody = call.body
    details = BillingDetailsRecord(
        call.caller.owner,
        body.legalName,
        body.address,
        body.country,
        body.taxId or "",
        body.reference or "",
        body.email or "",
    )
    saved = await services.ledger.save_billing_details(details, call.caller.agent)
    return Answer.of(BillingDetailsSaved(billingDetails=BillingDetails.of(saved)))


async def list_campaigns(services: Services, call: Call) -> Answer | Refused:
    return await list_page(
        services,
        call,
        "campaigns",
        partial(services.sponsorship.campaigns, call.caller.owner),
        campaign_position,
        Campaign.of,
        CampaignPage,
    )


def campaign_position(view: CampaignView) -> Before:
    return newest_first(view.campaign)


async def create_campaign(services: Services, call: Call) -> Answer | Refused:
    body: CampaignBody = call.body
    view = await services.ledger.create_campaign(
        call.caller.owner, body.name, body.content(), call.caller.agent, call.idempotency_key
    )
    return respond(view, campaign_answer)


@with_id(unknown_campaign)
async def read_campaign(services: Services, call: Call, campaign_id: str) -> Answer | Refused:
    found = await services.sponsorship.campaign(call.caller.owner, campaign_id)
    return respond(found or unknown_campaign(), campaign_answer)


@with_id(unknown_campaign)
async def edit_campaign(services: Services, call: Call, campaign_id: str) -> Answer | Refused:
    body: CampaignEdit = call.body
    view = await services.ledger.edit_campaign(
        call.caller.owner,
        campaign_id,
        call.caller.agent,
        name=body.name,
        headline=body.headline,
        body=body.body,
        cta=body.cta,
        target_url=body.targetUrl,
        logo_text=body.logoText,
    )
    return respond(view, campaign_answer)


def _moving(move: CampaignMove) -> Handler:
    @with_id(unknown_campaign)
    async def handler(services: Services, call: Call, campaign_id: str) -> Answer | Refused:
        view = await services.ledger.move_campaign(call.caller.owner, campaign_id, move, call.caller.agent)
        return respond(view, campaign_answer)

    return handler


def campaign_answer(view: CampaignView) -> CampaignAnswer:
    return CampaignAnswer(campaign=Campaign.of(view))


_sponsors = partial(account_operation, tag="Sponsors")
_campaigns = partial(_sponsors, tag="Campaigns")
_writing = partial(_campaigns, scopes=(Scope.SPONSOR_WRITE,), result=CampaignAnswer, repeatable=True)


def _move(move: CampaignMove, summary: str, description: str) -> Operation:
    return _writing(
        name=f"{move}Campaign",
        method="POST",
        path=f"/api/v1/sponsors/campaigns/{{id}}/{move}",
        summary=summary,
        description=description,
        handler=_moving(move),
        codes=(Code.NOT_FOUND, Code.INVALID_STATE, *((Code.CAMPAIGN_LIMIT,) if move is CampaignMove.SUBMIT else ())),
        # A request that takes an ad off the air is never refused. A repetition needs a submission or a resumption between.
        repeatable=move in (CampaignMove.SUBMIT, CampaignMove.RESUME),
    )


ROWS = (
    _sponsors(
        name="getSponsor",
        method="GET",
        path="/api/v1/sponsors/me",
        summary="Get the calling account as a sponsor",
        description="Returns the account's sponsor profile, email and role, and the scopes that apply to this request.",
        handler=read_identity,
        result=Identity,
        scopes=(Scope.SPONSOR_READ,),
    ),
    _sponsors(
        name="saveProfile",
        repeatable=True,
        method="PATCH",
        path="/api/v1/sponsors/profile",
        summary="Save the sponsor profile",
        description="Saves the name that visitors see and the sponsor's website. A booking requires it.",
        handler=save_profile,
        result=ProfileSaved,
        body=ProfileBody,
        example={"name": "Example Tools", "website": "https://tools.example.com/"},
        scopes=(Scope.SPONSOR_WRITE,),
    ),
    _sponsors(
        name="getBillingDetails",
        method="GET",
        path="/api/v1/sponsors/billing-details",
        summary="Get the billing details",
        description="Returns what the account's next invoices name as their buyer; null until it is saved. Invoices name the "
        "brand without it.",
        handler=read_billing_details,
        result=BillingDetailsAnswer,
        scopes=(Scope.SPONSOR_READ,),
    ),
    _sponsors(
        name="saveBillingDetails",
        repeatable=True,
        method="PUT",
        path="/api/v1/sponsors/billing-details",
        summary="Save the billing details",
        description="Replaces what the account's next invoices name as their buyer. An invoice that exists keeps the details "
        "that it was made with, and so do its credit notes.",
        handler=save_billing_details,
        result=BillingDetailsSaved,
        body=BillingDetailsBody,
        example={
            "legalName": "Example Tools Ltd",
            "address": "1 Example Street\n8000 Zurich",
            "country": "CH",
            "taxId": "CHE-123.456.789 VAT",
            "reference": "PO 4711",
            "email": "invoices@tools.example.com",
        },
        scopes=(Scope.BILLING_WRITE,),
    ),
    _campaigns(
        name="listCampaigns",
        method="GET",
        path="/api/v1/sponsors/campaigns",
        summary="List your campaigns",
        description="Returns your campaigns, newest first.",
        handler=list_campaigns,
        result=CampaignPage,
        query=SponsorshipQuery,
        scopes=(Scope.SPONSOR_READ,),
    ),
    _writing(
        name="createCampaign",
        method="POST",
        path="/api/v1/sponsors/campaigns",
        summary="Create a campaign",
        description="Creates a campaign and submits it for review. You can book it immediately; it is shown after approval. "
        "A repeated Idempotency-Key with the same body returns the campaign as it is now.",
        handler=create_campaign,
        body=CampaignBody,
        leads_to=dict.fromkeys(("getCampaign", "editCampaign", "withdrawCampaign", "reviewCampaign"), "/campaign/id"),
        example={
            "name": "Autumn launch",
            "headline": "Ship your first agent today",
            "body": "Example Tools turns a prompt into a bot that answers your mail.",
            "cta": "Try it",
            "targetUrl": "https://tools.example.com/start",
            "logoText": "ET",
        },
        keyed=True,
        codes=(Code.CAMPAIGN_LIMIT,),
    ),
    _campaigns(
        name="getCampaign",
        method="GET",
        path="/api/v1/sponsors/campaigns/{id}",
        summary="Get one campaign",
        description="Returns one of your campaigns, with the note of its last review.",
        handler=read_campaign,
        result=CampaignAnswer,
        scopes=(Scope.SPONSOR_READ,),
        codes=(Code.NOT_FOUND,),
    ),
    _writing(
        name="editCampaign",
        method="PATCH",
        path="/api/v1/sponsors/campaigns/{id}",
        summary="Edit a campaign",
        description="Changes the fields that you send. New content is reviewed. An approved or paused campaign keeps "
        "its approved content until then, and the edit waits as `pendingRevision`. Changing the name needs no review, "
        "because only you see it.",
        handler=edit_campaign,
        body=CampaignEdit,
        example={"headline": "Ship your first agent this week"},
        codes=(Code.NOT_FOUND, Code.CAMPAIGN_LIMIT),
    ),
    _move(CampaignMove.SUBMIT, "Submit a campaign", "Submits a draft or rejected campaign for review."),
    _move(
        CampaignMove.WITHDRAW,
        "Withdraw a campaign",
        "Turns a pending campaign back into a draft, or drops an edit that waits for review.",
    ),
    _move(CampaignMove.PAUSE, "Pause a campaign", "Stops showing an approved campaign until you resume it."),
    _move(CampaignMove.RESUME, "Resume a campaign", "Shows a paused campaign again."),
)
