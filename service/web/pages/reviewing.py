"""The review queue: each campaign as visitors will see it, with its changes since the last approval."""

from collections.abc import Mapping
from typing import Any

from actors.values import Code, Refused
from service.web.pages.history import LABELS, News, news_of
from service.web.pages.page import Act, Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.paging import following, this_page
from service.web.pages.typed import text_of

SHOWN = 10
"""Campaigns on one page. Each that waits for review costs a query of its history."""

HISTORY = 50
"""Records of a campaign's history in which the page looks for the last approval."""

STATES = ("pending", "approved", "paused", "rejected", "draft")
MOVES: Mapping[str, tuple[str, ...]] = {
    "pending": ("approve", "reject"),
    "approved": ("pause", "reject"),
    "paused": ("resume", "reject"),
}
"""The decisions on a campaign in each state, the usual one first."""

SEEN = ("headline", "body", "cta", "targetUrl", "logoText", "sponsorName")
"""The reviewed content, which the form sends back with the decision."""


async def queue(request: PageRequest) -> Template:
    state = request.query.get("status") or STATES[0]
    order = "oldest" if state == STATES[0] else "newest"
    query = {"status": state, "order": order, "limit": SHOWN, "cursor": request.query.get("cursor")}
    page = (await request.ask("listAllCampaigns", query=query)).or_refused()
    entries = [
        {
            "campaign": campaign | campaign.get("pendingRevision", {}),
            "on_the_air": bool(campaign.get("pendingRevision")),
            "news": await _news(request, campaign),
        }
        for campaign in page["items"]
    ]
    values = {
        "entries": entries,
        "state": state,
        "states": STATES,
        "moves": MOVES.get(state, ()),
        "labels": LABELS,
        "seen": SEEN,
        "action": this_page(request, "status", "cursor"),
        "older": following(request, page, "status"),
    }
    return Template("admin_reviews.html", values)


async def _news(request: PageRequest, campaign: Mapping[str, Any]) -> News | None:
    if campaign["status"] != "pending" and not campaign.get("pendingRevision"):
        return None
    query = {"targetId": campaign["id"], "limit": HISTORY}
    audit = (await request.ask("listAudit", query=query)).or_refused()
    return news_of(campaign, audit["items"], complete=not audit["hasMore"])


def _deciding(decision: str) -> Act:
    async def act(request: PageRequest) -> SeeOther | FormError:
        note = text_of(request.form, "note")
        if decision == "reject" and note is None:
            words = "A rejection needs a note. The sponsor reads it."
            return FormError(Refused(Code.INVALID_REQUEST, words))
        seen = {name: request.form[name] for name in SEEN if name in request.form}
        body = {"decision": decision, "seen": seen} | ({} if note is None else {"note": note})
        result = await request.ask("reviewCampaign", path={"id": request.form.get("campaign", "")}, body=body)
        if result.refused is not None:
            return FormError(result.refused)
        return SeeOther(this_page(request, "status"), f"campaign_{result.json['campaign']['status']}")

    return act


DECISIONS = ("approve", "reject", "pause", "resume")

PAGES = (Page("/admin", queue, {decision: _deciding(decision) for decision in DECISIONS}, Audience.ADMIN),)
