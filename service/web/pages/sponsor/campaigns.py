"""A sponsor's campaigns: the list, the form for a new one, and one campaign with its creative, preview and moves."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from actors.bookings.records import CampaignStatus
from actors.bookings.transitions import CAMPAIGN_MOVES, CampaignMove, after
from service.web.pages.parts.badges import CAMPAIGNS
from service.web.pages.parts.filters import STATE
from service.web.pages.parts.forms import Field, Form, address_of, line_of
from service.web.pages.parts.messages import ADDRESS
from service.web.pages.parts.page import Act, Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.parts.paging import numbered, page_at

HEADLINE = Field("Headline", "Write a headline.")
BODY = Field("Text", "Write the text of the ad.")
PATH = "/sponsor/campaigns"
NAME_CHARACTERS = 80
PAGE_ADS = 12
READ_ADS = 50
"""The most ads of one read."""
MOST_ADS = 1_000
"""The newest ads that are searched. More than `campaigns.per_account` is by default."""

Json = Mapping[str, Any]

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
    """The ads that match a search and a state, as readers see them, with what they reached lately and until when they run."""
    ads, more = await _all_ads(request)
    q, state = request.query.get("q", "").strip(), request.query.get("state", "")
    found = [each for each in ads if _matches(each, q.casefold())]
    wanted = [each for each in found if state in ("", each["status"])]
    at = partial(page_at, PATH, q=q)
    chips = [(at(), "All", len(found), not state)]
    for status, words in CAMPAIGNS.items():
        number = sum(each["status"] == status for each in found)
        if number or state == status:
            chips.append((at(state=status.value), words.words, number, state == status))

    def address(page: int) -> str:
        return at(state=state, page=str(page) if page > 1 else None)

    page = numbered(wanted, PAGE_ADS, request.query.get("page", ""), address)
    values = {
        "ads": [_card(each) for each in page.rows],
        "total": len(ads),
        "more": more,
        "q": q,
        "state": state,
        "filters": chips,
        "paging": page.paging,
        "reached": await _reached(request),
        "until": await _until(request),
    }
    if state and state not in list(CampaignStatus):
        return Template("sponsor_campaigns.html", values | {"problem": STATE}, status=400)
    return Template("sponsor_campaigns.html", values)


async def _all_ads(request: PageRequest) -> tuple[list[Json], bool]:
    """The newest ads of the account, and whether it has more. An account has at most `campaigns.per_account`."""
    ads: list[Json] = []
    cursor = None
    for _ in range(MOST_ADS // READ_ADS):
        listed = (await request.ask("listCampaigns", query={"cursor": cursor, "limit": READ_ADS})).or_raise()
        ads += listed["items"]
        cursor = listed["cursor"]
        if not listed["hasMore"]:
            return ads, False
    return ads, True


def _card(ad: Json) -> Json:
    """An ad as its newest words have it, also those that wait for review."""
    return {**ad, **(ad.get("pendingRevision") or {}), "status": ad["status"]}


def _matches(ad: Json, q: str) -> bool:
    shown = _card(ad)
    return not q or any(q in shown[name].casefold() for name in ("name", "headline", "body", "targetUrl"))


async def _reached(request: PageRequest) -> dict[str, Json]:
    """The sums of the last `USUAL_DAYS` by ad. Empty if there are too many to add up at once."""
    figures = await request.ask("readFigures", query={"by": "campaign", "rows": 2 * READ_ADS, "compared": 0})
    tables = {} if figures.refused is not None else figures.json["tables"]
    return {each["campaignId"]: each for each in tables["campaign"]["items"]} if tables else {}


async def _until(request: PageRequest) -> dict[str, int]:
    """The end of the last week that is paid, by ad, of those that run or will."""
    present = (await request.ask("readOverview")).or_raise()["present"]
    ends: dict[str, int] = {}
    for each in present:
        if each["status"] == "paid":
            ends[each["campaignId"]] = max(each["weekEnd"], ends.get(each["campaignId"], 0))
    return ends


async def new(request: PageRequest) -> Template:
    """The form of a new ad: empty, as typed, or with the words of the ad that `from` names."""
    values: dict[str, Any] = {"me": (await request.ask("getSponsor")).or_raise(), "shown": request.form}
    source = request.query.get("from")
    if source and not request.form:
        found = _card((await request.ask("getCampaign", path={"id": source})).or_raise()["campaign"])
        values["shown"] = {**found, "name": f"Copy of {found['name']}"[:NAME_CHARACTERS]}
    return Template("sponsor_campaign_new.html", values)


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
    Page(PATH, campaigns, who=Audience.ACCOUNT),
    Page("/sponsor/campaigns/new", new, {"create": create}, Audience.ACCOUNT, forms={"create": FORM}),
    Page(
        "/sponsor/campaigns/{id}",
        campaign,
        {"save": save, "save-and-submit": save_and_submit, **{move.value: _moving(move) for move in OWNERS_MOVES}},
        Audience.ACCOUNT,
        forms={"save": FORM, "save-and-submit": FORM},
    ),
)
