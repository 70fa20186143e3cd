"""Signing in with an emailed code, in two steps on one page, or with an operator's link, and signing out."""

import re
from dataclasses import replace

from actors.values import Code
from service.api.cookies import SESSION, SIGN_IN_FORM
from service.api.messages import NO_STORE
from service.web.pages.parts.forms import ACCEPTING, TERMS, Field, Form
from service.web.pages.parts.messages import CODE, EMAIL
from service.web.pages.parts.page import (
    LONGEST_PATH,
    FormError,
    OperationResult,
    Page,
    PageRequest,
    SeeOther,
    Template,
    with_next,
)

AFTERWARDS = "/dashboard"
"""The page after a sign-in without a target."""

REASONS = (
    ("/dashboard/security", "Sign in to see where you are signed in, and your passkeys."),
    ("/dashboard/settings", "Sign in to choose your mails, and to get or delete your data."),
    ("/account/delete", "Sign in to delete your account, or to keep it."),
    ("/dashboard", "Sign in to create and manage your API keys."),
    ("/device", "Sign in to connect your device."),
    ("/oauth/authorize", "Sign in to connect the program to your account."),
    ("/sponsor/book?", "Sign in to book the week that you chose."),
    ("/sponsor", "Sign in to book weeks and follow your ads."),
    ("/admin", "Sign in as an administrator."),
    ("/ops", "Sign in as an administrator."),
)
"""The purpose of a sign-in, by the beginning of the address that comes next. The first that fits is shown."""

LINK_PATH = "/sign-in/link"
_LOCAL_PATH = re.compile(r"/(?!/)[!-\[\]-~]*")


def local_path(text: str) -> str:
    """The path if it is local to this service, else `AFTERWARDS`.

    Browsers read `//` and `/\\` as the start of another host, and drop tabs and line ends before they parse.
    """
    return text if len(text) <= LONGEST_PATH and _LOCAL_PATH.fullmatch(text) else AFTERWARDS


async def sign_in(request: PageRequest) -> Template | SeeOther:
    onward = local_path(request.form.get("next") or request.query.get("next", ""))
    if request.caller.signed_in is not None:
        return SeeOther(onward)
    if request.form.get("do") == "complete":
        return _template(request, onward, email=request.form.get("email", ""))
    if request.form or request.query.get("step") != "code":
        return _template(request, onward)
    email = request.kept(SIGN_IN_FORM).get("email")
    if not email:
        return SeeOther(with_next("/sign-in", onward), "code_gone")
    return _template(request, onward, email=email, just_sent=True)


async def send(request: PageRequest) -> SeeOther | FormError:
    """Send a code, and go on to the form for it. If none is sent because this browser has one, go on to the same form."""
    email = request.form.get("email", "").strip()
    path = with_next("/sign-in?step=code", local_path(request.form.get("next", "")))
    result = await request.ask("startSignIn", body={"email": email})
    if result.refused is None:
        return SeeOther(path, headers=[*result.cookies, request.keeping(SIGN_IN_FORM, email=email)])
    if result.refused.code is Code.RATE_LIMITED and request.kept(SIGN_IN_FORM).get("email") == email:
        return SeeOther(path, "code_not_sent")
    return FormError(result.refused)


async def complete(request: PageRequest) -> SeeOther | FormError:
    if changed := request.other_terms:
        return changed
    body = {"email": request.form.get("email", "").strip(), "code": request.form.get("code", "")}
    result = await request.ask("completeSignIn", body=body)
    entered = _entered(result, local_path(request.form.get("next", "")))
    if isinstance(entered, SeeOther):
        entered = replace(entered, headers=[*entered.headers, SIGN_IN_FORM.delete(request.base_url)])
    return entered


def _entered(result: OperationResult, onward: str) -> SeeOther | FormError:
    """Onward with the session, or to the page that asks for a passkey first."""
    if result.refused is None and "passkeyRequired" in result.json:
        return result.see_other(with_next("/sign-in/passkey", onward))
    return result.see_other(onward, "signed_in")


def _template(request: PageRequest, onward: str, *, email: str | None = None, just_sent: bool = False) -> Template:
    """The form for the email, or for the code that was mailed to `email`."""
    values = {
        "next": onward,
        "reason": next((words for path, words in REASONS if onward.startswith(path)), ""),
        "code_email": email,
        "just_sent": just_sent,
        "minutes": request.config.claim.code_minutes,
        "outbox": request.outbox_open,
    }
    return Template("sign_in.html", values, headers=[] if email is None else [*NO_STORE])


async def link(request: PageRequest) -> Template:
    """A button that uses the link. Showing the page does not, because mail scanners and browsers open links on their own. The
    token is a secret, so the page is neither stored nor compressed."""
    token = request.form.get("token") or request.query.get("token", "")
    return Template("sign_in_link.html", {"token": token}, headers=[*NO_STORE])


async def use_link(request: PageRequest) -> SeeOther | FormError:
    if changed := request.other_terms:
        return changed
    result = await request.ask("useSignInLink", body={"token": request.form.get("token", "")})
    return _entered(result, AFTERWARDS)


async def sign_out(request: PageRequest) -> Template | SeeOther:
    return SeeOther("/") if request.caller.signed_in is None else Template("sign_out.html")


async def leave(request: PageRequest) -> SeeOther:
    person = request.caller.signed_in
    if person is not None:
        (await request.ask("endSession", path={"id": person.session.id})).or_raise()
    return SeeOther("/", "signed_out", [SESSION.delete(request.base_url)])


CODE_FORM = Form({"code": Field("Code", CODE, right=CODE), **TERMS}, {Code.INVALID_CODE: ("code", "")})
FORMS = {
    "send": Form({"email": Field("Email", EMAIL)}),
    "complete": CODE_FORM,
}

PAGES = (
    Page("/sign-in", sign_in, {"send": send, "complete": complete}, forms=FORMS),
    Page(LINK_PATH, link, {"use": use_link}, forms={"use": ACCEPTING}),
    Page("/sign-out", sign_out, {"sign-out": leave}),
)
