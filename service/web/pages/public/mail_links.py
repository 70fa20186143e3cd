"""The pages behind the links of mails: one revokes a key, session or role, one turns a topic of mails off (RFC 8058).

Opening a page changes nothing; its button does. The visitor need not be signed in.
"""

from actors.values import Code, Refused
from service.api.messages import NO_STORE
from service.web.pages.parts.page import FormError, Page, PageRequest, Template

ONE_CLICK = (b"List-Unsubscribe", b"One-Click")
"""The field and its value, which programs send as one of the two formats of forms."""


async def ending(request: PageRequest) -> Template:
    return await _page(request, "viewEnding", "ending.html")


async def end(request: PageRequest) -> Template:
    return await _page(request, "endByLink", "ending.html")


async def stopping(request: PageRequest) -> Template:
    return await _page(request, "viewStopping", "unsubscribe.html")


async def stop(request: PageRequest) -> Template | FormError:
    """Turn the topic off. The form has no field `do`, because mail programs send none."""
    if not all(word in request.request.body for word in ONE_CLICK):
        return FormError(Refused(Code.INVALID_REQUEST, "Send the form of this page."))
    return await _page(request, "stopMails", "unsubscribe.html")


async def _page(request: PageRequest, operation: str, template: str) -> Template:
    link = (await request.ask(operation, path=request.path_values)).or_raise()
    return Template(template, link, headers=[*NO_STORE])


PAGES = (
    Page("/end/{token}", ending, {"end": end}, capability=True),
    Page("/unsubscribe/{token}", stopping, {"": stop}, capability=True),
)
