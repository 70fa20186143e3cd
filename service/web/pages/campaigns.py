"""A sponsor's campaigns: their list, a new one, and one with its creative, its preview and its moves."""

from actors.bookings.records import CampaignStatus
from actors.bookings.transitions import CAMPAIGN_MOVES, CampaignMove, after
from service.web.pages.page import Act, Audience, FormError, Page, PageRequest, SeeOther, Template

FIELDS = ("name", "headline", "body", "cta", "targetUrl", "logoText")
OWNERS_MOVES = (CampaignMove.SUBMIT, CampaignMove.WITHDRAW, CampaignMove.PAUSE, CampaignMove.RESUME)


async def campaigns(visit: PageRequest) -> Template:
    cursor = visit.query.get("cursor")
    listed = (await visit.ask("listCampaigns", query={"cursor": cursor})).or_refused()
    return Template("sponsor_campaigns.html", {"campaigns": listed, "cursor": cursor})


async def new(visit: PageRequest) -> Template:
    return Template("sponsor_campaign_new.html", {"me": (await visit.ask("getSponsor")).or_refused()})


async def create(visit: PageRequest) -> SeeOther | FormError:
    told = await visit.ask("createCampaign", body=_typed(visit), idempotency_key=visit.form.get("form_id"))
    if told.refused is not None:
        return FormError(told.refused)
    return SeeOther(_place(told.json["campaign"]["id"]), "campaign_created")


async def campaign(visit: PageRequest) -> Template:
    path = {"id": visit.path_values["id"]}
    shown = (await visit.ask("getCampaign", path=path)).or_refused()["campaign"]
    status = CampaignStatus(shown["status"])
    moves = [move.value for move in OWNERS_MOVES if after(CAMPAIGN_MOVES, status, move) is not None]
    return Template("sponsor_campaign.html", {"campaign": shown, "moves": moves})


async def save(visit: PageRequest) -> SeeOther | FormError:
    campaign_id = visit.path_values["id"]
    told = await visit.ask("editCampaign", path={"id": campaign_id}, body=_typed(visit))
    return SeeOther(_place(campaign_id), "campaign_saved") if told.refused is None else FormError(told.refused)


def _moving(move: CampaignMove) -> Act:
    async def act(visit: PageRequest) -> SeeOther | FormError:
        campaign_id = visit.path_values["id"]
        told = await visit.ask(f"{move}Campaign", path={"id": campaign_id})
        return SeeOther(_place(campaign_id), f"campaign_{move}") if told.refused is None else FormError(told.refused)

    return act


def _typed(visit: PageRequest) -> dict[str, str]:
    """What was typed, as it was: what is right is the operation's to say."""
    return {name: visit.form.get(name, "") for name in FIELDS}


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
