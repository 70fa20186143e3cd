"""Operations 13 to 16: the calling account as a sponsor, its profile and its campaigns."""

from functools import partial

from actors.bookings.campaigns import unknown_campaign
from actors.bookings.records import CampaignView
from actors.bookings.store import Before
from actors.bookings.transitions import CampaignMove
from actors.values import Code, Refused, Scope
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import NO_STORE, Answer
from service.api.operation import Call, Handler, Operation
from service.api.operations.listing import listed
from service.api.policy import Access
from service.schemas.campaigns import Campaign, CampaignAnswer, CampaignBody, CampaignEdit, CampaignPage
from service.schemas.fields import may_exist
from service.schemas.lists import SponsorshipQuery
from service.schemas.sponsors import Identity, Profile, ProfileBody, ProfileSaved


async def read_identity(services: Services, call: Call) -> Answer | Refused:
    caller = call.caller
    sponsor = await services.sponsorship.sponsor(caller.owner)
    shown = Identity(
        profile=None if sponsor is None else Profile(name=sponsor.name, website=sponsor.website),
        email=caller.email,
        isAdmin=caller.admin,
        isDemo=sponsor is not None and sponsor.demo,
        scopes=list(caller.scopes),
        billingMode=services.config.billing.mode,
    )
    return Answer.of(shown, [*NO_STORE])


async def save_profile(services: Services, call: Call) -> Answer | Refused:
    body: ProfileBody = call.body
    sponsor = await services.ledger.save_profile(call.caller.owner, body.name, body.website, call.caller.agent)
    return Answer.of(ProfileSaved(profile=Profile(name=sponsor.name, website=sponsor.website)), [*NO_STORE])


async def list_campaigns(services: Services, call: Call) -> Answer | Refused:
    return await listed(
        services,
        call,
        "campaigns",
        partial(services.sponsorship.campaigns, call.caller.owner),
        place_of_campaign,
        Campaign.of,
        CampaignPage,
    )


def place_of_campaign(view: CampaignView) -> Before:
    return Before(view.campaign.created_ms, view.campaign.id)


async def create_campaign(services: Services, call: Call) -> Answer | Refused:
    body: CampaignBody = call.body
    return _shown(
        await services.ledger.create_campaign(
            call.caller.owner, body.name, body.content(), call.caller.agent, call.idempotency_key
        )
    )


async def read_campaign(services: Services, call: Call) -> Answer | Refused:
    campaign_id = call.path_values["id"]
    found = await services.sponsorship.campaign(call.caller.owner, campaign_id) if may_exist(campaign_id) else None
    return _shown(found or unknown_campaign())


async def edit_campaign(services: Services, call: Call) -> Answer | Refused:
    body: CampaignEdit = call.body
    campaign_id = call.path_values["id"]
    if not may_exist(campaign_id):
        return unknown_campaign()
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
    return _shown(view)


def _moving(move: CampaignMove) -> Handler:
    async def handler(services: Services, call: Call) -> Answer | Refused:
        campaign_id = call.path_values["id"]
        if not may_exist(campaign_id):
            return unknown_campaign()
        return _shown(await services.ledger.move_campaign(call.caller.owner, campaign_id, move, call.caller.agent))

    return handler


def _shown(view: CampaignView | Refused) -> Answer | Refused:
    return view if isinstance(view, Refused) else Answer.of(CampaignAnswer(campaign=Campaign.of(view)), [*NO_STORE])


_sponsors = partial(Operation, family=Family.SPONSORSHIP, tag="Sponsors", access=Access.REQUIRED, metered=True)
_campaigns = partial(_sponsors, tag="Campaigns")
_writing = partial(_campaigns, scopes=(Scope.SPONSOR_WRITE,), result=CampaignAnswer)


def _move(move: CampaignMove, summary: str, description: str) -> Operation:
    return _writing(
        name=f"{move}Campaign",
        method="POST",
        path=f"/api/v1/sponsors/campaigns/{{id}}/{move}",
        summary=summary,
        description=description,
        handler=_moving(move),
        codes=(Code.NOT_FOUND, Code.INVALID_STATE),
    )


ROWS = (
    _sponsors(
        name="getSponsor",
        method="GET",
        path="/api/v1/sponsors/me",
        summary="Who the calling key stands for",
        description="The account's profile, email and standing, and the scopes that the key holds now.",
        handler=read_identity,
        result=Identity,
        scopes=(Scope.SPONSOR_READ,),
    ),
    _sponsors(
        name="saveProfile",
        method="PATCH",
        path="/api/v1/sponsors/profile",
        summary="Save the sponsor profile",
        description="The name that visitors see, and the sponsor's website. Needed before the first booking.",
        handler=save_profile,
        result=ProfileSaved,
        body=ProfileBody,
        example={"name": "Example Tools", "website": "https://tools.example.com/"},
        scopes=(Scope.SPONSOR_WRITE,),
    ),
    _campaigns(
        name="listCampaigns",
        method="GET",
        path="/api/v1/sponsors/campaigns",
        summary="List your campaigns",
        description="The newest first.",
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
        description="A creative, which waits for review. It can be booked at once, and is shown once it is approved. "
        "Repeating an Idempotency-Key with the same body gives the same campaign as it is now; another body is refused.",
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
    ),
    _campaigns(
        name="getCampaign",
        method="GET",
        path="/api/v1/sponsors/campaigns/{id}",
        summary="Read one campaign",
        description="A campaign of yours, with what the last review said.",
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
        description="Changes the fields that are given. An approved or paused campaign whose content changes is reviewed "
        "again, and is not shown meanwhile; its name is for you only.",
        handler=edit_campaign,
        body=CampaignEdit,
        example={"headline": "Ship your first agent this week"},
        codes=(Code.NOT_FOUND,),
    ),
    _move(CampaignMove.SUBMIT, "Submit a campaign", "A draft or rejected campaign is reviewed (again)."),
    _move(CampaignMove.WITHDRAW, "Withdraw a campaign", "A campaign that waits for review becomes a draft."),
    _move(CampaignMove.PAUSE, "Pause a campaign", "An approved campaign is not shown until it is resumed."),
    _move(CampaignMove.RESUME, "Resume a campaign", "A paused campaign is shown again."),
)
