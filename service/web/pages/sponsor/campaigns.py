"""A sponsor's campaigns: the list, the form for a new one, and one campaign with its creative, preview and moves."""

from actors.bookings.records import CampaignStatus
from actors.bookings.transitions import CAMPAIGN_MOVES, CampaignMove, after
from service.web.pages.parts.forms import Field, Form, address_of, line_of
from service.web.pages.parts.messages import ADDRESS
from service.web.pages.parts.page import Act, Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.parts.paging import paged

HEADLINE = Field("Headline", "Write a headline.")
BODY = Field("Text", "Write the text of the ad.")
FORM = Form(
    {
        "name": Field("Name of the ad", "Write a name for the ad."),
        "headline": HEADLINE,
        "body": BODY,
        "cta": Field("Call to action", "Write the call to action, such as Learn more."),
        "targetUrl": Field("Target address", ADDRESS),
        "logoText": Field("Logo letters", "Write one to three letters."),
    }
)
OWNERS_MOVES = (CampaignMove.WITHDRAW, CampaignMove.PAUSE, CampaignMove.RESUME)
"""Those with a button of their own. A campaign is submitted with the words in its form."""


async def campaigns(request: PageRequest) -> Template:
    cursor = request.query.get("cursor")
    listed = (await request.ask("listCampaigns", query={"cursor": cursor})).or_raise()
    return Template("sponsor_campaigns.html", {"campaigns": listed, "paging": paged(request, listed)})


async def new(request: PageRequest) -> Template:
    return Template("sponsor_campaign_new.html", {"me": (await request.ask("getSponsor")).or_raise()})


async def create(request: PageRequest) -> SeeOther | FormError:
    result = await request.ask("createCampaign", body=_typed(request), idempotency_key=request.form.get("form_id"))
    if result.refused is not None:
        return FormError(result.refused)
    return SeeOther(f"/sponsor/campaigns/{result.json['campaign']['id']}", "campaign_created")


async def campaign(request: PageRequest) -> Template:
    found = (await request.ask("getCampaign", path=request.path_values)).or_raise()["campaign"]
    status = CampaignStatus(found["status"])
    moves = [move.value for move in OWNERS_MOVES if after(CAMPAIGN_MOVES, status, move) is not None]
    if found.get("pendingRevision"):
        moves.append(CampaignMove.WITHDRAW.value)
    return Template("sponsor_campaign.html", {"campaign": found, "moves": moves})


async def save(request: PageRequest) -> SeeOther | FormError:
    result = await request.ask("editCampaign", path=request.path_values, body=_typed(request))
    edited = result.refused is None and result.json["campaign"].get("pendingRevision")
    return result.see_other(request.path, "edit_saved" if edited else "campaign_saved")


async def save_and_submit(request: PageRequest) -> SeeOther | FormError:
    """Send the words as they stand in the form for review. They are saved even if sending them is refused."""
    saved = await save(request)
    if isinstance(saved, FormError):
        return saved
    result = await request.ask("submitCampaign", path=request.path_values)
    return result.see_other(request.path, "campaign_submit")


def _moving(move: CampaignMove) -> Act:
    async def act(request: PageRequest) -> SeeOther | FormError:
        result = await request.ask(f"{move}Campaign", path=request.path_values)
        edit = move is CampaignMove.WITHDRAW and result.refused is None and result.json["campaign"]["status"] != "draft"
        return result.see_other(request.path, "edit_withdrawn" if edit else f"campaign_{move}")

    return act


def _typed(request: PageRequest) -> dict[str, str]:
    """The fields as typed, each on one line; the operation validates them."""
    return {name: line_of(request.form, name) for name in FORM.fields} | {
        "targetUrl": address_of(request.form, "targetUrl")
    }


PAGES = (
    Page("/sponsor/campaigns", campaigns, who=Audience.ACCOUNT),
    Page("/sponsor/campaigns/new", new, {"create": create}, Audience.ACCOUNT, forms={"create": FORM}),
    Page(
        "/sponsor/campaigns/{id}",
        campaign,
        {"save": save, "save-and-submit": save_and_submit, **{move.value: _moving(move) for move in OWNERS_MOVES}},
        Audience.ACCOUNT,
        forms={"save": FORM, "save-and-submit": FORM},
    ),
)
