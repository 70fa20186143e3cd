"""Pages of administrators on accounts: the list with its search, and one account with its tier, suspension and refunds."""

import shlex

from actors.bookings.records import BookingStatus
from service.web.pages.parts.badges import LISTED
from service.web.pages.parts.filters import STATE, filtered
from service.web.pages.parts.forms import Field, Form, text_of
from service.web.pages.parts.messages import CHOOSE
from service.web.pages.parts.page import Audience, FormError, Page, PageRequest, SeeOther, Template, calling
from service.web.pages.parts.paging import page_at

LIST = "/admin/accounts"
REASON = "Write the reason. The owner of the account reads it."
SEARCH = Form(
    {"query": Field("Email, sponsor or account id")},
    unseen={"tier": "There is no such tier. Choose one of these.", "suspended": STATE},
)
FILTERS = (*SEARCH.fields, *SEARCH.unseen)


async def accounts(request: PageRequest) -> Template:
    query = {name: request.query.get(name) for name in (*FILTERS, "cursor")}
    listed = filtered(await request.ask("listAccounts", query=query), SEARCH, request.query)
    query, page = listed.usable(query), listed.page
    text = query["query"]
    kinds = [
        (page_at(LIST, query=text), "All", None, not (query["tier"] or query["suspended"])),
        (page_at(LIST, query=text, suspended="true"), "Suspended", None, query["suspended"] == "true"),
        (page_at(LIST, query=text, tier="upgraded"), "Upgraded", None, query["tier"] == "upgraded"),
    ]
    values = {
        "accounts": page["items"],
        "total": page.get("total"),
        "filters": query,
        "kinds": kinds,
        "paging": listed.paging(request, *FILTERS, total=page.get("total")),
        "csv": page_at("/api/v1/admin/accounts", format="csv", **{name: query[name] for name in FILTERS}),
    }
    return listed.with_errors(Template("admin_accounts.html", values))


async def set_tier(request: PageRequest) -> SeeOther | FormError:
    body = {"email": text_of(request.form, "email") or "", "tier": request.form.get("tier", "")}
    return (await request.ask("setAccountTier", body=body)).see_other(request.path, "tier_set")


async def account(request: PageRequest) -> Template:
    found = (await request.ask("getAccount", path=request.path_values)).or_raise()
    shown = found["account"]
    command = f"python -m service {'revoke' if shown['isAdmin'] else 'grant'}-admin {shlex.quote(shown['email'])}"
    bookings = [(LISTED[BookingStatus(state)], number) for state, number in shown["bookings"].items() if number]
    keys = (await request.ask("readAccountKeys", path=request.path_values)).or_raise()["items"]
    values = {"account": shown, "bookings": bookings, "command": command, "keys": keys}
    return Template("admin_account.html", values)


async def suspend(request: PageRequest) -> SeeOther | FormError:
    reason = text_of(request.form, "reason")
    if reason is None:
        return FormError.at(reason=REASON)
    result = await request.ask("suspendAccount", path=request.path_values, body={"reason": reason})
    return result.see_other(request.path, "account_suspended")


async def revoke(request: PageRequest) -> SeeOther | FormError:
    result = await request.ask("revokeKey", path={"id": request.form.get("key", "")})
    return result.see_other(request.path, "key_revoked")


async def refund(request: PageRequest) -> SeeOther | FormError:
    if request.form.get("sure") != "yes":
        return FormError.at(sure="Tick the box to confirm the refunds.")
    reason = text_of(request.form, "refund_reason")
    body = None if reason is None else {"reason": reason}
    result = await request.ask("refundAccount", path=request.path_values, body=body)
    if result.refused is not None:
        return FormError(result.refused)
    ordered = "refunds_ordered" if result.json["ordered"] else "nothing_to_refund"
    return SeeOther(request.path, "refunds_continue" if result.json["hasMore"] else ordered)


FORMS = {
    "suspend": Form({"reason": Field("Reason", REASON)}),
    "refund": Form({"refund_reason": Field("Reason", of="reason"), "sure": Field("Confirmation")}),
    "set_tier": Form({"tier": Field("Tier", CHOOSE)}),
}

PAGES = (
    Page(LIST, accounts, who=Audience.ADMIN),
    Page(
        f"{LIST}/{{id}}",
        account,
        {
            "suspend": suspend,
            "revoke": revoke,
            "restore": calling("unsuspendAccount", "account_restored"),
            "refund": refund,
            "set_tier": set_tier,
        },
        Audience.ADMIN,
        forms=FORMS,
    ),
)
