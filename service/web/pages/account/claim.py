"""The page that claims a key, in forms that are sent to `/claim/form`. A script only takes the token from the fragment of a
link, and keeps what a reload would lose."""

import re
from collections.abc import Mapping

from actors.values import Code
from service.web.pages.account.sign_in import CODE_FORM
from service.web.pages.parts.forms import Field
from service.web.pages.parts.forms import Form as FormFields
from service.web.pages.parts.messages import EMAIL
from service.web.pages.parts.page import FormError, Page, PageRequest, SeeOther, Template

FORM = "/claim/form"
TOKEN = re.compile(r"clm_[0-9A-Za-z]+")
LONGEST = 2_000


async def claim(request: PageRequest) -> Template:
    """The form for the email, or the form for the code after a refused code or a refused second mail."""
    return _at("complete" if request.form.get("do") in ("again", "complete") else "start", request)


async def start(request: PageRequest) -> Template | FormError:
    """Send a code and ask for it. The next form carries the token and the email, so that no address has to."""
    result = await request.ask("startClaim", body=_typed(request, "claimToken", "email"))
    return _at("complete", request, sent=True) if result.refused is None else FormError(result.refused)


async def complete(request: PageRequest) -> SeeOther | FormError:
    result = await request.ask("completeClaim", body=_typed(request, "claimToken", "email", "code"))
    return result.see_other(FORM, "claimed")


async def enter(request: PageRequest) -> Template:
    """The form for a code that the visitor already has."""
    return _at("complete", request)


async def change(request: PageRequest) -> Template:
    """The first form again, with the typed values."""
    return _at("start", request)


def _at(step: str, request: PageRequest, *, sent: bool = False) -> Template:
    done = step == "start" and request.query.get("notice") == "claimed" and request.path == FORM
    values = {
        "step": "done" if done else step,
        "sent": sent,
        "typed": _typed(request),
        "form_path": FORM,
        "outbox": request.outbox_open,
        "minutes": request.config.claim.code_minutes,
        "pause_seconds": request.config.claim.code_pause_seconds,
    }
    return Template("claim.html", values)


def _typed(request: PageRequest, *names: str) -> Mapping[str, str]:
    """The typed values, without the link around a pasted token."""
    form = {name: request.form.get(name, "")[:LONGEST].strip() for name in names or ("claimToken", "email")}
    if "claimToken" in form and (found := TOKEN.search(form["claimToken"])):
        form["claimToken"] = found[0]
    return form


ACTS = {"start": start, "again": start, "complete": complete, "enter": enter, "change": change}

TOKEN_FIELD = Field(
    "Claim token or link", "Write the claim token that came with the key.", "Write the whole claim token.", id="token"
)
FORMS = {
    "start": FormFields(
        {"claimToken": TOKEN_FIELD, "email": Field("Email", EMAIL)}, {Code.INVALID_CLAIM: ("claimToken", "")}
    ),
    "complete": CODE_FORM,
}

PAGES = (Page("/claim", claim, indexed=True), Page(FORM, claim, ACTS, forms=FORMS))
