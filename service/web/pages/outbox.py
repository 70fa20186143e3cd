"""The outbox of a developer: mails as they would have been sent. It exists only where no SMTP server is configured, and
only for this machine."""

from service.http.addresses import is_loopback
from service.web.pages.page import Page, PageRequest, Template, nothing_here


async def outbox(visit: PageRequest) -> Template:
    if not is_open(visit):
        raise nothing_here()
    return Template("outbox.html", {"letters": await visit.services.mail.recent(50)})


def is_open(visit: PageRequest) -> bool:
    """Whether there is an outbox for who looks."""
    return not visit.services.config.mail.smtp_url and _from_this_machine(visit)


def _from_this_machine(visit: PageRequest) -> bool:
    """Whether the caller sits at this machine. What a proxy on it hands on does not, trusted or not."""
    forwarded = any(name in visit.request.headers for name in ("forwarded", "x-forwarded-for", "x-real-ip"))
    return not forwarded and is_loopback(visit.caller.address)


PAGES = (Page("/dev/outbox", outbox),)
