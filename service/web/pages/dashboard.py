"""The dashboard of an account: its usage, its keys, and its signed-in browsers."""

from collections.abc import Mapping
from typing import Any

from actors.clock import DAY_MS
from actors.values import Code, Scope
from service.web.pages import keys, passkeys
from service.web.pages.chart_words import Counts
from service.web.pages.charts import Chart, by_day
from service.web.pages.field_errors import Field, Form
from service.web.pages.page import Audience, FormError, Page, PageRequest, SeeOther, Template

SPANS = (7, 30, 90)
"""The lengths of the plot, in days."""

SCOPES: Mapping[Scope, str] = {
    Scope.LIBRARY_READ: "read the catalog and the usage",
    Scope.SPONSOR_READ: "see the sponsor profile, ads and bookings",
    Scope.SPONSOR_WRITE: "change the sponsor profile and ads",
    Scope.BILLING_WRITE: "reserve, pay and cancel bookings",
    Scope.ADMIN_READ: "see everything that administrators see",
    Scope.ADMIN_WRITE: "do everything that administrators do",
    Scope.KEYS_MANAGE: "create, change and revoke scoped keys",
}
"""The words for each scope, to follow "It can"."""

TOPICS: Mapping[str, tuple[str, str]] = {
    "reviews": (
        "Reviews",
        "when an ad of yours was reviewed, and for administrators when ads wait for review",
    ),
    "bookings": ("Bookings", "when a week is held for you, and when it begins"),
    "reports": ("Reports", "what your ad reached, when its weeks are over"),
}
"""The mails that can be turned off: their name, and when they come."""

CHOSEN = "scope "
"""Prefix of the names of the scope checkboxes. Each needs its own name, because a form has one value per name."""


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
            "meters": [
                _meter("today", "Today", usage["dailyRequestsUsed"], usage["dailyRequestLimit"]),
                _meter("month", "This month", usage["requestsUsed"], usage["requestLimit"]),
            ],
            "chart": _chart(days, own, request.now_ms),
            "span": len(days),
            "spans": SPANS,
            "keys": own,
            "prefixes": {key["id"]: key["keyPrefix"] for key in own},
            "scopes": {str(scope): SCOPES[scope] for scope in request.caller.scopes},
            **await keys.shown(request),
            "administers": request.caller.admin,
            "sessions": sessions,
            "topics": [(topic, *words, mails[topic]) for topic, words in TOPICS.items()],
            **await passkeys.shown(request),
            "deletes_at": deletion.get("deletesAt"),
        },
    )


def _meter(name: str, label: str, used: int, limit: int) -> dict[str, object]:
    return {"name": name, "label": label, "used": used, "limit": limit, "left": max(0, limit - used)}


def _chart(days: list[dict[str, int]], own: list[dict[str, Any]], now_ms: int) -> Chart:
    """Requests by day. Days before the first key and the first request have no numbers."""
    begins = [day["day"] for day in days if day["used"]][:1] + [
        key["createdAt"] - key["createdAt"] % DAY_MS for key in own
    ]
    first = min(begins, default=now_ms)
    used = [day["used"] if day["day"] >= first else None for day in days]
    return by_day([day["day"] for day in days], Counts("Requests", used, "request", "No requests"), now_ms=now_ms)


async def create_full(request: PageRequest) -> Template | SeeOther | FormError:
    """Create a full key. Only the answer to this form shows it."""
    name = request.form.get("full_name", "").strip()
    body: dict[str, object] = {"name": name} if name else {}
    if "full_admin" in request.form:
        body["admin"] = True
    return await _created(request, "createAccountKey", body | keys.end_of_life(request), name)


async def create_scoped(request: PageRequest) -> Template | SeeOther | FormError:
    """Create a key with the chosen scopes. Only the answer to this form shows it."""
    name = request.form.get("scoped_name", "").strip()
    scopes = [scope for scope in Scope if CHOSEN + scope in request.form]
    if not scopes:
        return FormError.at(scopes="Choose what the key can do.")
    return await _created(
        request, "createScopedKey", {"name": name, "scopes": scopes} | keys.end_of_life(request), name
    )


async def _created(
    request: PageRequest, operation: str, body: Mapping[str, object], name: str
) -> Template | SeeOther | FormError:
    result = await request.ask(operation, body=body, idempotency_key=request.form.get("form_id"))
    if result.refused is None:
        values = {
            "api_key": result.json["apiKey"],
            "name": name,
            "scopes": result.json.get("scopes"),
            "admin": body.get("admin", False),
            "expires": body.get("expiresAt"),
        }
        return Template("key_made.html", values)
    if result.refused.code is Code.IDEMPOTENCY_CONFLICT:
        return SeeOther("/dashboard", "key_created_already")
    return FormError(result.refused)


async def revoke(request: PageRequest) -> SeeOther | FormError:
    result = await request.ask("revokeAccountKey", path={"id": request.form.get("id", "")})
    return result.see_other("/dashboard", "key_revoked")


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
    "create-full": create_full,
    "create-scoped": create_scoped,
    "revoke": revoke,
    **keys.ACTIONS,
    "end-session": end_session,
    "end-all": end_all,
    **passkeys.ACTIONS,
}
FORMS = {
    "create-full": Form(
        {
            "full_name": Field("Name", keys.KEY_NAME, of="name"),
            "days": Field("Expires", of="expiresAt", id="full-days"),
        }
    ),
    "create-scoped": Form(
        {
            "scoped_name": Field("Name", keys.KEY_NAME, of="name"),
            "days": Field("Expires", of="expiresAt", id="scoped-days"),
            "scopes": Field("It can", "Choose what the key can do."),
        }
    ),
    **keys.FORMS,
    **passkeys.FORMS,
}
PAGES = (Page("/dashboard", dashboard, ACTIONS, who=Audience.ACCOUNT, forms=FORMS),)
