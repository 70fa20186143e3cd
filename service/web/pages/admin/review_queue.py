"""The review queue: each campaign as visitors will see it, with its changes since the last approval, and other ads of its
sponsor. A decision leads on to the next row."""

from collections.abc import Mapping
from typing import Any

from service.web.pages.admin.record_changes import LABELS, News, news_of, words_between
from service.web.pages.parts.filters import STATE, filtered
from service.web.pages.parts.forms import Field, Form, text_of
from service.web.pages.parts.page import Act, Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.parts.paging import PLACE, next_row, page_at, row_with_focus, this_page

PAGE_SIZE = 10
"""Campaigns on one page. Each that waits for review costs a query of its history."""

HISTORY = 50
"""Records of a campaign's history in which the page looks for the last approval."""

RECORD = 5
"""Ads that the page lists of a sponsor beside the one to decide on."""

MAX_REQUESTS = 8
"""Requests for refunds on the page, which stays under 60 kB. The rest is in the list of bookings."""

TITLES: Mapping[str, str] = {
    "pending": "Waiting",
    "approved": "Approved",
    "paused": "Paused",
    "rejected": "Rejected",
    "draft": "Drafts",
}
STATES = tuple(TITLES)
MOVES: Mapping[str, tuple[str, ...]] = {
    "pending": ("approve", "reject"),
    "approved": ("pause", "reject"),
    "paused": ("resume", "reject"),
}
"""The decisions on a campaign in each state, the usual one first."""

SEEN = ("headline", "body", "cta", "targetUrl", "logoText", "sponsorName")
"""The reviewed content, which the form sends back with the decision."""


REASONS = (
    "The link does not lead to what the ad says.",
    "The page behind the link cannot be opened.",
    "The text claims what the page does not show.",
    "Name who pays for the ad, as on your website.",
    "The product is not one that we show ads for.",
    "Write the text in plain words, without capitals or signs for attention.",
)
"""Notes of rejections that are ready to be chosen."""

DECLINES = (
    "The ad was shown as booked.",
    "The weeks have begun, and booked weeks are not refunded then.",
    "The booking was refunded already.",
)
"""The same of requests for a refund."""

FILTERS = Form({"query": Field("Ad, sponsor, link or id")}, unseen={"status": STATE})
HERE = ("status", "query", *PLACE)
"""The parameters that a decision keeps."""


async def queue(request: PageRequest) -> Template:
    state, text = request.query.get("status") or STATES[0], request.query.get("query") or None
    query = {"query": text, "limit": PAGE_SIZE, "cursor": request.query.get("cursor")}
    if state == STATES[0]:
        listed = filtered(await request.ask("listReviews", query=query), FILTERS, request.query)
        entries = [await _waiting(request, item) for item in listed.page["items"]]
    else:
        query |= {"status": state, "order": "newest"}
        listed = filtered(await request.ask("listAllCampaigns", query=query), FILTERS, request.query)
        entries = [_entry(campaign) for campaign in listed.page["items"]]
    counted = (await request.ask("countLists")).or_raise()
    counts = counted["campaigns"]
    waiting = counts["pending"] + counted["refundRequests"]
    requests: list[Any] = []
    if state == STATES[0] and query["cursor"] is None and text is None:
        asked = {"trouble": "requested", "limit": MAX_REQUESTS}
        requests = (await request.ask("listAllBookings", query=asked)).or_raise()["items"]
    values = {
        "entries": entries,
        "requests": requests,
        "state": state,
        "text": text,
        "title": TITLES.get(state, "All"),
        "chosen_states": _chips(state, text, counts | {"pending": waiting}),
        "waiting_here": waiting,
        "refund_requests": counted["refundRequests"],
        "numbers": counts,
        "now_ms": request.now_ms,
        "moves": MOVES.get(state, ()),
        "labels": LABELS,
        "seen": SEEN,
        "reasons": REASONS,
        "declines": DECLINES,
        "at": row_with_focus(request, len(requests) + len(entries)),
        "action": this_page(request, *HERE),
        "csv": page_at("/api/v1/admin/sponsorships/campaigns", format="csv", status=state, query=text),
        "paging": listed.paging(request, "status", "query", total=None if text else counts.get(state)),
    }
    return listed.with_errors(Template("admin_reviews.html", values))


