"""The pages behind the links of mails: one revokes a key, session or role, one turns a topic of mails off (RFC 8058).

Opening a page changes nothing; its button does. The visitor need not be signed in.
"""

from actors.values import Code, Refused
from service.api.messages import NO_STORE
from service.web.pages.parts.page import FormError, Page, PageRequest, SeeOther, Show, Template

ONE_CLICK = (b"List-Unsubscribe", b"One-Click")
"""The field and its value, which programs send as one of the two formats of forms."""


def _page(operation: str, template: str) -> Show:
    """The page of a link after an operation on it."""

    async def show(request: PageRequest) -> Template:
        link = (await request.ask(operation, path=request.path_values)).or_raise()
        return Template(template, link, headers=[*NO_STORE])

    return show


async def stop(request: PageRequest) -> Template | SeeOther | FormError:
    """Turn the topic off. The form has no field `do`, because mail programs send none."""
    if not all(word in request.request.body for word in ONE_CLICK):
        return FormError(Refused(Code.INVALID_REQUEST, "Send the form of this page."))
    return await _page("stopMails", "unsubscribe.html")(request)


PAGES = (
    Page(
        "/end/{token}", _page("viewEnding", "ending.html"), {"end": _page("endByLink", "ending.html")}, capability=True
    ),
    Page("/unsubscribe/{token}", _page("viewStopping", "unsubscribe.html"), {"": stop}, capability=True),
)
