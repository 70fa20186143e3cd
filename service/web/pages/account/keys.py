"""The keys of an account: the form for a new one on the dashboard, and the page of each, with its use and the forms that
change, replace and revoke it."""

from collections.abc import Mapping, Sequence
from typing import Any

from actors.clock import DAY_MS
from actors.values import Code, Scope
from service.web.pages.parts.badges import KEY_ENDS_SOON_MS
from service.web.pages.parts.chart_words import Counts
from service.web.pages.parts.charts import Chart, by_day
from service.web.pages.parts.forms import Field, Form
from service.web.pages.parts.page import (
    Audience,
    FormError,
    OperationResult,
    Page,
    PageRequest,
    SeeOther,
    Template,
    calling,
    nothing_here,
)
from service.web.pages.parts.paging import Addressed, numbered, page_at

Key = Mapping[str, Any]

SPANS = (7, 30, 90)
"""The lengths of the plots, in days."""

SCOPES: Mapping[Scope, str] = {
    Scope.LIBRARY_READ: "Read the catalog and the usage",
    Scope.SPONSOR_READ: "See the sponsor profile, ads and bookings",
    Scope.SPONSOR_WRITE: "Change the sponsor profile and ads",
    Scope.BILLING_WRITE: "Create, pay and cancel bookings",
    Scope.ADMIN_READ: "See everything that administrators see",
    Scope.ADMIN_WRITE: "Do everything that administrators do",
    Scope.KEYS_MANAGE: "Create, change and revoke limited keys",
}
"""The words for each scope."""

CHOSEN = "scope "
"""Prefix of the names of the scope checkboxes. Each needs its own name, because a form has one value per name."""

LIFETIME_DAYS = (7, 30, 90, 365)
"""The lives of a key to choose from, in days."""

RECOMMENDED = 90
NEVER = "never"
GRACES: Mapping[int, str] = {
    0: "Stops working now",
    3_600: "Works for 1 hour",
    86_400: "Works for 1 day",
    604_800: "Works for 7 days",
}
"""How long the old key of a rotation can work, in seconds."""

LISTED = 12
"""The most keys that the dashboard lists unless all are asked for, so that it stays short to read and to load."""

KEYS_ON_A_PAGE = 40
"""The most keys on a page of all. Personal pages are not compressed, and a row takes 400 to 600 bytes."""


# The permissions and the use of a key.


def may(key: Key) -> str:
    """The permissions of a key, in a few words."""
    if "scopes" not in key:
        return "Everything, administration included" if key.get("admin") else "Everything"
    first, *others = (SCOPES[Scope(scope)] for scope in key["scopes"])
    return f"{first}, and {len(others)} more" if others else first


def scopes_of(key: Key) -> Mapping[str, str]:
    """The words for each scope of a limited key."""
    return {scope: SCOPES[Scope(scope)] for scope in key.get("scopes") or ()}


def chart(days: Sequence[Key], first_ms: int, now_ms: int) -> Chart:
    """Requests by day. Days before `first_ms` have no numbers."""
    used = [day["used"] if day["day"] >= first_ms - first_ms % DAY_MS else None for day in days]
    return by_day([day["day"] for day in days], Counts("Requests", used, "request", "No requests"), now_ms=now_ms)


async def key_section(request: PageRequest) -> Mapping[str, object]:
    """The values of the dashboard about keys, besides their list."""
    usage = (await request.ask("listUsageByKey", query={"days": request.query.get("days")})).or_raise()
    return {
        "scopes": {str(scope): SCOPES[scope] for scope in request.caller.scopes},
        "administers": request.caller.admin,
        "ends": [
            *((days, f"In {days} days{' (recommended)' * (days == RECOMMENDED)}") for days in LIFETIME_DAYS),
            ("", "Never"),
        ],
        "recommended": RECOMMENDED,
        "used_by": {item["id"]: item["used"] for item in usage["items"]},
        "used_otherwise": sum(day["used"] for day in usage["other"]),
        "may": may,
    }


async def one_key(request: PageRequest) -> Template:
    """The page of a key: its use, its facts, and the forms that change it."""
    key_id = request.path_values["id"]
    own = {key["id"]: key for key in (await request.ask("listAccountKeys")).or_raise()["items"]}
    if key_id not in own:
        raise nothing_here()
    key, span = own[key_id], {"days": request.query.get("days")}
    days = (await request.ask("listUsageDays", query=span)).or_raise()["items"]
    usage = (await request.ask("listUsageByKey", query=span)).or_raise()["items"]
    used = {day["day"]: day["used"] for item in usage if item["id"] == key_id for day in item["days"]}
    by_day = [{"day": day["day"], "used": used.get(day["day"], 0)} for day in days]
    values = {
        "key": key,
        "name": key.get("name") or f"{key['keyPrefix']}…",
        "others": {each["id"]: each.get("name") or f"{each['keyPrefix']}…" for each in own.values()},
        "may": may(key),
        "can": scopes_of(key),
        "open": "replacedBy" not in key and key.get("expiresAt", request.now_ms + 1) > request.now_ms,
        "soon": bool(ending_soon([key], request.now_ms)),
        "used": sum(used.values()),
        "span": len(days),
        "spans": SPANS,
        "chart": chart(by_day, min([*used, key["createdAt"]]), request.now_ms),
        "ends": [("keep", "As it is"), *((life, f"{life} days from now") for life in LIFETIME_DAYS), (NEVER, "Never")],
        "graces": GRACES,
    }
    return Template("key.html", values)


