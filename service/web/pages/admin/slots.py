"""The slots, as forms for administrators: prices as amounts, moments as date and time in UTC."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actors.values import Code, Refused
from service.web.pages.parts.forms import (
    Field,
    Form,
    above,
    amount_of,
    cents_of,
    moment_of,
    moment_text,
    text_of,
    whole_of,
)
from service.web.pages.parts.messages import CHOOSE
from service.web.pages.parts.miniature import miniature
from service.web.pages.parts.page import Audience, FormError, Page, PageRequest, SeeOther, Template

LIST, NEW = "/admin/slots", "/admin/slots/new"
MARK = "~"

READERS: Mapping[str, tuple[str, Callable[[str], int | None]]] = {
    "weekPrice": ("weekPriceCents", cents_of),
    "durationWeeks": ("durationWeeks", whole_of),
    "offerEndsAt": ("offerEndsAt", moment_of),
}
"""By field: the property of the operation, and the function that reads the text."""
FIELDS = (*READERS, "name", "side", "active", "comingSoon", "packageKind", "description")

FRESH = {"side": "left", "durationWeeks": "1", "active": "yes"}
"""The initial values of the form for a new slot."""


async def slots(request: PageRequest) -> Template:
    if request.problem is not None:
        return await new_slot(request)
    text = request.query.get("query", "").strip()
    every = [{**each, "page": page_of(each["id"])} for each in await by_name(request)]
    shown = [each for each in every if text == each["id"] or text.casefold() in each["name"].casefold()]
    return Template("admin_slots.html", {"slots": shown, "total": len(every), "text": text})


async def by_name(request: PageRequest) -> Sequence[Mapping[str, Any]]:
    """All slots in the order of their names."""
    items: Sequence[Mapping[str, Any]] = (await request.ask("listSlots")).or_raise()["items"]
    return sorted(items, key=lambda each: each["name"].casefold())


async def new_slot(request: PageRequest) -> Template:
    """The form for a new slot. A refused form comes back with the typed values."""
    return Template("admin_slot_new.html", {"typed": request.form if request.problem is not None else FRESH})


def page_of(slot_id: str) -> str:
    """The address of a slot's page. That of a slot whose id is `new` has a mark that no id has, because the form for a new
    slot is at `new`."""
    return f"{LIST}/{MARK}{slot_id}" if slot_id == "new" else f"{LIST}/{slot_id}"


async def create(request: PageRequest) -> SeeOther | FormError:
    body = _body(request.form, FIELDS)
    # A slot without an id takes one from the form, so that a form sent twice creates one slot.
    typed_id = text_of(request.form, "id")
    slot_id = typed_id or request.form.get("form_id")
    result = await request.ask("createSlot", body=body if slot_id is None else {"id": slot_id, **body})
    if typed_id is None and result.refused is not None and result.refused.code is Code.INVALID_STATE:
        return FormError(
            above(Code.INVALID_STATE, "This form has created its slot already. Reload the page for another one.")
        )
    return result.see_other(LIST, "slot_created")


async def slot(request: PageRequest) -> Template:
    found = await _slot(request)
    typed = was = _as_typed(found)
    if request.problem is not None and request.form.get("do") == "save":
        # The form comes back with the typed values and the ones that they replace.
        typed, was = dict(request.form), {name: request.form.get(f"was_{name}", "") for name in FIELDS}
    picture = miniature({}, (found["side"],), request.config.site.ads_per_side)
    values = {"slot": found, "page": page_of(found["id"]), "typed": typed, "was": was, "picture": picture}
    return Template("admin_slot.html", values)


async def save(request: PageRequest) -> SeeOther | FormError:
    """Send only the fields that changed in the form, so that concurrent changes of other fields survive."""
    found = await _slot(request)
    changed = [name for name in FIELDS if request.form.get(name, "") != request.form.get(f"was_{name}", "")]
    body = _body(request.form, changed)
    if not body:
        return FormError(Refused(Code.INVALID_REQUEST, "Nothing was changed."))
    result = await request.ask("editSlot", path={"id": found["id"]}, body=body)
    return result.see_other(page_of(found["id"]), "slot_saved")


async def retire(request: PageRequest) -> SeeOther | FormError:
    result = await request.ask("retireSlot", path={"id": _id(request)})
    return result.see_other(LIST, "slot_retired")


def _id(request: PageRequest) -> str:
    return request.path_values["id"].removeprefix(MARK)


async def _slot(request: PageRequest) -> dict[str, Any]:
    slot: dict[str, Any] = (await request.ask("readSlot", path={"id": _id(request)})).or_raise()["slot"]
    return slot


def _as_typed(slot: Mapping[str, Any]) -> dict[str, str]:
    """A slot as form values."""
    ends_ms = slot.get("offerEndsAt")
    return {
        "name": slot["name"],
        "side": slot["side"],
        "weekPrice": amount_of(slot["weekPriceCents"]),
        "durationWeeks": str(slot["durationWeeks"]),
        "active": "yes" if slot["active"] else "",
        "comingSoon": "yes" if slot["comingSoon"] else "",
        "offerEndsAt": "" if ends_ms is None else moment_text(ends_ms),
        "packageKind": slot.get("packageKind", ""),
        "description": slot.get("description", ""),
    }


def _body(form: Mapping[str, str], names: Sequence[str]) -> dict[str, Any]:
    """The body of the operation. Text that cannot be read stays as it is, and the operation refuses it with all else."""
    body: dict[str, Any] = {}
    for name in names:
        text = text_of(form, name)
        if name in READERS and (text is not None or name != "offerEndsAt"):
            key, read = READERS[name]
            value = read(text or "")
            body[key] = text or "" if value is None else value
        elif name in ("active", "comingSoon"):
            body[name] = text is not None
        else:
            body[name] = text or ("" if name in ("name", "side") else None)
    return body


PRICE = "Write an amount from 0.50 to 100,000.00, such as 120.00."
WEEKS = "Write a whole number from 1 to 52."
SLOT_FIELDS = {
    "name": Field("Name", "Write a name for the slot."),
    "side": Field("Side", CHOOSE),
    "packageKind": Field("Package", CHOOSE),
    "description": Field("Description"),
    "weekPrice": Field("Price per week (USD)", PRICE, right=PRICE, of="weekPriceCents"),
    "durationWeeks": Field("Weeks of one booking", WEEKS, right=WEEKS),
    "active": Field("Active"),
    "comingSoon": Field("Coming soon"),
    "offerEndsAt": Field("End of the offer", right="Write a date and time such as 2026-12-31T18:00."),
}
SLOT_ID = Field("Id", right="Use only letters a to z, digits and dashes.", id="slot-id")
CREATING = Form(
    {**SLOT_FIELDS, "id": SLOT_ID}, {Code.INVALID_STATE: ("id", "A slot has this id already. Choose another one.")}
)

PAGES = (
    Page(LIST, slots, who=Audience.ADMIN),
    Page(NEW, new_slot, {"create": create}, Audience.ADMIN, forms={"create": CREATING}),
    Page(
        "/admin/slots/{id}",
        slot,
        {"save": save, "retire": retire},
        Audience.ADMIN,
        forms={"save": Form(SLOT_FIELDS, {Code.INVALID_STATE: ("side", "")})},
    ),
)
