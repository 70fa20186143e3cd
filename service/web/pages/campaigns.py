"""A sponsor's campaigns: their list, a new one, and one with its creative, its preview and its moves."""

from actors.bookings.records import CampaignStatus
from actors.bookings.transitions import CAMPAIGN_MOVES, CampaignMove, after
from service.web.pages.page import Act, Audience, FormError, Page, PageRequest, SeeOther, Template

FIELDS = ("name", "headline", "body", "cta", "targetUrl", "logoText")
OWNERS_MOVES = (CampaignMove.SUBMIT, CampaignMove.WITHDRAW, CampaignMove.PAUSE, CampaignMove.RESUME)


async def campaigns(request: PageRequest) -> Template:
    cursor = request.query.get("cursor")
    listed = (await request.ask("listCampaigns", query={"cursor": cursor})).or_refused()
    return Template("sponsor_campaigns.html", {"campaigns": listed, "cursor": cursor})


async def new(request: PageRequest) -> Template:
    return Template("sponsor_campaign_new.html", {"me": (await request.ask("getSponsor")).or_refused()})


async def create(request: PageRequest) -> SeeOther | FormError:
    result = await request.ask("createCampaign", body=_typed(request), idempotency_key=request.form.get("form_id"))
    if result.refused is not None:
        return FormError(result.refused)
    return SeeOther(_place(result.json["campaign"]["id"]), "campaign_created")


async def campaign(request: PageRequest) -> Template:
    path = {"id": request.path_values["id"]}
    shown = (await request.ask("getCampaign", path=path)).or_refused()["campaign"]
    status = CampaignStatus(shown["status"])
    moves = [move.value for move in OWNERS_MOVES if after(CAMPAIGN_MOVES, status, move) is not None]
    return Template("sponsor_campaign.html", {"campaign": shown, "moves": moves})


async def save(request: PageRequest) -> SeeOther | FormError:
    campaign_id = request.path_values["id"]
    result = await request.ask("editCampaign", path={"id": campaign_id}, body=_typed(request))
    return SeeOther(_place(campaign_id), "campaign_saved") if result.refused is None else FormError(result.refused)


def _moving(move: CampaignMove) -> Act:
    async def act(request: PageRequest) -> SeeOther | FormError:
        campaign_id = request.path_values["id"]
        result = await request.ask(f"{move}Campaign", path={"id": campaign_id})
        return (
            SeeOther(_place(campaign_id), f"campaign_{move}") if result.refused is None else FormError(result.refused)
        )

    return act


def _typed(request: PageRequest) -> dict[str, str]:
    """What was typed, as it was: what is right is the operation's to say."""
    return {name: request.form.get(name, "") for name in FIELDS}


def _place(campaign_id: str) -> str:
    return f"/sponsor/campaigns/{campaign_id}"


PAGES = (
    Page("/sponsor/campaigns", campaigns, who=Audience.ACCOUNT),
    Page("/sponsor/campaigns/new", new, {"create": create}, Audience.ACCOUNT),
    Page(
        "/sponsor/campaigns/{id}",
        campaign,
        {"save": save, **{move.value: _moving(move) for move in OWNERS_MOVES}},
        Audience.ACCOUNT,
    ),
)
