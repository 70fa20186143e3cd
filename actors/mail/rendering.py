"""Renders messages of the outbox as mails. Pure.

Knows nothing of how mails travel. Only its results contain codes in clear.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from jinja2 import UndefinedError

from actors.mail.internet import PLAIN_ADDRESS, sender_address
from actors.mail.messages import NOBODY, About, Mail, MailFailed, MailRefused, QueuedMessage
from actors.mail.parts import Footer, as_html, as_text
from actors.mail.template_files import TEMPLATES, MailTemplate
from actors.mail.words import WRITTEN, minutes, time_of_day
from actors.shared.announcements import Topic
from actors.shared.code_mails import LONG
from actors.shared.credentials import long_code

CHOICES = "/dashboard/settings"
"""The page where people choose their mails."""


@dataclass(frozen=True, slots=True)
class MailRenderer:
    """Writes mails from `sender` (an address, or `Name <address>`) about the service at `site`. `code_of` derives the
    short code from a message's nonce. `link_of` makes the link that revokes the key, session or role of a notice, from
    its facts, its recipient and its time. `stop_url_of` makes the link that turns a topic off for a recipient. `about` says
    who runs the service. Raises ValueError if the sender is not an address."""

    sender: str
    site: str
    code_of: Callable[[bytes], str]
    link_of: Callable[[Mapping[str, str], str, int], str]
    stop_url_of: Callable[[str, Topic], str]
    about: About = NOBODY

    def __post_init__(self) -> None:
        sender_address(self.sender)

    def write(self, message: QueuedMessage) -> Mail:
        """Render a message. Raises `MailRefused` if its recipient is not a plain address, and `MailFailed` for the
        template of a newer version of this program, or a fact that it lacks: a node of that version will send it."""
        if not PLAIN_ADDRESS.fullmatch(message.recipient):
            raise MailRefused("the recipient is not a plain address")
        letter = TEMPLATES.get(message.template)
        if letter is None:
            raise MailFailed(f"this node does not know the template {message.template!r}")
        values = self._values(message)
        try:
            footer = self._footer(letter, message.recipient, letter.because(values))
            subject, parts = letter.subject(values), letter.parts(values)
        except UndefinedError as error:
            raise MailFailed(f"this node cannot render {message.template!r}: {error.message}") from None
        return Mail(
            message_id=message.id,
            sender=self.sender,
            recipient=message.recipient,
            subject=subject,
            text=as_text(parts, footer),
            created_ms=message.created_ms,
            html=as_html(self._name, subject, parts, footer),
            stop_url=footer.stop_url,
        )

    @property
    def _name(self) -> str:
        """The name of the service in its mails."""
        return self.about.name or sender_address(self.sender).display_name or urlsplit(self.site).netloc

    def _values(self, message: QueuedMessage) -> dict[str, str]:
        """The facts, and what every template can use, which no fact overrides."""
        facts: dict[str, Any] = json.loads(message.facts)
        # JSON can escape half of a character, which nothing encodes.
        texts = {name: "" if value is None else str(value) for name, value in facts.items()}
        values = {name: text.encode(errors="replace").decode() for name, text in texts.items()}
        is_long = message.template.endswith(LONG)
        values |= {
            "site": self.site,
            "terms_url": self.about.terms_url,
            "code": long_code(self.code_of, message.nonce) if is_long else self.code_of(message.nonce),
            "minutes": minutes(message.expires_ms - message.created_ms),
            "until": time_of_day(message.expires_ms),
            WRITTEN: str(message.created_ms),
        }
        if "ends" in values:
            values["link"] = self.link_of(values, message.recipient, message.created_ms)
        return values

    def _footer(self, letter: MailTemplate, recipient: str, because: str) -> Footer:
        if letter.topic is None:
            return Footer(because, self.site, self.about.links)
        stop_url = self.stop_url_of(recipient, letter.topic)
        return Footer(because, self.site, self.about.links, letter.topic.value, stop_url, self.site + CHOICES)
