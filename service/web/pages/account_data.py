"""The page that deletes an account: asks for a code by mail, confirms with it, and undoes the deletion until it begins."""

from service.web.pages.page import Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.typed import code_of

HERE = "/account/delete"


async def delete_account(request: PageRequest) -> Template:
    """The step that the deletion is at."""
    return await _at(request, code_sent=request.form.get("do") == "confirm")


async def start(request: PageRequest) -> Template | FormError:
    result = await request.ask("deleteAccount")
    return FormError(result.refused) if result.refused is not None else await _at(request, code_sent=True)


async def confirm(request: PageRequest) -> SeeOther | FormError:
    result = await request.ask("confirmAccountDeletion", body={"code": code_of(request.form.get("code", ""))})
    return result.see_other(HERE, "deletion_scheduled")


async def keep(request: PageRequest) -> SeeOther | FormError:
    return (await request.ask("undoAccountDeletion")).see_other("/dashboard", "deletion_undone")


async def _at(request: PageRequest, *, code_sent: bool) -> Template:
    deletion = (await request.ask("getAccountDeletion")).or_refused()
    values = {
        "deletes_at": deletion.get("deletesAt"),
        "code_sent": code_sent,
        "minutes": request.config.claim.code_minutes,
        "days": request.config.account.undo_days,
        "outbox": request.outbox_open,
    }
    return Template("account_delete.html", values)


PAGES = (Page(HERE, delete_account, {"start": start, "confirm": confirm, "keep": keep}, who=Audience.ACCOUNT),)
