"""The dashboard of an account: its usage, its keys, where it is signed in, its mails and its data."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from actors.clock import SECOND_MS
from service.web.pages import keys, passkeys
from service.web.pages.page import Audience, FormError, Page, PageRequest, SeeOther, Template

TOPICS: Mapping[str, tuple[str, str]] = {
    "reviews": (
        "Reviews",
        "When an ad of yours was reviewed, and for administrators when ads wait for review.",
    ),
    "bookings": ("Bookings", "When a week is held for you, and when it begins."),
    "reports": ("Reports", "What your ad reached, when its weeks are over."),
}
"""The mails that can be turned off: their name, and when they come."""


async def dashboard(request: PageRequest) -> Template:
    usage = (await request.ask("getUsage")).or_refused()
    days = (await request.ask("listUsageDays", query={"days": request.query.get("days")})).or_refused()["items"]
    own = (await request.ask("listAccountKeys")).or_refused()["items"]
    sessions = (await request.ask("listSessions")).or_refused()["items"]
    deletion = (await request.ask("getAccountDeletion")).or_refused()
    mails = (await request.ask("getNotifications")).or_refused()
    return Template(
        "dashboard.html",
        {
            "usage": usage,
            "used": usage["requestsUsed"] > 0
            or any(day["used"] for day in days)
            or any("lastUsedAt" in key for key in own),
            "renewed_ms": _next_month_ms(request.now_ms),
            "in_span": sum(day["used"] for day in days),
            "busiest": max(days, key=lambda day: int(day["used"])),
            "chart": keys.chart(days, _first_ms(days, own, request.now_ms), request.now_ms),
            "span": len(days),
            "spans": keys.SPANS,
            "keys": own,
            "listed": keys.in_order(own, request.now_ms)[: None if request.query.get("keys") == "all" else keys.LISTED],
            "most_listed": keys.LISTED,
            "soon": keys.ending_soon(own, request.now_ms),
            **await keys.shown(request),
            "sessions": sessions,
            "session_days": request.config.sessions.days,
            "topics": [(topic, *words, mails[topic]) for topic, words in TOPICS.items()],
            **await passkeys.shown(request),
            "deletes_at": deletion.get("deletesAt"),
        },
    )


def _first_ms(days: list[dict[str, int]], own: list[dict[str, Any]], now_ms: int) -> int:
    """The time of the first key or the first request. There are no numbers before it."""
    return min([*(day["day"] for day in days if day["used"]), *(key["createdAt"] for key in own)], default=now_ms)


def _next_month_ms(now_ms: int) -> int:
    """The moment at which the next month begins."""
    this_month = datetime.fromtimestamp(now_ms // SECOND_MS, UTC).replace(day=1, hour=0, minute=0, second=0)
    return int((this_month + timedelta(days=32)).replace(day=1).timestamp()) * SECOND_MS


async def end_session(request: PageRequest) -> SeeOther | FormError:
    """End a session. The operation drops the cookie if it was the session of this browser, which is then signed out."""
    result = await request.ask("endSession", path={"id": request.form.get("id", "")})
    return result.see_other("/", "signed_out") if result.cookies else result.see_other("/dashboard", "session_ended")


async def end_all(request: PageRequest) -> SeeOther | FormError:
    """End every session but this one, and every key."""
    result = await request.ask("endAll", body={"keepCurrent": True})
    return result.see_other("/dashboard", "all_ended")


async def choose_mails(request: PageRequest) -> SeeOther | FormError:
    """Turn mails on or off. A checkbox that is not set is not sent."""
    body = {topic: f"mails_{topic}" in request.form for topic in TOPICS}
    return (await request.ask("editNotifications", body=body)).see_other("/dashboard#mails", "mails_chosen")


ACTIONS = {
    "choose-mails": choose_mails,
    "create-key": keys.create,
    "end-session": end_session,
    "end-all": end_all,
    **passkeys.ACTIONS,
}
FORMS = {"create-key": keys.NEW_KEY, **passkeys.FORMS}
PAGES = (Page("/dashboard", dashboard, ACTIONS, who=Audience.ACCOUNT, forms=FORMS), *keys.PAGES)
