"""Real SMTP servers for the tests, each on a free port of 127.0.0.1 in its own thread."""

# ruff: noqa: N802 - aiosmtpd finds the methods of a handler by the names of SMTP's commands.

import asyncio
import email
import email.policy
import ssl
from email.message import EmailMessage
from typing import Any, Self

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

STOP_SECONDS = 10.0
ABORT_ROUNDS = 10


class Mailbox:
    """A handler that accepts all mail, except for the scripted replies to commands."""

    def __init__(self, **replies: str) -> None:
        self._replies = replies
        self.envelopes: list[Envelope] = []
        self.encrypted: list[bool] = []
        self.names: list[str | None] = []
        """What clients called themselves."""

    @property
    def messages(self) -> list[EmailMessage]:
        """The received mails, parsed."""
        return [
            email.message_from_bytes(envelope.original_content or b"", policy=email.policy.default)
            for envelope in self.envelopes
        ]

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        envelope.mail_from = address
        return self._replies.get("mail", "250 OK")

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        envelope.rcpt_tos.append(address)
        return self._replies.get("rcpt", "250 OK")

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        reply = self._replies.get("data", "250 taken")
        if reply.startswith("250"):
            self.envelopes.append(envelope)
            self.encrypted.append(session.ssl is not None)
            self.names.append(session.host_name)
        return reply

    async def handle_QUIT(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        return self._replies.get("quit", "221 Bye")


class Dropping(Mailbox):
    """Drops the connection in the middle of a mail."""

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        assert server.transport is not None
        server.transport.close()
        return "250 nobody hears this"


class Hanging(Mailbox):
    """Never answers the mail."""

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets the event")


class HangingFarewell(Mailbox):
    """Accepts the mail and never answers QUIT."""

    async def handle_QUIT(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets the event")


class Doorman:
    """Accepts one user."""

    def __call__(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, credentials: LoginPassword
    ) -> AuthResult:
        known = (credentials.login, credentials.password) == (b"ann@shop", b"p:a/s@s")
        return AuthResult(success=known, handled=known)


class LocalServer(Controller):
    """A server for the life of a `with` block, on `port` or one that the system chooses."""

    def __init__(self, handler: Any, port: int = 0, **options: Any) -> None:
        # The loop is named, because under Trio trio-asyncio would not create one of the usual kind.
        loop = asyncio.SelectorEventLoop()
        super().__init__(handler, "127.0.0.1", port, loop, server_hostname="test", **options)
        self._sessions: list[SMTP] = []

    def factory(self) -> SMTP:
        """A session for a new connection."""
        session: SMTP = super().factory()  # type: ignore[no-untyped-call]
        self._sessions.append(session)
        return session

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        # The library leaves connections open that wait for an answer. Collected during a later test, they fail it.
        asyncio.run_coroutine_threadsafe(self.abort(), self.loop).result(STOP_SECONDS)
        self.stop()

    async def abort(self) -> None:
        """Accept no more, and end all connections."""
        assert isinstance(self.server, asyncio.Server)
        # Closed here, the server would refuse the transport of a connection that was just accepted, which then stays open.
        for listening in self.server.sockets:
            self.loop.remove_reader(listening)
        # A connection gets its transport some rounds of the loop after it was accepted, has only the original one while it
        # agrees on TLS, and closes its socket in the round after it was aborted.
        for _ in range(ABORT_ROUNDS):
            for session in self._sessions:
                for transport in (session.transport, session._original_transport):
                    if isinstance(transport, asyncio.Transport):
                        transport.abort()
            await asyncio.sleep(0)

    def _trigger_server(self) -> None:
        # The earliest moment at which the socket is bound.
        assert isinstance(self.server, asyncio.Server)
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()  # type: ignore[no-untyped-call]  # aiosmtpd annotates it only in part


class SmtpServer(LocalServer):
    """A server with a mailbox, `taken`."""

    def __init__(self, handler: Mailbox, *, tls: ssl.SSLContext | None = None, **options: Any) -> None:
        super().__init__(handler, ssl_context=tls, **options)
        self.taken = handler
