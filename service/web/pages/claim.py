"""The page on which a key is claimed. Its script takes the token out of the address and does without loading pages; without
it, the same forms are sent to an address of their own."""

import re
from collections.abc import Mapping

from service.api.operations.internal import outbox_is_open
from service.web.pages.page import FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.typed import code_of

FORM = "/claim/form"
TOKEN = re.compile(r"clm_[0-9A-Za-z]+")
LONGEST = 2_000


async def claim(visit: PageRequest) -> Template:
    """The form that the visitor is at: that of the code, once one was asked for."""
    asks_for_code = visit.form.get("do") == "complete"
    return _at("complete" if asks_for_code else "start", visit)


async def start(visit: PageRequest) -> Template | FormError:
    """Send a code, and ask for it. What the next form needs stands in it, and not in an address."""
    told = await visit.ask("startClaim", body=_typed(visit, "claimToken", "email"))
    return _at("complete", visit, sent=True) if told.refused is None else FormError(told.refused)


async def complete(visit: PageRequest) -> SeeOther | FormError:
    told = await visit.ask("completeClaim", body=_typed(visit, "claimToken", "email", "code"))
    return SeeOther(FORM, "claimed") if told.refused is None else FormError(told.refused)


async def enter(visit: PageRequest) -> Template:
    """Who has a code needs no other one."""
    return _at("complete", visit)


async def change(visit: PageRequest) -> Template:
    """Back to the first form, with what was typed."""
    return _at("start", visit)


def _at(step: str, visit: PageRequest, *, sent: bool = False) -> Template:
    done = step == "start" and visit.query.get("notice") == "claimed" and visit.request.path == FORM
    values = {
        "step": "done" if done else step,
        "sent": sent,
        "typed": _typed(visit),
        "form_path": FORM,
        "outbox": outbox_is_open(visit.config, visit.request),
    }
    return Template("claim.html", values)


def _typed(visit: PageRequest, *names: str) -> Mapping[str, str]:
    """What was typed, without what comes along when it is pasted: the link around a token, the gaps in a code."""
    form = {name: visit.form.get(name, "")[:LONGEST].strip() for name in names or ("claimToken", "email")}
    if "claimToken" in form and (found := TOKEN.search(form["claimToken"])):
        form["claimToken"] = found[0]
    if "code" in form:
        form["code"] = code_of(form["code"])
    return form


ACTS = {"start": start, "complete": complete, "enter": enter, "change": change}

PAGES = (Page("/claim", claim), Page(FORM, claim, ACTS))
