"""The page that claims a key, in forms that are sent to `/claim/form`. A script only takes the token from the fragment of a
link, and keeps what a reload would lose."""

import re
from collections.abc import Mapping
from dataclasses import replace

from actors.values import Code
from service.api.cookies import CLAIM_FORM
from service.api.messages import NO_STORE
from service.web.pages.account.sign_in import CODE_FORM
from service.web.pages.parts.forms import Field
from service.web.pages.parts.forms import Form as FormFields
from service.web.pages.parts.messages import EMAIL
from service.web.pages.parts.page import FormError, Page, PageRequest, SeeOther, Template

FORM = "/claim/form"
CODE_STEP = f"{FORM}?step=code"
TOKEN = re.compile(r"clm_[0-9A-Za-z]+")
LONGEST = 2_000


async def claim(request: PageRequest) -> Template | SeeOther:
    """The form for the email, or the form for the code after a mail, a refused code or a refused second mail."""
    if request.form or request.query.get("step") != "code":
        return _at("complete" if request.form.get("do") in ("again", "complete") else "start", request)
    kept = request.kept(CLAIM_FORM)
    if not kept:
        return SeeOther(FORM, "code_gone")
    return replace(_at("complete", replace(request, form=kept), sent=True), headers=[*NO_STORE])


async def start(request: PageRequest) -> SeeOther | FormError:
    """Send a code, and go on to the form for it. If none is sent because this browser has one, go on to the same form. A
    cookie carries the token and the email, so that no address has to."""
    typed = _typed(request)
    result = await request.ask("startClaim", body=typed)
    if result.refused is None:
        return SeeOther(CODE_STEP, headers=[request.keeping(CLAIM_FORM, **typed)])
    if result.refused.code is Code.RATE_LIMITED and request.kept(CLAIM_FORM) == typed:
        return SeeOther(CODE_STEP, "code_not_sent")
    return FormError(result.refused)


async def complete(request: PageRequest) -> SeeOther | FormError:
    if changed := request.other_terms:
        return changed
    result = await request.ask("completeClaim", body=_typed(request, "claimToken", "email", "code"))
    if result.refused is not None:
        return FormError(result.refused)
    return SeeOther(FORM, "claimed", [CLAIM_FORM.delete(request.base_url)])


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
