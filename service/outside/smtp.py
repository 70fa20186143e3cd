"""Sends mails by SMTP, or writes them to the log if no server is configured.

Knows neither the outbox nor retries: a mail is accepted, or an error tells whether another attempt may help.
"""

import logging
import re
import smtplib
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import EmailMessage
from enum import Enum
from typing import NoReturn
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import trio

from actors.mail.internet import as_message, sender_address
from actors.mail.messages import Mail, MailFailed, MailRefused

log = logging.getLogger(__name__)

AUTHENTICATION = (530, 534, 535, 538)
"""Replies that ask for other credentials (RFC 4954). Permanent in SMTP, but the configuration can be fixed."""

GREETING_SHARE = 0.75
"""The share of the time of a mail in which the server has to greet. The rest finds out why it did not."""

_GREETING = re.compile(rb"[2-5][0-9]{2}[ -]")

_HOST = re.compile(r"[0-9a-z._:-]+")


class Tls(Enum):
    """Encryption of a connection. The server's certificate is verified except for `IF_OFFERED`."""

    IF_OFFERED = "if offered"
    REQUIRED = "required"
    NEVER = "never"
    FROM_START = "from the start"


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """The server that accepts mail. Neither `str` nor `repr` shows the password."""

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
        # From None: the cause may quote the text in place of the port, such as part of a password with a bare `/`.
        raise _bad(
            "its host or port is malformed; in the user and password, write /, :, @, ? and # as %2F and so on"
        ) from None
    if parts.scheme not in ("smtp", "smtps"):
        raise _bad("it must begin with smtp:// or smtps://")
    if not parts.hostname or not _HOST.fullmatch(parts.hostname):
        raise _bad("its host is missing, or is neither a DNS name nor an address")
    if port == 0:
        raise _bad("its port is 0")
    if parts.path not in ("", "/") or parts.fragment:
        raise _bad("it has a path or a fragment; in the user and password, write / as %2F and # as %23")
    user, password = (unquote(text) if text else None for text in (parts.username, parts.password))
    if (user is None) != (password is None):
        raise _bad("it needs both a user and a password, or neither")
    if not all(text is None or text.isascii() for text in (user, password)):
        raise _bad("its user and password must be ASCII, because SMTP logins cannot carry other characters")
    default_port = 465 if parts.scheme == "smtps" else 25
    return SmtpServer(
        parts.hostname, port or default_port, _tls(parts, has_password=password is not None), user, password
    )


def _tls(parts: SplitResult, *, has_password: bool) -> Tls:
    options = parse_qsl(parts.query, keep_blank_values=True)
    if parts.scheme == "smtps":
        if options:
            raise _bad("smtps:// has no options, because it is always encrypted")
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
    return ValueError(f"mail.smtp_url is not valid: {why}")


class SmtpTransport:
    """Hands each mail to one SMTP server, over a connection of its own, in a thread.

    A mail that takes longer than `seconds` fails, and its connection is closed. At most `connections` are open at once.
    `tls` is for servers whose certificate no public authority has signed.
    """

    def __init__(
        self, url: str, *, seconds: float = 10.0, connections: int = 4, tls: ssl.SSLContext | None = None
    ) -> None:
        self.server = smtp_server(url)
        self._seconds = seconds
        self._limiter = trio.CapacityLimiter(connections)
        # An attacker who can forge a certificate can also hide the offer, so verifying it would only lose mail.
        verifies = self.server.tls is not Tls.IF_OFFERED
        self._tls = tls or (ssl.create_default_context() if verifies else _unverified())

    async def send(self, mail: Mail) -> None:
        """Return once the server has accepted the mail. Raises `MailRefused` or `MailFailed`, which contain no secret."""
        if not await self._finishes(lambda session: session.deliver(mail)):
            raise MailFailed(f"{self.server}: not sent within {self._seconds:g} s")

    async def check(self, sender: str) -> None:
        """Greet the server as for a mail of `sender`, encrypt and log in. Raises `MailFailed`."""
        if not await self._finishes(lambda session: session.greet(sender)):
            raise MailFailed(f"{self.server}: no answer within {self._seconds:g} s")

    async def _finishes(self, work: Callable[["_Session"], None]) -> bool:
        session = _Session(self.server, self._tls, self._seconds)
        try:
            with trio.move_on_after(self._seconds):
                await trio.to_thread.run_sync(work, session, abandon_on_cancel=True, limiter=self._limiter)
                return True
        finally:
            session.cut()
        return False

    def __repr__(self) -> str:
        return f"<SmtpTransport {self.server}>"


class ConsoleTransport:
    """Writes each mail, including its code, to the log. Used if no SMTP server is configured."""

    async def send(self, mail: Mail) -> None:
        await trio.lowlevel.checkpoint()
        log.warning(
            "no SMTP server is configured, so this mail is only logged\nTo: %s\nSubject: %s\n\n%s",
            mail.recipient,
            mail.subject,
            mail.text,
            extra={"unlimited": True},  # it is the only copy of the mail
        )


