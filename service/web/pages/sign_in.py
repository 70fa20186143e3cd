"""Signing in with an emailed code, in two steps on one page, and signing out."""

import re

from actors.values import Code
from service.api.cookies import drop_cookie
from service.api.operations.internal import outbox_is_open
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


async def sign_in(visit: PageRequest) -> Template | SeeOther:
    onward = local_path(visit.form.get("next") or visit.query.get("next", ""))
    if visit.caller.signed_in is not None:
        return SeeOther(onward)
    return _shown(visit, onward, code_sent=_has_code(visit))


def _has_code(visit: PageRequest) -> bool:
    """Whether who sees this again has a code: he tried one, or asked for another too soon."""
    asked_too_soon = visit.problem is not None and visit.problem.code is Code.RATE_LIMITED
    return visit.form.get("do") == "complete" or asked_too_soon


async def send(visit: PageRequest) -> Template | FormError:
    told = await visit.ask("startSignIn", body={"email": visit.form.get("email", "").strip()})
    if told.refused is not None:
        return FormError(told.refused)
    return _shown(visit, local_path(visit.form.get("next", "")), code_sent=True, just_sent=True)


async def complete(visit: PageRequest) -> SeeOther | FormError:
    body = {"email": visit.form.get("email", "").strip(), "code": code_of(visit.form.get("code", ""))}
    told = await visit.ask("completeSignIn", body=body)
    if told.refused is not None:
        return FormError(told.refused)
    return SeeOther(local_path(visit.form.get("next", "")), "signed_in", told.cookies)


def _shown(visit: PageRequest, onward: str, *, code_sent: bool, just_sent: bool = False) -> Template:
    minutes = visit.config.claim.code_minutes
    return Template(
        "sign_in.html",
        {
            "next": onward,
            "code_sent": code_sent,
            "just_sent": just_sent,
            "minutes": minutes,
            "outbox": outbox_is_open(visit.config, visit.request),
        },
    )


async def sign_out(visit: PageRequest) -> Template | SeeOther:
    return SeeOther("/") if visit.caller.signed_in is None else Template("sign_out.html")


async def leave(visit: PageRequest) -> SeeOther:
    person = visit.caller.signed_in
    if person is not None:
        (await visit.ask("endSession", path={"id": person.session.id})).or_refused()
    return SeeOther("/", "signed_out", [drop_cookie(visit.base_url)])


PAGES = (
    Page("/sign-in", sign_in, {"send": send, "complete": complete}),
    Page("/sign-out", sign_out, {"sign-out": leave}),
)
