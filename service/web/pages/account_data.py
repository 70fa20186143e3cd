"""The pages that delete an account by an emailed code, undo that until it begins, and say why one is suspended."""

from actors.values import Code
from service.web.pages.field_errors import Field, Form
from service.web.pages.page import Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.sentences import CODE
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


async def suspended(request: PageRequest) -> Template | SeeOther:
    found = request.caller.signed_in
    if found is None or found.suspension is None:
        return SeeOther("/dashboard")
    return Template("account_suspended.html", {"reason": found.suspension})


FORM = Form({"code": Field("Code", CODE, right=CODE)}, {Code.INVALID_CODE: ("code", "")})

PAGES = (
    Page(
        HERE,
        delete_account,
        {"start": start, "confirm": confirm, "keep": keep},
        who=Audience.ACCOUNT,
        while_suspended=True,
        forms={"confirm": FORM},
    ),
    Page("/account/suspended", suspended, who=Audience.ACCOUNT, while_suspended=True),
)
