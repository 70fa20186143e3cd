"""The page that approves a device: the visitor types its code, sees the request, and decides.

A link can fill in the code, but the visitor has to press two buttons: one to see the request, because a wrong code counts
as an attempt, and one to approve it.
"""

from actors.values import Code
from service.web.pages.parts.forms import Field, Form
from service.web.pages.parts.page import Audience, FormError, Page, PageRequest, SeeOther, Template

CODE = "Write the code that the device shows."
DECIDED = {"device_approved": "Go back to your device", "device_denied": "The device gets no key"}
"""The headings after a decision, by its notice."""


async def device(request: PageRequest) -> Template:
    """The form for the code. After a decision, a page with the ways on."""
    heading = DECIDED.get(request.query.get("notice", "")) if not request.form else None
    if heading is not None:
        return Template(
            "device_decided.html", {"heading": heading, "approved": request.query["notice"] == "device_approved"}
        )
    typed = request.form.get("user_code") or request.query.get("user_code", "")
    return Template("device.html", {"typed": typed, "asked": None, "administers": request.caller.admin})


async def review(request: PageRequest) -> Template | FormError:
    """Show the device's request."""
    typed = request.form.get("user_code", "")
    if not typed.strip():
        return FormError.at(user_code=CODE)
    result = await request.ask("getDeviceApproval", query={"userCode": typed})
    if result.refused is not None:
        return FormError(result.refused)
    return Template("device.html", {"typed": typed, "asked": result.json, "administers": request.caller.admin})


async def decide(request: PageRequest) -> SeeOther | FormError:
    """Record the decision, which is the form's `do`. Sending the same decision twice does no harm."""
    decision = request.form["do"]
    body: dict[str, object] = {"userCode": request.form.get("user_code", ""), "decision": decision}
    if "admin" in request.form:
        body["admin"] = True
    notice = "device_approved" if decision == "approve" else "device_denied"
    return (await request.ask("decideDevice", body=body)).see_other("/device", notice)


FORM = Form({"user_code": Field("Code", CODE, of="userCode")}, {Code.INVALID_CODE: ("user_code", "")})

PAGES = (
    Page(
        "/device",
        device,
        {"look": review, "approve": decide, "deny": decide},
        Audience.ACCOUNT,
        forms={"look": FORM, "approve": FORM, "deny": FORM},
    ),
)
