"""How mails leave: by SMTP, or, where no server is configured, onto the log.

Knows nothing of the outbox or of retries: a mail is taken, or an error says whether another attempt may help.
"""

import logging
import re
import smtplib
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import EmailMessage
from enum import Enum
from typing import NoReturn
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import trio

from actors.mail.messages import Mail, MailFailed, MailRefused
from actors.mail.rendering import as_message, sender_address

log = logging.getLogger(__name__)

AUTHENTICATION = (530, 534, 535, 538)
"""Replies that ask for other credentials (RFC 4954): permanent for SMTP, but the configuration can be mended."""

_HOST = re.compile(r"[0-9a-z._:-]+")


class Tls(Enum):
    """When a connection is encrypted. A server is verified unless encryption is a mere bonus."""

    IF_OFFERED = "if offered"
    REQUIRED = "required"
    NEVER = "never"
    FROM_START = "from the start"


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """Where mail is handed in. Its words about itself never hold the password."""

    host: str
    port: int
    tls: Tls
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def smtp_server(url: str) -> SmtpServer:
    """Read `smtp://[user:pass@]host[:port][?starttls=required|never]` or `smtps://...`; ports 25 and 465 by default.

    STARTTLS is used where the server offers it; with a password it is required, unless `starttls=never`. Raises
    ValueError with a line that does not quote the URL, since that may hold a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        # From None: the cause may quote what stands where a port should, such as a password with a bare `/`.
        raise _bad(
            "its host or port is malformed; in user and password write /, :, @, ? and # as %2F and so on"
        ) from None
    if parts.scheme not in ("smtp", "smtps"):
        raise _bad("it must begin with smtp:// or smtps://")
    if not parts.hostname or not _HOST.fullmatch(parts.hostname):
        raise _bad("it names no host, or one that is not a DNS name or an address")
    if port == 0:
        raise _bad("its port is 0")
    if parts.path not in ("", "/") or parts.fragment:
        raise _bad("it has a path or a fragment; in user and password write / as %2F and # as %23")
    user, password = (unquote(text) if text else None for text in (parts.username, parts.password))
    if (user is None) != (password is None):
        raise _bad("it has a user without a password, or the other way round")
    if not all(text is None or text.isascii() for text in (user, password)):
        raise _bad("its user and password must be ASCII, which is all that SMTP's ways to log in can carry")
    default_port = 465 if parts.scheme == "smtps" else 25
    return SmtpServer(
        parts.hostname, port or default_port, _tls(parts, has_password=password is not None), user, password
    )


def _tls(parts: SplitResult, *, has_password: bool) -> Tls:
    options = parse_qsl(parts.query, keep_blank_values=True)
    if parts.scheme == "smtps":
        if options:
            raise _bad("smtps:// takes no options: it is encrypted from the start")
        return Tls.FROM_START
    match options:
        case []:
            return Tls.REQUIRED if has_password else Tls.IF_OFFERED
        case [("starttls", "required")]:
            return Tls.REQUIRED
        case [("starttls", "never")]:
            return Tls.NEVER
    raise _bad("the only option is ?starttls=required or ?starttls=never")


def _bad(why: str) -> ValueError:
    return ValueError(f"mail.smtp_url is not usable: {why}")


class SmtpTransport:
    """Hands each mail to one SMTP server, over a connection of its own, in a thread.

    A mail that takes longer than `seconds` fails, and its connection is cut. At most `connections` at once. `tls` is
    for servers whose certificate no public authority signed.
    """

    def __init__(
        self, url: str, *, seconds: float = 10.0, connections: int = 4, tls: ssl.SSLContext | None = None
    ) -> None:
        self.server = smtp_server(url)
        self._seconds = seconds
        self._limiter = trio.CapacityLimiter(connections)
        self._tls = tls or ssl.create_default_context()
        if self.server.tls is Tls.IF_OFFERED and tls is None:
            # Who could forge the certificate could as well hide the offer: to insist on one would only lose mail.
            self._tls.check_hostname = False
            self._tls.verify_mode = ssl.CERT_NONE

    async def send(self, mail: Mail) -> None:
        """Return once the server has taken the mail; raises `MailRefused` or `MailFailed`, which name no secret."""
        session = _Session(self.server, self._tls, self._seconds)
        try:
            with trio.move_on_after(self._seconds):
                await trio.to_thread.run_sync(session.deliver, mail, abandon_on_cancel=True, limiter=self._limiter)
                return
        finally:
            session.cut()
        raise MailFailed(f"{self.server}: not done within {self._seconds:g} s")

    def __repr__(self) -> str:
        return f"<SmtpTransport {self.server}>"


class ConsoleTransport:
    """Where no SMTP server is configured: the mail, with its code, goes to the log and counts as sent."""

    async def send(self, mail: Mail) -> None:
        await trio.lowlevel.checkpoint()
        log.warning(
            "no SMTP server is configured, so this mail is shown here only\nTo: %s\nSubject: %s\n\n%s",
            mail.recipient,
            mail.subject,
            mail.text,
        )


class _Session:
    """One mail's connection. `deliver` runs in a thread; `cut` comes from Trio's thread and ends it there."""

    def __init__(self, server: SmtpServer, tls: ssl.SSLContext, seconds: float) -> None:
        self._server = server
        self._tls = tls
        self._seconds = seconds
        self._is_cut = False
        self._smtp: smtplib.SMTP | None = None

    def deliver(self, mail: Mail) -> None:
        message = as_message(mail)
        try:
            smtp = self._smtp = self._connected()
            try:
                self._prepare(smtp)
                self._hand_over(smtp, mail, message)
            finally:
                _leave(smtp)
        except OSError as error:
            # All that smtplib raises is one too. From None: it holds more of the dialogue than may be kept.
            raise MailFailed(f"{self._server}: {_words(error)}") from None

    def cut(self) -> None:
        """End a delivery that is still at work: whatever it waits for fails at once."""
        self._is_cut = True
        sock = self._smtp.sock if self._smtp is not None else None
        if sock is not None:
            with suppress(OSError):
                # The plain socket's: ssl's own would forget the encryption first, under a thread that may be writing.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def _connected(self) -> smtplib.SMTP:
        host, port = self._server.host, self._server.port
        if self._server.tls is Tls.FROM_START:
            return smtplib.SMTP_SSL(host, port, _own_name(), timeout=self._seconds, context=self._tls)
        return smtplib.SMTP(host, port, _own_name(), timeout=self._seconds)

    def _prepare(self, smtp: smtplib.SMTP) -> None:
        """Greet, encrypt and log in as configured; nothing here is permanent, since a configuration can be mended."""
        if self._is_cut:
            raise smtplib.SMTPServerDisconnected("given up")
        smtp.ehlo_or_helo_if_needed()
        if self._server.tls in (Tls.IF_OFFERED, Tls.REQUIRED):
            if smtp.has_extn("starttls"):
                smtp.starttls(context=self._tls)
                smtp.ehlo_or_helo_if_needed()
            elif self._server.tls is Tls.REQUIRED:
                raise MailFailed(f"{self._server}: the server offers no STARTTLS, which is required")
        if self._server.user is not None and self._server.password is not None:
            smtp.login(self._server.user, self._server.password)

    def _hand_over(self, smtp: smtplib.SMTP, mail: Mail, message: EmailMessage) -> None:
        try:
            smtp.send_message(message, sender_address(mail.sender).addr_spec, [mail.recipient])
        except smtplib.SMTPNotSupportedError:
            raise MailRefused(f"{self._server}: the server takes ASCII addresses only") from None
        except smtplib.SMTPRecipientsRefused as error:
            self._refuse(*error.recipients[mail.recipient])
        except (smtplib.SMTPSenderRefused, smtplib.SMTPDataError) as error:
            self._refuse(error.smtp_code, error.smtp_error)

    def _refuse(self, code: int, reply: bytes | str) -> NoReturn:
        """What the server says about this mail: 5xx is permanent (RFC 5321, 4.2.1), all else may pass."""
        words = f"{self._server}: {_reply(code, reply)}"
        if 500 <= code <= 599 and code not in AUTHENTICATION:
            raise MailRefused(words) from None
        raise MailFailed(words) from None


def _leave(smtp: smtplib.SMTP) -> None:
    """Say QUIT and go. Waiting for its answer could only turn a mail that was taken into one that failed."""
    with suppress(OSError):
        smtp.putcmd("quit")
    smtp.close()


def _own_name() -> str:
    """What this host calls itself, without asking the DNS, which may take its time."""
    name = socket.gethostname()
    return name if "." in name and name.isascii() else "[127.0.0.1]"


def _words(error: OSError) -> str:
    match error:
        case smtplib.SMTPAuthenticationError():
            # Its reply is not quoted: there are servers that repeat what they were given.
            return f"{error.smtp_code} the server refused the login"
        case smtplib.SMTPResponseException():
            return _reply(error.smtp_code, error.smtp_error)
        case smtplib.SMTPException():
            return str(error)
        case _:
            return f"{type(error).__name__}: {error.strerror or error}"


def _reply(code: int, reply: bytes | str) -> str:
    return f"{code} {reply if isinstance(reply, str) else reply.decode(errors='replace')}"