def _unverified() -> ssl.SSLContext:
    """Has no certificates of authorities, which take 2 MiB and a twentieth of a second to load."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class _Session:
    """The connection of one mail. Its work runs in a worker thread; `cut` is called from Trio's thread and ends it."""

    def __init__(self, server: SmtpServer, tls: ssl.SSLContext, seconds: float) -> None:
        self._server = server
        self._tls = tls
        self._seconds = seconds
        self._is_cut = False
        self._smtp: smtplib.SMTP | None = None

    def deliver(self, mail: Mail) -> None:
        message = as_message(mail)
        with self._ready(mail.sender) as smtp:
            self._hand_over(smtp, mail, message)

    def greet(self, sender: str) -> None:
        with self._ready(sender):
            pass

    @contextmanager
    def _ready(self, sender: str) -> Iterator[smtplib.SMTP]:
        """A connection that is ready for a mail of `sender`. Raises `MailFailed` for every failure of it."""
        try:
            smtp = self._smtp = self._connected(_own_name(sender_address(sender).domain))
            try:
                self._prepare(smtp)
                yield smtp
            finally:
                _leave(smtp)
        except OSError as error:
            # Errors of smtplib are OSErrors, too. From None: the cause holds more of the dialogue than may be logged.
            raise MailFailed(f"{self._server}: {_words(error)}") from None

    def cut(self) -> None:
        """End a running delivery: whatever it waits for fails at once."""
        self._is_cut = True
        sock = self._smtp.sock if self._smtp is not None else None
        if sock is not None:
            with suppress(OSError):
                # Not ssl's own method: it drops the encryption first, under a thread that may be writing.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def _connected(self, own_name: str) -> smtplib.SMTP:
        """A connection whose server has greeted."""
        host, port = self._server.host, self._server.port
        seconds = self._seconds * GREETING_SHARE
        try:
            if self._server.tls is Tls.FROM_START:
                smtp: smtplib.SMTP = smtplib.SMTP_SSL(host, port, own_name, timeout=seconds, context=self._tls)
            else:
                smtp = smtplib.SMTP(host, port, own_name, timeout=seconds)
        except ssl.SSLCertVerificationError:
            raise
        except (ssl.SSLError, smtplib.SMTPServerDisconnected, ConnectionResetError):
            if mismatch := self._mismatch():
                raise MailFailed(f"{self._server}: {mismatch}") from None
            raise
        assert smtp.sock is not None
        smtp.sock.settimeout(self._seconds)
        return smtp

    def _mismatch(self) -> str:
        """The scheme of the URL that fits, if the server greets in clear where TLS was expected, or the other way round.

        Asked of a connection of its own, and only after one has failed: servers take clients for spammers that send anything
        before the greeting.
        """
        try:
            with socket.create_connection((self._server.host, self._server.port), self._probe_seconds) as connection:
                if self._server.tls is Tls.FROM_START:
                    in_clear = _GREETING.match(connection.recv(4))
                    return (
                        "the port does not speak TLS from the start: write smtp:// in mail.smtp_url" if in_clear else ""
                    )
                with _unverified().wrap_socket(connection):  # sends nothing but a handshake
                    return "the port speaks TLS from the start: write smtps:// in mail.smtp_url"
        except OSError:
            return ""

    @property
    def _probe_seconds(self) -> float:
        return self._seconds * (1 - GREETING_SHARE) / 2

    def _prepare(self, smtp: smtplib.SMTP) -> None:
        """Greet, encrypt and log in as configured. No failure here is permanent, because a configuration can be fixed."""
        if self._is_cut:
            raise smtplib.SMTPServerDisconnected("cancelled")
        smtp.ehlo_or_helo_if_needed()
        if self._server.tls in (Tls.IF_OFFERED, Tls.REQUIRED):
            if smtp.has_extn("starttls"):
                smtp.starttls(context=self._tls)
                smtp.ehlo_or_helo_if_needed()
            elif self._server.tls is Tls.REQUIRED:
                raise MailFailed(f"{self._server}: the server does not offer STARTTLS, which is required")
        if self._server.user is not None and self._server.password is not None:
            smtp.login(self._server.user, self._server.password)

    def _hand_over(self, smtp: smtplib.SMTP, mail: Mail, message: EmailMessage) -> None:
        try:
            smtp.send_message(message, sender_address(mail.sender).addr_spec, [mail.recipient])
        except smtplib.SMTPNotSupportedError:
            raise MailRefused(f"{self._server}: the server accepts ASCII addresses only") from None
        except smtplib.SMTPRecipientsRefused as error:
            self._refuse(*error.recipients[mail.recipient])
        except (smtplib.SMTPSenderRefused, smtplib.SMTPDataError) as error:
            self._refuse(error.smtp_code, error.smtp_error)

    def _refuse(self, code: int, reply: bytes | str) -> NoReturn:
        """Raise the error for a reply about this mail: 5xx is permanent (RFC 5321, 4.2.1), others are temporary."""
        words = f"{self._server}: {_reply(code, reply)}"
        if 500 <= code <= 599 and code not in AUTHENTICATION:
            raise MailRefused(words) from None
        raise MailFailed(words) from None


def _leave(smtp: smtplib.SMTP) -> None:
    """Send QUIT and close. Waiting for the reply could only turn an accepted mail into a failed one."""
    with suppress(OSError):
        smtp.putcmd("quit")
    smtp.close()


def _own_name(domain: str) -> str:
    """The name for EHLO: this host's, without a DNS lookup, which may be slow. A short name or localhost, as in containers,
    is the name of many hosts, and relays refuse those and addresses of loopback: then `domain`, the sender's."""
    name = socket.gethostname()
    return name if "." in name and name.isascii() and not name.startswith("localhost.") else domain


def _words(error: OSError) -> str:
    match error:
        case smtplib.SMTPAuthenticationError():
            # The reply is not quoted, because some servers repeat the credentials in it.
            return f"{error.smtp_code} the server refused the login"
        case smtplib.SMTPResponseException():
            return _reply(error.smtp_code, error.smtp_error)
        case smtplib.SMTPException():
            return str(error)
        case _:
            return f"the connection to the mail server failed ({error.strerror or error or 'no reason given'})"


def _reply(code: int, reply: bytes | str) -> str:
    return f"{code} {reply if isinstance(reply, str) else reply.decode(errors='replace')}"
