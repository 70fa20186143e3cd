"""The page behind the link in a mail that tells of a new key, session or administrator: it ends what the mail tells of.

Opening the page changes nothing; its button does. The visitor need not be signed in.
"""

from service.api.messages import NO_STORE
from service.web.pages.page import Page, PageRequest, Template


async def ending(request: PageRequest) -> Template:
    return await _asked(request, "viewEnding")


async def end(request: PageRequest) -> Template:
    return await _asked(request, "endByLink")


async def _asked(request: PageRequest, operation: str) -> Template:
    link = (await request.ask(operation, path=request.path_values)).or_refused()
    return Template("ending.html", link, headers=[*NO_STORE])


PAGES = (Page("/end/{token}", ending, {"end": end}, capability=True),)
