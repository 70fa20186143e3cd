"""The list of keys on the dashboard: its order, and how much of it is shown. Pure.

The dashboard lists the first keys. `?keys=all` lists all of them, on as many pages as it takes to keep each of them small.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from service.web.pages.paging import Addressed, numbered, page_at
from service.web.pages.states import KEY_ENDS_SOON_MS

Key = Mapping[str, Any]

LISTED = 12
"""The most keys that the dashboard lists unless all are asked for, so that it stays short to read and to load."""

ON_A_PAGE = 40
"""The most keys on a page of all. Personal pages are not compressed, and a row takes 400 to 600 bytes."""


def ending_soon(own: Sequence[Key], now_ms: int) -> list[Key]:
    """The working keys that end within 7 days and were not replaced, the soonest first."""
    soon = [
        key for key in own if "replacedBy" not in key and now_ms < key.get("expiresAt", 0) <= now_ms + KEY_ENDS_SOON_MS
    ]
    return sorted(soon, key=lambda key: int(key["expiresAt"]))


def in_order(own: Sequence[Key], now_ms: int) -> list[Key]:
    """The keys as the dashboard lists them: those that end soon, then those that were used or created last."""
    soon = ending_soon(own, now_ms)
    others = [key for key in own if key not in soon]
    return [*soon, *sorted(others, key=lambda key: int(key.get("lastUsedAt", key["createdAt"])), reverse=True)]


def shown(request: Addressed, now_ms: int, own: Sequence[Key]) -> Mapping[str, object]:
    """The keys that a page lists, and the address of all if it leaves some out. If all are asked for, their paging,
    whether the page offers to filter them, and the parameters that the choice of days keeps. A page past the last one is
    the last one."""
    everything = in_order(own, now_ms)
    days = request.query.get("days")
    if request.query.get("keys") != "all":
        more = page_at(request.path, days=days, keys="all") + "#keys"
        return {"listed": everything[:LISTED], "all_keys": more if len(own) > LISTED else ""}

    def kept(page: int) -> dict[str, str]:
        return {"keys": "all"} | ({"page": str(page)} if page > 1 else {})

    def address(page: int) -> str:
        return page_at(request.path, days=days, **kept(page)) + "#keys"

    page = numbered(everything, ON_A_PAGE, request.query.get("page", ""), address)
    filtered = len(page.rows) > LISTED
    return {"listed": page.rows, "paging": page.paging, "filtered": filtered, "kept": kept(page.number)}
