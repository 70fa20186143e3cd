"""A real SMTP server for the acceptance tests, with typical failures on demand."""

# ruff: noqa: N802 - aiosmtpd finds a handler's methods by the names of SMTP commands

import asyncio
import email
import email.policy
import re
from email.message import EmailMessage
from enum import Enum

from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.acceptance.processes import until
from tests.mail.servers import LocalServer


class Mood(Enum):
    """The server's treatment of a mail."""

    TAKES = "takes it"
    REFUSES = "says that it cannot take it now"
    HANGS = "says nothing"
    DROPS = "ends the connection"


class MailServer:
    """The handler, which keeps accepted mail."""

    def __init__(self) -> None:
        self.mood = Mood.TAKES
        self.attempts = 0
        self.messages: list[EmailMessage] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        self.attempts += 1
        match self.mood:
            case Mood.REFUSES:
                return "451 try again later"
            case Mood.HANGS:
                await asyncio.Event().wait()
            case Mood.DROPS:
                assert server.transport is not None
                server.transport.close()
                return "250 nobody hears this"
            case Mood.TAKES:
                pass
        message = email.message_from_bytes(envelope.original_content or b"", policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        self.messages.append(message)
        return "250 taken"

    def letters_to(self, address: str) -> list[EmailMessage]:
        return [message for message in self.messages if str(message["To"]) == address]

    def code_for(self, address: str, *, seconds: float = 20.0) -> str:
        """Wait for a mail to an address and return the code in the newest one."""
        until(lambda: self.letters_to(address), seconds, what=f"a letter to {address}")
        codes = re.findall(r"^(\d{6})\r?$", text_of(self.letters_to(address)[-1]), re.MULTILINE)
        assert len(codes) == 1
        return str(codes[0])


def text_of(message: EmailMessage) -> str:
    """The plain text of a mail."""
    part = message.get_body(("plain",))
    assert part is not None
    return str(part.get_content())


class SmtpServer(LocalServer):
    """An SMTP server that passes mails to `mail_server`, on a free port or on `port`."""

    def __init__(self, mail_server: MailServer, port: int = 0) -> None:
        super().__init__(mail_server, port)
        self.mail_server = mail_server

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"
