"""The page on which a key is claimed. Its script takes the token out of the address and does without loading pages; without
it, the same forms are sent to an address of their own."""

import re
from collections.abc import Mapping

from service.web.pages.page import FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.typed import code_of

FORM = "/claim/form"
TOKEN = re.compile(r"clm_[0-9A-Za-z]+")
LONGEST = 2_000


async def claim(request: PageRequest) -> Template:
    """The form that the visitor is at: that of the code, once one was asked for."""
    asks_for_code = request.form.get("do") == "complete"
    return _at("complete" if asks_for_code else "start", request)


async def start(request: PageRequest) -> Template | FormError:
    """Send a code, and ask for it. What the next form needs stands in it, and not in an address."""
    result = await request.ask("startClaim", body=_typed(request, "claimToken", "email"))
    return _at("complete", request, sent=True) if result.refused is None else FormError(result.refused)


async def complete(request: PageRequest) -> SeeOther | FormError:
    result = await request.ask("completeClaim", body=_typed(request, "claimToken", "email", "code"))
    return SeeOther(FORM, "claimed") if result.refused is None else FormError(result.refused)


async def enter(request: PageRequest) -> Template:
    """Who has a code needs no other one."""
    return _at("complete", request)


async def change(request: PageRequest) -> Template:
    """Back to the first form, with what was typed."""
    return _at("start", request)


def _at(step: str, request: PageRequest, *, sent: bool = False) -> Template:
    done = step == "start" and request.query.get("notice") == "claimed" and request.path == FORM
    values = {
        "step": "done" if done else step,
        "sent": sent,
        "typed": _typed(request),
        "form_path": FORM,
        "outbox": request.outbox_open,
    }
    return Template("claim.html", values)


def _typed(request: PageRequest, *names: str) -> Mapping[str, str]:
    """What was typed, without what comes along when it is pasted: the link around a token, the gaps in a code."""
    form = {name: request.form.get(name, "")[:LONGEST].strip() for name in names or ("claimToken", "email")}
    if "claimToken" in form and (found := TOKEN.search(form["claimToken"])):
        form["claimToken"] = found[0]
    if "code" in form:
        form["code"] = code_of(form["code"])
    return form


ACTS = {"start": start, "complete": complete, "enter": enter, "change": change}

PAGES = (Page("/claim", claim), Page(FORM, claim, ACTS))
