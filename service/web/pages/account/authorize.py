"""The page on which a person decides what a program may do (RFC 6749, 3.1). It is shown for each request: an earlier approval
never stands for a later one.

Errors of the program go back to it. A browser follows by itself only to the person's own machine; elsewhere the person
chooses to, because anybody could have made the request to send people to a page of theirs (RFC 9700, 4.11).
"""

from actors.values import Code, Scope, Tier
from service.api.messages import NO_STORE, Headers
from service.web.pages.account.keys import CHOSEN, SCOPES
from service.web.pages.parts.forms import Field, Form, plain_message
from service.web.pages.parts.page import Audience, FormError, Page, PageRefused, PageRequest, SeeOther, Template

PATH = "/oauth/authorize"
LIVES = {"30": "In 30 days", "90": "In 90 days (recommended)", "365": "In a year"}
USUAL = "90"
LEAVING: Headers = [*NO_STORE, ("referrer-policy", "no-referrer")]
"""For responses whose address has a code."""

CHOOSE_END = "Choose when the access ends."


async def authorize(request: PageRequest) -> Template | SeeOther:
    """Show who asks, for what, until when and at what cost; or what is wrong with the request."""
    query = request.form.get("request") or request.request.query
    result = await request.ask("showAuthorization", query={"request": query})
    if result.refused is not None:
        if result.refused.code is not Code.INVALID_REQUEST:
            raise PageRefused(result.refused)
        message = plain_message(result.refused)
        return Template("authorize_refused.html", {"message": message}, 400, [*NO_STORE])
    asked = result.json
    if asked["error"] is not None:
        if asked["local"]:
            return SeeOther(asked["goOn"], headers=LEAVING)
        return Template("authorize_refused.html", {"message": asked["error"], "asked": asked}, 400, [*NO_STORE])
    tiers = request.config.tiers
    values = {
        "asked": asked,
        "query": query,
        "scopes": {scope: SCOPES[Scope(scope)] for scope in asked["scopes"]},
        "lives": list(LIVES.items()),
        "life": request.form.get("days", USUAL),
        "monthly": (tiers.upgraded if request.caller.tier is Tier.UPGRADED else tiers.claimed).monthly,
    }
    return Template("authorize.html", values, headers=[*NO_STORE], forms_to=asked["source"])


async def decide(request: PageRequest) -> SeeOther | FormError:
    """Record the decision, which is the form's `do`, and go back to the program."""
    days = request.form.get("days", "")
    if days not in LIVES:
        return FormError.at(days=CHOOSE_END)
    body = {
        "request": request.form.get("request", ""),
        "ticket": request.form.get("ticket", ""),
        "decision": request.form["do"],
        "scopes": [scope for scope in Scope if CHOSEN + scope in request.form],
        "days": int(days),
    }
    result = await request.ask("decideAuthorization", body=body)
    return FormError(result.refused) if result.refused is not None else SeeOther(result.json["goOn"], headers=LEAVING)


FORM = Form({"days": Field("Access ends", CHOOSE_END)})
PAGES = (
    Page(PATH, authorize, {"approve": decide, "deny": decide}, Audience.ACCOUNT, forms={"approve": FORM, "deny": FORM}),
)
