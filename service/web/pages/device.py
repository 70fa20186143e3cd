"""The page on which a person approves a device: types its code, sees what is asked, and decides.

A link with the code fills it in, and no more: what is asked is shown after a click, since a wrong code is charged, and it
is given after another.
"""

from actors.values import Code, Refused
from service.web.pages.page import Audience, FormError, Page, PageRequest, SeeOther, Template


async def device(visit: PageRequest) -> Template:
    """The form for the code."""
    return Template(
        "device.html", {"typed": visit.form.get("user_code") or visit.query.get("user_code", ""), "asked": None}
    )


async def look(visit: PageRequest) -> Template | FormError:
    """What is asked with the code."""
    typed = visit.form.get("user_code", "")
    if not typed.strip():
        return FormError(Refused(Code.INVALID_REQUEST, "Type the code that the device shows."))
    told = await visit.ask("getDeviceApproval", query={"userCode": typed})
    if told.refused is not None:
        return FormError(told.refused)
    return Template("device.html", {"typed": typed, "asked": told.json})


async def approve(visit: PageRequest) -> SeeOther | FormError:
    return await _decided(visit, "approve", "device_approved")


async def deny(visit: PageRequest) -> SeeOther | FormError:
    return await _decided(visit, "deny", "device_denied")


async def _decided(visit: PageRequest, decision: str, notice: str) -> SeeOther | FormError:
    """The same button pressed twice is the same decision, so the form needs no name of its own."""
    body = {"userCode": visit.form.get("user_code", ""), "decision": decision}
    told = await visit.ask("decideDevice", body=body)
    return SeeOther("/device", notice) if told.refused is None else FormError(told.refused)


PAGES = (Page("/device", device, {"look": look, "approve": approve, "deny": deny}, Audience.ACCOUNT),)