def _chips(state: str, text: str | None, counts: Mapping[str, int]) -> list[tuple[str, str, int | None, bool]]:
    """The chips of the states. A search keeps its words, and its results are not counted."""
    return [
        (page_at("/admin", status=each, query=text), words, None if text else counts[each], each == state)
        for each, words in TITLES.items()
    ]


async def _waiting(request: PageRequest, item: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of the queue, with what is new, the words that differ, and the other ads of its sponsor."""
    campaign, account_id = item["campaign"], {"id": item["accountId"]}
    news = await _news(request, campaign)
    own = (await request.ask("listCampaignsOf", path=account_id, query={"limit": RECORD + 1})).or_raise()["items"]
    changes = [] if news is None else news.changes
    words = {change.name: words_between(change.before or "", change.now) for change in changes}
    others = [each for each in own if each["id"] != campaign["id"]][:RECORD]
    return _entry(campaign) | {"item": item, "news": news, "words": words, "others": others}


def _entry(campaign: dict[str, Any]) -> dict[str, Any]:
    """A campaign with the content that is decided on, which the form sends back: its edit, if there is one beside the
    approved content."""
    revision = campaign.get("pendingRevision")
    return {"campaign": campaign | (revision or {}), "approved": campaign if revision else None}


async def _news(request: PageRequest, campaign: Mapping[str, Any]) -> News | None:
    if campaign["status"] != "pending" and not campaign.get("pendingRevision"):
        return None
    query = {"targetId": campaign["id"], "limit": HISTORY}
    audit = (await request.ask("listAudit", query=query)).or_raise()
    return news_of(campaign, audit["items"], complete=not audit["hasMore"])


def _deciding(decision: str) -> Act:
    async def act(request: PageRequest) -> SeeOther | FormError:
        note = text_of(request.form, "note")
        if decision == "reject" and note is None:
            return FormError.at(note="Write why you reject it. The sponsor reads it.")
        seen = {name: request.form[name] for name in SEEN if name in request.form}
        body = {"decision": decision, "seen": seen} | ({} if note is None else {"note": note})
        result = await request.ask("reviewCampaign", path={"id": request.form.get("campaign", "")}, body=body)
        if result.refused is not None:
            return FormError(result.refused)
        return SeeOther(next_row(request, *HERE), _outcome(decision, result.json["campaign"]["status"]))

    return act


def _outcome(decision: str, status: str) -> str:
    """The name of the notice. A decision on an edit leaves the campaign approved or paused."""
    if decision == "reject" and status != "rejected":
        return "edit_rejected"
    return "edit_approved" if decision == "approve" and status == "paused" else f"campaign_{status}"


async def refund(request: PageRequest) -> SeeOther | FormError:
    if request.form.get("sure") != "yes":
        return FormError.at(sure="Tick the box to confirm the full refund.")
    result = await request.ask("refundBooking", path={"id": request.form.get("booking", "")})
    return result.see_other(next_row(request, *HERE), "refund_ordered")


async def decline(request: PageRequest) -> SeeOther | FormError:
    note = text_of(request.form, "note")
    if note is None:
        return FormError.at(note="Write why you decline the refund. The sponsor reads it.")
    result = await request.ask("declineRefund", path={"id": request.form.get("booking", "")}, body={"note": note})
    return result.see_other(next_row(request, *HERE), "refund_request_declined")


DECISIONS = ("approve", "reject", "pause", "resume")

ACTIONS = {decision: _deciding(decision) for decision in DECISIONS} | {"refund": refund, "decline": decline}

DECIDING = Form({"note": Field("Note to the sponsor", id="note-{campaign}")})
FORMS = dict.fromkeys(DECISIONS, DECIDING) | {
    "refund": Form({"sure": Field("Confirmation", id="sure-{booking}")}),
    "decline": Form({"note": Field("Note to the sponsor", id="decline-{booking}")}),
}

PAGES = (
    Page("/admin", queue, ACTIONS, Audience.ADMIN, forms=FORMS),
    Page("/admin/reviews", queue, ACTIONS, Audience.ADMIN, forms=FORMS),
)
