"""The development outbox: mails as they would have been sent. It exists only without an SMTP server, and only locally."""

from service.web.pages.page import Page, PageRequest, Template


async def outbox(request: PageRequest) -> Template:
    return Template("outbox.html", (await request.ask("listOutbox")).or_refused())


PAGES = (Page("/dev/outbox", outbox),)
