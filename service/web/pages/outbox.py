"""The development outbox: mails that were not sent, because no SMTP server is configured. Only this machine can see it."""

from service.api.messages import NO_STORE
from service.web.pages.page import Page, PageRequest, Template, nothing_here

POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
"""For the HTML of a mail, which has its styles within it: no scripts, no forms, nothing that is loaded."""


async def outbox(request: PageRequest) -> Template:
    """The mails. Their codes and links are secrets, so the page is neither stored nor compressed."""
    return Template("outbox.html", (await request.ask("listOutbox")).or_refused(), headers=[*NO_STORE])


async def html_part(request: PageRequest) -> Template:
    """The HTML of one mail as a page of its own."""
    mails = (await request.ask("listOutbox")).or_refused()["mails"]
    for mail in mails:
        if mail["id"] == request.path_values["id"] and mail["html"] is not None:
            headers = [*NO_STORE, ("content-security-policy", POLICY)]
            return Template("mail.html", {"html": mail["html"]}, headers=headers)
    raise nothing_here()


PAGES = (Page("/dev/outbox", outbox), Page("/dev/outbox/{id}", html_part))
