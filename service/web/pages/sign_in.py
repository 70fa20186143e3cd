"""Signing in with an emailed code, in two steps on one page, and signing out."""

import re

from actors.values import Code
from service.api.cookies import drop_cookie
from service.web.pages.page import FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.typed import code_of

AFTERWARDS = "/dashboard"
"""Where who has signed in goes unless he was on his way to somewhere."""

LONGEST_PATH = 2_000
_LOCAL_PATH = re.compile(r"/(?!/)[!-\[\]-~]*")


def local_path(text: str) -> str:
    """The path, if it leads to a page of this service, else where everybody goes.

    Browsers take `//` and `/\\` for the beginning of another host, and leave tabs and line ends out before they look.
    """
    return text if len(text) <= LONGEST_PATH and _LOCAL_PATH.fullmatch(text) else AFTERWARDS


async def sign_in(request: PageRequest) -> Template | SeeOther:
    onward = local_path(request.form.get("next") or request.query.get("next", ""))
    if request.caller.signed_in is not None:
        return SeeOther(onward)
    return _shown(request, onward, code_sent=_has_code(request))


def _has_code(request: PageRequest) -> bool:
    """Whether who sees this again has a code: he tried one, or asked for another too soon."""
    asked_too_soon = request.problem is not None and request.problem.code is Code.RATE_LIMITED
    return request.form.get("do") == "complete" or asked_too_soon


async def send(request: PageRequest) -> Template | FormError:
    result = await request.ask("startSignIn", body={"email": request.form.get("email", "").strip()})
    if result.refused is not None:
        return FormError(result.refused)
    return _shown(request, local_path(request.form.get("next", "")), code_sent=True, just_sent=True)


async def complete(request: PageRequest) -> SeeOther | FormError:
    body = {"email": request.form.get("email", "").strip(), "code": code_of(request.form.get("code", ""))}
    result = await request.ask("completeSignIn", body=body)
    if result.refused is not None:
        return FormError(result.refused)
    return SeeOther(local_path(request.form.get("next", "")), "signed_in", result.cookies)


def _shown(request: PageRequest, onward: str, *, code_sent: bool, just_sent: bool = False) -> Template:
    minutes = request.config.claim.code_minutes
    return Template(
        "sign_in.html",
        {
            "next": onward,
            "code_sent": code_sent,
            "just_sent": just_sent,
            "minutes": minutes,
            "outbox": request.outbox_open,
        },
    )


async def sign_out(request: PageRequest) -> Template | SeeOther:
    return SeeOther("/") if request.caller.signed_in is None else Template("sign_out.html")


async def leave(request: PageRequest) -> SeeOther:
    person = request.caller.signed_in
    if person is not None:
        (await request.ask("endSession", path={"id": person.session.id})).or_refused()
    return SeeOther("/", "signed_out", [drop_cookie(request.base_url)])


PAGES = (
    Page("/sign-in", sign_in, {"send": send, "complete": complete}),
    Page("/sign-out", sign_out, {"sign-out": leave}),
)
