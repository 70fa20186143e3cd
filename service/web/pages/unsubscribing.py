"""The page behind the link in a mail that turns its topic off, for people and for mail programs (RFC 8058).

Opening the page changes nothing. Its button sends what a mail program sends for one click; neither needs to be signed in.
"""

from actors.values import Code, Refused
from service.api.messages import NO_STORE
from service.web.pages.page import FormError, Page, PageRequest, Template

ONE_CLICK = (b"List-Unsubscribe", b"One-Click")
"""The field and its value, which programs send as one of the two formats of forms."""


async def stopping(request: PageRequest) -> Template:
    return await _asked(request, "viewStopping")


async def stop(request: PageRequest) -> Template | FormError:
    if not all(word in request.request.body for word in ONE_CLICK):
        return FormError(Refused(Code.INVALID_REQUEST, "Send the form of this page."))
    return await _asked(request, "stopMails")


async def _asked(request: PageRequest, operation: str) -> Template:
    link = (await request.ask(operation, path=request.path_values)).or_refused()
    return Template("unsubscribe.html", link, headers=[*NO_STORE])


PAGES = (Page("/unsubscribe/{token}", stopping, {"": stop}, capability=True),)
"""The form has no field `do`, because mail programs send none."""
