"""Slots as administrators write them: prices as money, moments as date and time in UTC."""

from collections.abc import Mapping
from typing import Any

from actors.values import Code, Refused
from service.web.pages.page import Audience, FormError, Page, PageRequest, SeeOther, Template, nothing_here
from service.web.pages.typed import amount_of, cents_of, moment_of, moment_text, text_of, whole_of

FIELDS = (
    "name",
    "side",
    "weekPrice",
    "durationWeeks",
    "active",
    "comingSoon",
    "offerEndsAt",
    "packageKind",
    "description",
)
FRESH = {"side": "left", "durationWeeks": "1", "active": "yes"}
"""What the form of a new slot begins with."""


async def slots(request: PageRequest) -> Template:
    items = (await request.ask("listSlots")).or_refused()["items"]
    typed = dict(request.form) if request.problem is not None else FRESH
    return Template("admin_slots.html", {"slots": items, "typed": typed})


async def create(request: PageRequest) -> SeeOther | FormError:
    body = _body(request.form, FIELDS)
    if isinstance(body, Refused):
        return FormError(body)
    # A slot without an id takes one from the form, so that a form sent twice creates one slot.
    slot_id = text_of(request.form, "id") or request.form.get("form_id")
    result = await request.ask("createSlot", body=body if slot_id is None else {"id": slot_id, **body})
    return FormError(result.refused) if result.refused is not None else SeeOther("/admin/slots", "slot_created")


async def slot(request: PageRequest) -> Template:
    found = await _found(request)
    was = _as_typed(found)
    # What was typed is shown again, beside what it was typed over.
    again = request.problem is not None and request.form.get("do") == "save"
    typed = dict(request.form) if again else was
    if again:
        was = {name: request.form.get(f"was_{name}", "") for name in FIELDS}
    return Template("admin_slot.html", {"slot": found, "typed": typed, "was": was})


async def save(request: PageRequest) -> SeeOther | FormError:
    """Change what was changed in the form, and leave alone what somebody else may have changed meanwhile."""
    found = await _found(request)
    changed = [name for name in FIELDS if request.form.get(name, "") != request.form.get(f"was_{name}", "")]
    body = _body(request.form, changed)
    if isinstance(body, Refused):
        return FormError(body)
    if not body:
        return FormError(Refused(Code.INVALID_REQUEST, "Nothing was changed."))
    result = await request.ask("editSlot", path={"id": found["id"]}, body=body)
    return (
        FormError(result.refused)
        if result.refused is not None
        else SeeOther(f"/admin/slots/{found['id']}", "slot_saved")
    )


async def retire(request: PageRequest) -> SeeOther | FormError:
    result = await request.ask("retireSlot", path=request.path_values)
    return FormError(result.refused) if result.refused is not None else SeeOther("/admin/slots", "slot_retired")


async def _found(request: PageRequest) -> dict[str, Any]:
    items = (await request.ask("listSlots")).or_refused()["items"]
    for each in items:
        if each["id"] == request.path_values["id"]:
            return dict(each)
    raise nothing_here()


def _as_typed(slot: Mapping[str, Any]) -> dict[str, str]:
    """A slot as its form holds it."""
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


def _body(form: Mapping[str, str], names: tuple[str, ...] | list[str]) -> dict[str, Any] | Refused:
    """The body of the operation, or what of the form cannot be read."""
    body: dict[str, Any] = {}
    for name in names:
        text = text_of(form, name)
        match name:
            case "active" | "comingSoon":
                body[name] = text is not None
            case "weekPrice":
                cents = cents_of(text or "")
                if cents is None:
                    return _unread("The price per week is not an amount such as 120.00.")
                body["weekPriceCents"] = cents
            case "durationWeeks":
                weeks = whole_of(text or "")
                if weeks is None:
                    return _unread("The weeks of a booking are not a whole number such as 1.")
                body[name] = weeks
            case "offerEndsAt" if text is not None:
                ends_ms = moment_of(text)
                if ends_ms is None:
                    return _unread("The end of the offer is not a date and time such as 2026-12-31T18:00.")
                body[name] = ends_ms
            case "name" | "side":
                body[name] = text or ""
            case _:
                body[name] = text
    return body


def _unread(message: str) -> Refused:
    return Refused(Code.INVALID_REQUEST, message)


PAGES = (
    Page("/admin/slots", slots, {"create": create}, Audience.ADMIN),
    Page("/admin/slots/{id}", slot, {"save": save, "retire": retire}, Audience.ADMIN),
)
