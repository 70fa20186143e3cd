"""The pages behind the links of mails: one revokes a key, session or role, one turns a topic of mails off (RFC 8058).

Opening a page changes nothing; its button does. The visitor need not be signed in.
"""

from actors.values import Code, Refused
from service.api.messages import NO_STORE
from service.web.pages.parts.page import FormError, Page, PageRequest, Template

ONE_CLICK = (b"List-Unsubscribe", b"One-Click")
"""The field and its value, which programs send as one of the two formats of forms."""


async def ending(request: PageRequest) -> Template:
    return await _asked(request, "viewEnding")


async def end(request: PageRequest) -> Template:
    return await _asked(request, "endByLink")


async def _asked(request: PageRequest, operation: str) -> Template:
    link = (await request.ask(operation, path=request.path_values)).or_refused()
    return Template("ending.html", link, headers=[*NO_STORE])


async def stopping(request: PageRequest) -> Template:
    return await _ask(request, "viewStopping")


async def stop(request: PageRequest) -> Template | FormError:
    if not all(word in request.request.body for word in ONE_CLICK):
        return FormError(Refused(Code.INVALID_REQUEST, "Send the form of this page."))
    return await _ask(request, "stopMails")


async def _ask(request: PageRequest, operation: str) -> Template:
    link = (await request.ask(operation, path=request.path_values)).or_refused()
    return Template("unsubscribe.html", link, headers=[*NO_STORE])


"""The form has no field `do`, because mail programs send none."""


PAGES = (
    Page("/end/{token}", ending, {"end": end}, capability=True),
    Page("/unsubscribe/{token}", stopping, {"": stop}, capability=True),
)
