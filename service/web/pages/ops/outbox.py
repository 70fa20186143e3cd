"""The development outbox: mails that were not sent, because no SMTP server is configured. Only this machine can see it."""

import re
from dataclasses import dataclass

from service.api.messages import NO_STORE
from service.web.pages.parts.page import Page, PageRequest, Template, nothing_here

POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
"""For the HTML of a mail, which has its styles within it: no scripts, no forms, nothing that is loaded."""


CODE = re.compile(r"^\s*(\d{6}|\d{12})\s*$", re.MULTILINE)
"""A line that is a code, and nothing else."""


@dataclass(frozen=True, slots=True)
class MailLinks:
    """The acts that a mail asks of its reader: its code, and its links to this service as paths."""

    code: str
    links: tuple[str, ...]


def acts_of(text: str | None, base_url: str) -> MailLinks:
    """The code and the links of a mail, each link once and in order."""
    code = CODE.search(text or "")
    # Browsers read two slashes as the start of another host, and a mail has lines that others wrote.
    links = re.findall(rf"^\s*{re.escape(base_url)}(/(?![/\\])\S+)\s*$", text or "", re.MULTILINE)
    return MailLinks(code[1] if code else "", tuple(dict.fromkeys(links)))


async def outbox(request: PageRequest) -> Template:
    """The mails. Their codes and links are secrets, so the page is neither stored nor compressed."""
    mails = (await request.ask("listOutbox")).or_raise()["mails"]
    acts = {mail["id"]: acts_of(mail["text"], request.base_url) for mail in mails}
    return Template("outbox.html", {"mails": mails, "acts": acts}, headers=[*NO_STORE])


async def html_part(request: PageRequest) -> Template:
    """The HTML of one mail as a page of its own."""
    mails = (await request.ask("listOutbox")).or_raise()["mails"]
    for mail in mails:
        if mail["id"] == request.path_values["id"] and mail["html"] is not None:
            headers = [*NO_STORE, ("content-security-policy", POLICY)]
            return Template("mail.html", {"html": mail["html"]}, headers=headers)
    raise nothing_here()


PAGES = (Page("/dev/outbox", outbox), Page("/dev/outbox/{id}", html_part))
