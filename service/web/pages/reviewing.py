"""The queue of those who review campaigns: each as visitors would see it, and what is new since it was approved."""

from collections.abc import Mapping
from typing import Any

from actors.values import Code, Refused
from service.web.pages.history import LABELS, News, news_of
from service.web.pages.page import Act, Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.paging import following, this_page
from service.web.pages.typed import text_of

SHOWN = 10
"""Campaigns of one page; the history of each that waits is asked for."""

HISTORY = 50
"""Records of a campaign's history that are looked through for its last approval."""

STATES = ("pending", "approved", "paused", "rejected", "draft")
MOVES: Mapping[str, tuple[str, ...]] = {
    "pending": ("approve", "reject"),
    "approved": ("pause", "reject"),
    "paused": ("resume", "reject"),
}
"""What may be decided on a campaign in a state, the first as the usual one."""

SEEN = ("headline", "body", "cta", "targetUrl", "logoText", "sponsorName")
"""What a decision is about, as the form carries it."""


async def queue(request: PageRequest) -> Template:
    state = request.query.get("status") or STATES[0]
    order = "oldest" if state == STATES[0] else "newest"
    asked = {"status": state, "order": order, "limit": SHOWN, "cursor": request.query.get("cursor")}
    page = (await request.ask("listAllCampaigns", query=asked)).or_refused()
    entries = [{"campaign": campaign, "news": await _news(request, campaign)} for campaign in page["items"]]
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
    if campaign["status"] != "pending":
        return None
    asked = {"targetId": campaign["id"], "limit": HISTORY}
    result = (await request.ask("listAudit", query=asked)).or_refused()
    return news_of(campaign, result["items"], complete=not result["hasMore"])


def _deciding(decision: str) -> Act:
    async def act(request: PageRequest) -> SeeOther | FormError:
        note = text_of(request.form, "note")
        if decision == "reject" and note is None:
            return FormError(
                Refused(Code.INVALID_REQUEST, "Say why: a rejection needs a note, which its sponsor reads.")
            )
        seen = {name: request.form[name] for name in SEEN if name in request.form}
        body = {"decision": decision, "seen": seen} | ({} if note is None else {"note": note})
        result = await request.ask("reviewCampaign", path={"id": request.form.get("campaign", "")}, body=body)
        if result.refused is not None:
            return FormError(result.refused)
        return SeeOther(this_page(request, "status"), f"campaign_{result.json['campaign']['status']}")

    return act


DECISIONS = ("approve", "reject", "pause", "resume")

PAGES = (Page("/admin", queue, {decision: _deciding(decision) for decision in DECISIONS}, Audience.ADMIN),)