# The form for a new key.


def _end_of_life(request: PageRequest) -> dict[str, object]:
    """The end of a key, from its life in days."""
    days = request.form.get("days", "")
    return {"expiresAt": request.now_ms + int(days) * DAY_MS} if days in map(str, LIFETIME_DAYS) else {}


async def create(request: PageRequest) -> Template | SeeOther | FormError:
    """Create a key of the chosen kind. Only the answer to this form shows it."""
    name = request.form.get("name", "").strip()
    ends = _end_of_life(request)
    match request.form.get("kind"):
        case "scoped":
            scopes = [scope for scope in Scope if CHOSEN + scope in request.form]
            if not scopes:
                return FormError.at(scopes="Choose what the key can do.")
            return await _created(request, "createScopedKey", {"name": name, "scopes": scopes, **ends})
        case "full" | "admin" as kind:
            body = {**({"name": name} if name else {}), **({"admin": True} if kind == "admin" else {}), **ends}
            return await _created(request, "createAccountKey", body)
        case _:
            return FormError.at(kind="Choose what the key can do.")


async def _created(request: PageRequest, operation: str, body: Mapping[str, Any]) -> Template | SeeOther | FormError:
    result = await request.ask(operation, body=body, idempotency_key=request.form.get("form_id"))
    return _made(result, {**body, "scopes": (result.json or {}).get("scopes")}, "key_created_already")


def _made(
    result: OperationResult, key: Mapping[str, Any], already: str, **others: object
) -> Template | SeeOther | FormError:
    """The page that shows a new key once."""
    if result.refused is None:
        of_it = {name: value for name, value in key.items() if value is not None}
        values = {
            "api_key": result.json["apiKey"],
            "name": key.get("name") or "",
            "may": may(of_it),
            "can": scopes_of(of_it),
            "ends_ms": key.get("expiresAt"),
            **others,
        }
        return Template("key_made.html", values)
    if result.refused.code is Code.IDEMPOTENCY_CONFLICT:
        return SeeOther("/dashboard", already)
    return FormError(result.refused)


# The forms of one key.


async def edit(request: PageRequest) -> SeeOther | FormError:
    """Rename a key or move its end. An empty name stays as it was."""
    body = _end_of_life(request)
    if request.form.get("days") == NEVER:
        body = {"expiresAt": None}
    if name := request.form.get("key_name", "").strip():
        body["name"] = name
    if not body:
        return FormError.at(key_name="Write a name, or choose when the key expires.")
    result = await request.ask("editAccountKey", path=request.path_values, body=body)
    return result.see_other(request.path, "key_changed")


async def rotate(request: PageRequest) -> Template | SeeOther | FormError:
    """Replace a key. Only the answer to this form shows the new one."""
    grace = request.form.get("grace", "")
    if grace not in map(str, GRACES):
        return FormError.at(grace="Choose how long the old key works.")
    result = await request.ask(
        "rotateAccountKey",
        path=request.path_values,
        body={"graceSeconds": int(grace)},
        idempotency_key=request.form.get("form_id"),
    )
    rotated = result.json or {}
    return _made(result, rotated, "key_rotated_already", old_ends_ms=rotated.get("previousEndsAt"))


KEY_NAME = "Write a name for the key."
NEW_KEY = Form(
    {
        "name": Field("Name", KEY_NAME),
        "kind": Field("Scopes", "Choose the scopes of the key."),
        "scopes": Field("Chosen scopes", "Choose at least one scope."),
        "days": Field("Expires", of="expiresAt"),
    }
)
FORMS = {
    "edit-key": Form({"key_name": Field("Name", KEY_NAME, of="name"), "days": Field("Expires", of="expiresAt")}),
    "rotate-key": Form({"grace": Field("The old key", of="graceSeconds")}),
}
ACTIONS = {"edit-key": edit, "rotate-key": rotate, "revoke": calling("revokeAccountKey", "key_revoked", "/dashboard")}
PAGES = (Page("/dashboard/keys/{id}", one_key, ACTIONS, who=Audience.ACCOUNT, forms=FORMS),)


def ending_soon(own: Sequence[Key], now_ms: int) -> list[Key]:
    """The working keys that end within 7 days and were not replaced, the soonest first."""
    soon = [
        key for key in own if "replacedBy" not in key and now_ms < key.get("expiresAt", 0) <= now_ms + KEY_ENDS_SOON_MS
    ]
    return sorted(soon, key=lambda key: int(key["expiresAt"]))


def in_order(own: Sequence[Key], now_ms: int) -> list[Key]:
    """The keys as the dashboard lists them: those that end soon, then those that were used or created last, then ended
    ones."""
    soon = ending_soon(own, now_ms)
    ended = [key for key in own if key.get("expiresAt", now_ms + 1) <= now_ms]
    others = [key for key in own if key not in soon and key not in ended]
    return [*soon, *sorted(others, key=lambda key: int(key.get("lastUsedAt", key["createdAt"])), reverse=True), *ended]


def key_list_section(request: Addressed, now_ms: int, own: Sequence[Key]) -> Mapping[str, object]:
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

    page = numbered(everything, KEYS_ON_A_PAGE, request.query.get("page", ""), address)
    filtered = len(page.rows) > LISTED
    return {"listed": page.rows, "paging": page.paging, "filtered": filtered, "kept": kept(page.number)}
