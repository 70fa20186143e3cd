"""The development outbox: mails that were not sent, because no SMTP server is configured. Only this machine can see it."""

from service.web.pages.page import Page, PageRequest, Template


async def outbox(request: PageRequest) -> Template:
    return Template("outbox.html", (await request.ask("listOutbox")).or_refused())


PAGES = (Page("/dev/outbox", outbox),)
