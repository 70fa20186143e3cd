"""The dashboard of an account: its usage and its keys."""

from datetime import UTC, datetime, timedelta
from typing import Any

from actors.clock import SECOND_MS
from service.web.pages.account import keys, security
from service.web.pages.parts.page import Audience, Page, PageRequest, Template


async def dashboard(request: PageRequest) -> Template:
    usage = (await request.ask("getUsage")).or_raise()
    days = (await request.ask("listUsageDays", query={"days": request.query.get("days")})).or_raise()["items"]
    own = (await request.ask("listAccountKeys")).or_raise()["items"]
    deletion = (await request.ask("getAccountDeletion")).or_raise()
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
            "soon": keys.ending_soon(own, request.now_ms),
            **keys.key_list_section(request, request.now_ms, own),
            **await keys.key_section(request),
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


# Pages of the last release that are still open send the forms about sessions here.
ACTIONS = {"create-key": keys.create, **security.SESSIONS}
FORMS = {"create-key": keys.NEW_KEY}
PAGES = (Page("/dashboard", dashboard, ACTIONS, who=Audience.ACCOUNT, forms=FORMS), *keys.PAGES)
