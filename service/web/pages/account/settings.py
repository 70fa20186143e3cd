"""The settings of an account: its mails, its data, its deletion, and why it is suspended."""

from collections.abc import Mapping

from actors.values import Code
from service.web.pages.account.sign_in import CODE_FORM
from service.web.pages.parts.page import Audience, FormError, Page, PageRequest, SeeOther, Template, calling

PATH = "/dashboard/settings"

TOPICS: Mapping[str, tuple[str, str]] = {
    "reviews": (
        "Reviews",
        "When an ad of yours was reviewed, and for administrators when ads wait for review.",
    ),
    "bookings": ("Bookings", "When a week is held for you, and when it begins."),
    "reports": ("Reports", "What your ads reached: each Monday while a booking goes on, and when its weeks are over."),
}
"""The mails that can be turned off: their name, and when they come."""

HERE = "/account/delete"
CONFIRM_STEP = f"{HERE}?step=confirm"


async def settings(request: PageRequest) -> Template:
    mails = (await request.ask("getNotifications")).or_raise()
    deletion = (await request.ask("getAccountDeletion")).or_raise()
    values = {
        "topics": [(topic, *words, mails[topic]) for topic, words in TOPICS.items()],
        "deletes_at": deletion.get("deletesAt"),
        "days": request.config.account.undo_days,
    }
    return Template("settings.html", values)


async def choose_mails(request: PageRequest) -> SeeOther | FormError:
    """Turn mails on or off. A checkbox that is not set is not sent."""
    body = {topic: f"mails_{topic}" in request.form for topic in TOPICS}
    return (await request.ask("editNotifications", body=body)).see_other(PATH, "mails_chosen")


async def delete_account(request: PageRequest) -> Template:
    """The step that the deletion is at."""
    deletion = (await request.ask("getAccountDeletion")).or_raise()
    values = {
        "deletes_at": deletion.get("deletesAt"),
        "code_sent": "confirm" in (request.form.get("do"), request.query.get("step")),
        "minutes": request.config.claim.code_minutes,
        "days": request.config.account.undo_days,
        "outbox": request.outbox_open,
    }
    return Template("account_delete.html", values)


async def start(request: PageRequest) -> SeeOther | FormError:
    """Send a code, and go on to the form for it, also if none is sent because the account has one."""
    result = await request.ask("deleteAccount")
    too_soon = result.refused is not None and result.refused.code is Code.RATE_LIMITED
    return SeeOther(CONFIRM_STEP, "code_not_sent") if too_soon else result.see_other(CONFIRM_STEP)


async def confirm(request: PageRequest) -> SeeOther | FormError:
    result = await request.ask("confirmAccountDeletion", body={"code": request.form.get("code", "")})
    return result.see_other(HERE, "deletion_scheduled")


async def suspended(request: PageRequest) -> Template | SeeOther:
    found = request.caller.signed_in
    if found is None or found.suspension is None:
        return SeeOther("/dashboard")
    return Template("account_suspended.html", {"reason": found.suspension})


PAGES = (
    Page(PATH, settings, {"choose-mails": choose_mails}, who=Audience.ACCOUNT),
    Page(
        HERE,
        delete_account,
        {"start": start, "confirm": confirm, "keep": calling("undoAccountDeletion", "deletion_undone", "/dashboard")},
        who=Audience.ACCOUNT,
        while_suspended=True,
        forms={"confirm": CODE_FORM},
    ),
    Page("/account/suspended", suspended, who=Audience.ACCOUNT, while_suspended=True),
)
