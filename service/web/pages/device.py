"""The page on which a person approves a device: types its code, sees what is asked, and decides.

A link with the code fills it in, and no more: what is asked is shown after a click, since a wrong code is charged, and it
is given after another.
"""

from actors.values import Code, Refused
from service.web.pages.page import Audience, FormError, Page, PageRequest, SeeOther, Template


async def device(request: PageRequest) -> Template:
    """The form for the code."""
    return Template(
        "device.html", {"typed": request.form.get("user_code") or request.query.get("user_code", ""), "asked": None}
    )


async def look(request: PageRequest) -> Template | FormError:
    """What is asked with the code."""
    typed = request.form.get("user_code", "")
    if not typed.strip():
        return FormError(Refused(Code.INVALID_REQUEST, "Type the code that the device shows."))
    result = await request.ask("getDeviceApproval", query={"userCode": typed})
    if result.refused is not None:
        return FormError(result.refused)
    return Template("device.html", {"typed": typed, "asked": result.json})


async def approve(request: PageRequest) -> SeeOther | FormError:
    return await _decided(request, "approve", "device_approved")


async def deny(request: PageRequest) -> SeeOther | FormError:
    return await _decided(request, "deny", "device_denied")


async def _decided(request: PageRequest, decision: str, notice: str) -> SeeOther | FormError:
    """The same button pressed twice is the same decision, so the form needs no name of its own."""
    body = {"userCode": request.form.get("user_code", ""), "decision": decision}
    result = await request.ask("decideDevice", body=body)
    return SeeOther("/device", notice) if result.refused is None else FormError(result.refused)


PAGES = (Page("/device", device, {"look": look, "approve": approve, "deny": deny}, Audience.ACCOUNT),)
