"""What an account proposes for the catalog: the list of its submissions, and the form of an entry or an edit."""

from typing import Any

from actors.catalog.messages import Kind
from actors.values import Code
from service.web.pages.parts.entry_form import FORMS, VALUE_KINDS, at_fields, entry_of, typed_of
from service.web.pages.parts.forms import Form
from service.web.pages.parts.page import Audience, FormError, Page, PageRequest, SeeOther, Template, nothing_here
from service.web.pages.parts.paging import paged, this_page

FORM_BYTES = 256 * 1024
"""A form takes three times the bytes of each letter that is not ASCII."""

READS = {Kind.USECASES: "getUseCase", Kind.BOTS: "getBot"}


async def submissions(request: PageRequest) -> Template:
    listed = (await request.ask("listSubmissions", query={"cursor": request.query.get("cursor")})).or_raise()
    total = await request.count("countSubmissions", listed)
    return Template("submissions.html", {"submissions": listed, "paging": paged(request, listed, total=total)})


async def form(request: PageRequest) -> Template:
    """The form of a new entry, or with a slug that of the entry as it is."""
    kind, slug = _kind(request), request.query.get("slug")
    current: dict[str, Any] = {}
    if slug:
        current = (await request.ask(READS[kind], path={"slug": slug})).or_raise()
    values = {
        "kind": kind.value,
        "slug": slug,
        "name": current.get("title") or current.get("name"),
        "current": typed_of(kind, current),
        "value_kinds": VALUE_KINDS,
        "action": this_page(request, "kind", "slug"),
    }
    return Template("submission_new.html", values)


def _kind(request: PageRequest) -> Kind:
    """The kind of the form that was sent, or that the address names."""
    kind = request.form.get("do", "").removeprefix("send-") or request.query.get("kind") or Kind.USECASES
    if kind not in list(Kind):
        raise nothing_here()
    return Kind(kind)


async def send(request: PageRequest) -> SeeOther | FormError:
    kind, slug = _kind(request), request.query.get("slug")
    typed = dict(request.form) | ({"slug": slug} if slug else {})
    body = {"kind": kind, "entry": entry_of(kind, typed, request.now_ms)} | ({"slug": slug} if slug else {})
    result = await request.ask("submitEntry", body=body, idempotency_key=request.form.get("form_id"))
    if result.refused is None:
        return SeeOther("/submissions", "submission_sent")
    return FormError(at_fields(result.refused, kind, request.form))


SEND = {
    "send-usecases": Form(FORMS[Kind.USECASES].fields, {Code.INVALID_STATE: ("slug", "")}),
    "send-bots": Form(FORMS[Kind.BOTS].fields, {Code.INVALID_STATE: ("slug", "")}),
}
"""The forms by their kinds, because a page finds its errors by the fields of the form that was sent."""

PAGES = (
    Page("/submissions", submissions, who=Audience.ACCOUNT),
    Page("/submissions/new", form, dict.fromkeys(SEND, send), Audience.ACCOUNT, forms=SEND, body_bytes=FORM_BYTES),
)
