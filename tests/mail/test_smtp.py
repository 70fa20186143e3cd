"""The SMTP transport against real servers: mail arrives, and each failure is either permanent or temporary."""

import asyncio
import re
import socket
import ssl
import subprocess
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import trio

from actors.kernel.supervision import running
from actors.mail.actor import MailSender
from actors.mail.messages import Mail, MailFailed, MailRefused, QueuedMessage
from service.cli.doctor import check_mail
from service.config.loading import load
from service.config.model import Config
from service.outside.smtp import ConsoleTransport, SmtpServer, SmtpTransport, Tls, smtp_server
from tests.mail import servers
from tests.mail.outgoing import BASE_MS, CODE, WRITER, Outgoing
from tests.mail.samples import FACTS, message, samples
from tests.mail.servers import Doorman, Dropping, Hanging, HangingFarewell, Mailbox
from tests.slow import repeats

PASSWORD = "p:a/s@s"
USER_AND_PASSWORD = "ann%40shop:p%3Aa%2Fs%40s"


def mail(recipient: str = "anna@example.com") -> Mail:
    return WRITER.write(QueuedMessage("let_1", recipient, "claim_code", b"nonce", BASE_MS, BASE_MS + 600_000, BASE_MS))


def configured(url: str, seconds: float = 5.0) -> Config:
    return load(None, {"CATALOG__MAIL__SMTP_URL": url, "CATALOG__MAIL__TIMEOUT_SECONDS": str(seconds)})


def to(server: servers.SmtpServer, before: str = "smtp://", after: str = "", seconds: float = 5.0) -> SmtpTransport:
    return SmtpTransport(f"{before}127.0.0.1:{server.port}{after}", seconds=seconds)


# Delivery.


async def test_a_mail_arrives_with_its_code_and_headers() -> None:
    with servers.SmtpServer(Mailbox()) as server:
        await to(server).send(mail())
    (envelope,), (message,) = server.taken.envelopes, server.taken.messages
    assert (envelope.mail_from, envelope.rcpt_tos) == ("no-reply@catalog.example", ["anna@example.com"])
    assert message["From"] == "Catalog <no-reply@catalog.example>"
    assert message["To"] == "anna@example.com"
    assert message["Message-ID"] == "<let_1@catalog.example>"
    assert message["Auto-Submitted"] == "auto-generated"
    plain, html = message.get_body(("plain",)), message.get_body(("html",))
    assert plain is not None
    assert html is not None
    assert CODE in plain.get_content().splitlines()
    assert CODE in html.get_content()


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("mail-7.example.com", "mail-7.example.com"),
        ("3f9c1d2ab07e", "catalog.example"),
        ("localhost", "catalog.example"),
        ("localhost.localdomain", "catalog.example"),
        ("büro.example", "catalog.example"),
    ],
)
async def test_the_greeting_names_this_host_or_the_sender_s_domain(
    host: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    with servers.SmtpServer(Mailbox()) as server:
        await to(server).send(mail())
    assert server.taken.names == [name]


async def test_several_mails_at_once_all_arrive() -> None:
    with servers.SmtpServer(Mailbox()) as server:
        transport = to(server)
        async with trio.open_nursery() as nursery:
            for number in range(10):
                nursery.start_soon(transport.send, mail(f"anna{number}@example.com"))
    assert len(server.taken.envelopes) == 10


async def test_an_address_beyond_ascii_arrives_where_the_server_takes_it() -> None:
    with servers.SmtpServer(Mailbox(), enable_SMTPUTF8=True) as server:
        await to(server).send(mail("jürgen@exämple.de"))
    assert server.taken.envelopes[0].rcpt_tos == ["jürgen@exämple.de"]
    assert server.taken.messages[0]["To"] == "jürgen@exämple.de"


async def test_an_address_beyond_ascii_is_refused_where_the_server_does_not_take_it() -> None:
    with (
        servers.SmtpServer(Mailbox(), enable_SMTPUTF8=False) as server,
        pytest.raises(MailRefused, match="ASCII addresses only"),
    ):
        await to(server).send(mail("jürgen@example.de"))


@pytest.mark.parametrize("mailbox", [Mailbox(quit="500 what?"), HangingFarewell()])
async def test_a_mail_that_was_taken_is_sent_whatever_the_farewell(mailbox: Mailbox) -> None:
    with servers.SmtpServer(mailbox) as server, trio.fail_after(3):
        await to(server).send(mail())
    assert len(mailbox.envelopes) == 1


# Permanent failures.


@pytest.mark.parametrize("command", ["mail", "rcpt", "data"])
async def test_a_5xx_to_the_mail_is_a_refusal(command: str) -> None:
    with (
        servers.SmtpServer(Mailbox(**{command: "550 5.1.1 no such user"})) as server,
        pytest.raises(MailRefused, match=r"550 5\.1\.1 no such user"),
    ):
        await to(server).send(mail())
    assert server.taken.envelopes == []


# Temporary failures.


@pytest.mark.parametrize(
    ("command", "reply"),
    [(command, "451 4.7.1 try later") for command in ("mail", "rcpt", "data")]
    + [("rcpt", "421 4.3.2 going down"), ("mail", "530 5.7.0 authentication required")],
)
async def test_a_4xx_and_a_missing_login_are_failures_for_now(command: str, reply: str) -> None:
    """A 530 is one too, because the configuration can be mended."""
    with (
        servers.SmtpServer(Mailbox(**{command: reply})) as server,
        pytest.raises(MailFailed, match=re.escape(reply[:3])),
    ):
        await to(server).send(mail())


async def test_a_dropped_connection_fails_for_now() -> None:
    with servers.SmtpServer(Dropping()) as server, pytest.raises(MailFailed, match="closed"):
        await to(server).send(mail())


async def test_a_server_that_never_answers_a_mail_is_given_up_in_time() -> None:
    with (
        servers.SmtpServer(Hanging()) as server,
        trio.fail_after(3),
        pytest.raises(MailFailed, match=r"not sent within 0\.3 s|timed out"),
    ):
        await to(server, seconds=0.3).send(mail())


async def test_a_server_that_never_greets_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, trio.fail_after(3):
        transport = SmtpTransport(f"smtp://127.0.0.1:{silent.getsockname()[1]}", seconds=0.3)
        with pytest.raises(MailFailed, match=r"not sent within 0\.3 s|timed out"):
            await transport.send(mail())


async def test_a_server_that_drips_is_cut_off_so_that_no_thread_stays() -> None:
    gone = trio.Event()

    async def drip(stream: trio.SocketStream) -> None:
        with stream.socket:
            await stream.send_all(b"220 slow\r\n")
            await stream.receive_some()
            try:
                while True:
                    await stream.send_all(b"2")
                    with trio.move_on_after(0.02):
                        assert await stream.receive_some() == b""
                        break
            except trio.BrokenResourceError:
                pass
            gone.set()

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, drip, 0, host="127.0.0.1"))
        port = listener.socket.getsockname()[1]
        with trio.fail_after(3):
            with pytest.raises(MailFailed, match=r"not sent within 0\.3 s"):
                await SmtpTransport(f"smtp://127.0.0.1:{port}", seconds=0.3).send(mail())
            await gone.wait()
        nursery.cancel_scope.cancel()


async def test_a_host_that_does_not_exist_fails_for_now() -> None:
    with pytest.raises(MailFailed, match=r"nowhere\.invalid:25"):
        await SmtpTransport("smtp://nowhere.invalid", seconds=3.0).send(mail())


async def test_a_port_that_nobody_listens_on_fails_for_now() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(MailFailed, match="the connection to the mail server failed \\(Connection refused\\)"):
        await SmtpTransport(f"smtp://127.0.0.1:{port}").send(mail())


async def test_what_is_not_smtp_fails_for_now() -> None:
    async def http(stream: trio.SocketStream) -> None:
        await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, http, 0, host="127.0.0.1"))
        with pytest.raises(MailFailed):
            await SmtpTransport(f"smtp://127.0.0.1:{listener.socket.getsockname()[1]}").send(mail())
        nursery.cancel_scope.cancel()


# Logging in.


async def test_the_right_password_is_let_in() -> None:
    with servers.SmtpServer(Mailbox(), authenticator=Doorman(), auth_require_tls=False) as server:
        await to(server, f"smtp://{USER_AND_PASSWORD}@", "?starttls=never").send(mail())
    assert len(server.taken.envelopes) == 1


async def test_a_wrong_password_fails_for_now_and_is_not_quoted() -> None:
    with (
        servers.SmtpServer(Mailbox(), authenticator=Doorman(), auth_require_tls=False) as server,
        pytest.raises(MailFailed, match="535 the server refused the login") as caught,
    ):
        await to(server, "smtp://ann:hunter2@", "?starttls=never").send(mail())
    assert "hunter2" not in str(caught.value)


async def test_a_password_is_not_sent_in_clear_unless_that_was_asked_for() -> None:
    with (
        servers.SmtpServer(Mailbox(), authenticator=Doorman(), auth_require_tls=False) as server,
        pytest.raises(MailFailed, match="does not offer STARTTLS, which is required"),
    ):
        await to(server, f"smtp://{USER_AND_PASSWORD}@").send(mail())


async def test_the_tests_own_server_ends_a_connection_that_it_has_just_accepted() -> None:
    """Left open, it would fail a later test."""
    with servers.SmtpServer(Mailbox()) as server:

        async def connect_and_end() -> socket.socket:
            client = socket.create_connection(("127.0.0.1", server.port), timeout=5.0)
            for _ in range(ROUNDS_TO_ACCEPT):
                await asyncio.sleep(0)
            await server.abort()
            return client

        client = asyncio.run_coroutine_threadsafe(connect_and_end(), server.loop).result()
        with client, suppress(ConnectionResetError):
            assert client.recv(1) == b""


ROUNDS_TO_ACCEPT = 2
"""Rounds of the loop after which a connection is accepted, and has no transport yet."""


# Encryption.


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a fresh self-signed certificate for 127.0.0.1 and its key."""
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test"
    places = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(path), "-out", str(path.with_suffix(".crt"))]
    subprocess.run(["openssl", *words.split(), *places], check=True, capture_output=True)
    path.write_text(path.read_text() + path.with_suffix(".crt").read_text())
    return path


@pytest.fixture
def serving(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def trusting(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate.with_suffix(".crt")))


async def test_starttls_is_used_where_it_is_offered(serving: ssl.SSLContext) -> None:
    with servers.SmtpServer(Mailbox(), tls_context=serving) as server:
        await to(server).send(mail())
        await to(server, after="?starttls=never").send(mail())
    assert server.taken.encrypted == [True, False]


async def test_required_starttls_verifies_the_server(serving: ssl.SSLContext, trusting: ssl.SSLContext) -> None:
    with servers.SmtpServer(Mailbox(), tls_context=serving) as server:
        with pytest.raises(MailFailed, match="CERTIFICATE_VERIFY_FAILED"):
            await to(server, after="?starttls=required").send(mail())
        url = f"smtp://127.0.0.1:{server.port}?starttls=required"
        await SmtpTransport(url, tls=trusting).send(mail())
    assert server.taken.encrypted == [True]


async def test_required_starttls_that_is_not_offered_fails_for_now() -> None:
    with servers.SmtpServer(Mailbox()) as server, pytest.raises(MailFailed, match="does not offer STARTTLS"):
        await to(server, after="?starttls=required").send(mail())
    assert server.taken.envelopes == []


async def test_smtps_is_encrypted_from_the_start_and_verified(
    serving: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    with servers.SmtpServer(Mailbox(), tls=serving) as server:
        with pytest.raises(MailFailed, match="CERTIFICATE_VERIFY_FAILED"):
            await to(server, before="smtps://").send(mail())
        await SmtpTransport(f"smtps://127.0.0.1:{server.port}", tls=trusting).send(mail())
    assert len(server.taken.envelopes) == 1


@pytest.mark.parametrize("encrypted", [False, pytest.param(True, marks=repeats("the other scheme; this waits 0.6 s"))])
async def test_a_scheme_that_does_not_fit_the_port_is_named(
    encrypted: bool, serving: ssl.SSLContext, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a mail, and by `doctor`."""
    scheme, words = ("smtp", "speaks TLS from the start: write smtps:// in mail.smtp_url")
    if not encrypted:
        scheme, words = "smtps", "does not speak TLS from the start: write smtp:// in mail.smtp_url"
    with servers.SmtpServer(Mailbox(), tls=serving if encrypted else None) as server:
        transport = to(server, f"{scheme}://", seconds=0.8)
        with pytest.raises(MailFailed, match=words):
            await transport.send(mail())
        [problem] = await check_mail(configured(f"{scheme}://{transport.server}", seconds=0.8))
    assert words in problem
    assert capsys.readouterr().out == ""


async def test_doctor_says_that_the_mail_server_is_ready(capsys: pytest.CaptureFixture[str]) -> None:
    with servers.SmtpServer(Mailbox()) as server:
        assert await check_mail(configured(f"smtp://127.0.0.1:{server.port}")) == []
    assert capsys.readouterr().out == f"ok: the mail server 127.0.0.1:{server.port} is ready for mail\n"
    assert server.taken.envelopes == []
    [problem] = await check_mail(configured(f"smtp://127.0.0.1:{server.port}"))
    assert "Connection refused" in problem


async def test_a_check_logs_in_and_sends_nothing() -> None:
    with servers.SmtpServer(Mailbox(), authenticator=Doorman(), auth_require_tls=False) as server:
        await to(server, f"smtp://{USER_AND_PASSWORD}@", "?starttls=never").check("no-reply@catalog.example")
        with pytest.raises(MailFailed, match="535 the server refused the login"):
            await to(server, "smtp://ann:hunter2@", "?starttls=never").check("no-reply@catalog.example")
    assert server.taken.envelopes == []


async def test_a_password_goes_over_an_encrypted_connection(serving: ssl.SSLContext, trusting: ssl.SSLContext) -> None:
    with servers.SmtpServer(Mailbox(), tls_context=serving, authenticator=Doorman()) as server:
        await SmtpTransport(f"smtp://{USER_AND_PASSWORD}@127.0.0.1:{server.port}", tls=trusting).send(mail())
    assert server.taken.encrypted == [True]


# The URL.


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example", SmtpServer("mail.example", 25, Tls.IF_OFFERED)),
        ("smtp://mail.example:2525/", SmtpServer("mail.example", 2525, Tls.IF_OFFERED)),
        ("smtp://[::1]:25?starttls=never", SmtpServer("::1", 25, Tls.NEVER)),
        ("smtp://mail.example?starttls=required", SmtpServer("mail.example", 25, Tls.REQUIRED)),
        ("smtps://mail.example", SmtpServer("mail.example", 465, Tls.FROM_START)),
        (
            f"smtp://{USER_AND_PASSWORD}@mail.example:587",
            SmtpServer("mail.example", 587, Tls.REQUIRED, "ann@shop", PASSWORD),
        ),
        (
            f"smtp://{USER_AND_PASSWORD}@mail.example?starttls=never",
            SmtpServer("mail.example", 25, Tls.NEVER, "ann@shop", PASSWORD),
        ),
    ],
)
def test_a_url_says_where_the_server_is_and_how_to_talk_to_it(url: str, server: SmtpServer) -> None:
    assert smtp_server(url) == server


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "must begin with"),
        ("http://ann:hunter2@mail.example", "must begin with"),
        ("smtp://", "host is missing"),
        ("smtp://ann:hunter2@", "host is missing"),
        ("smtp://ann:hunter2@mail example", "host is missing"),
        ("smtp://ann:hunter2@mail.example:99999", "host or port"),
        ("smtp://ann:hunter2@mail.example:0", "port is 0"),
        ("smtp://ann:hunter2/x@mail.example", "host or port"),
        ("smtp://ann:hunter2#x@mail.example", "host or port"),
        ("smtp://ann:2525/hunter2@mail.example", "path or a fragment"),
        ("smtp://[hunter2", "host or port"),
        ("smtp://hunter2@mail.example", "both a user and a password"),
        ("smtp://:hunter2@mail.example", "both a user and a password"),
        ("smtp://ann:hünter2@mail.example", "ASCII"),
        ("smtp://ann:hunter2@mail.example?starttls=maybe", "only option"),
        ("smtp://ann:hunter2@mail.example?password=hunter2", "only option"),
        ("smtps://ann:hunter2@mail.example?starttls=never", "has no options"),
    ],
)
def test_an_unusable_url_is_a_clear_error_that_does_not_quote_it(url: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        smtp_server(url)
    assert str(caught.value).startswith("mail.smtp_url is not valid: ")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_no_representation_shows_the_password() -> None:
    url = f"smtp://{USER_AND_PASSWORD}@mail.example"
    assert PASSWORD not in repr(smtp_server(url))
    assert repr(SmtpTransport(url)) == "<SmtpTransport mail.example:25>"


# From the outbox to the mailbox, and without a server.


async def test_a_mail_of_the_outbox_is_in_the_mailbox_soon_after_the_wake() -> None:
    class Telling:
        def __init__(self, transport: SmtpTransport) -> None:
            self.told = trio.Event()
            self._transport = transport

        async def send(self, mail: Mail) -> None:
            await self._transport.send(mail)
            self.told.set()

    with servers.SmtpServer(Mailbox()) as server, trio.fail_after(3):
        outgoing, transport = Outgoing(), Telling(to(server))
        sender = MailSender(outgoing.store, transport, outgoing.clock, WRITER.write, limits=outgoing.limits)
        async with running([sender]):
            outgoing.post()
            sender.wake()
            await transport.told.wait()
        assert (await outgoing.message()).sent_ms is not None
    assert [message["Message-ID"] for message in server.taken.messages] == ["<let_1@catalog.example>"]


async def test_without_a_server_the_mail_is_on_the_log_with_its_code(caplog: pytest.LogCaptureFixture) -> None:
    await ConsoleTransport().send(mail())
    assert "anna@example.com" in caplog.text
    assert CODE in caplog.text


@repeats("the next tests for one mail, and tests/mail/test_rendering.py for every one")
async def test_every_mail_is_received_as_it_was_written_with_both_parts_and_short_lines_of_ascii() -> None:
    sent = [WRITER.write(replace(sample, id=f"let_{at}")) for at, (_, sample) in enumerate(samples())]
    wild = "Größe 🚀 " + "x" * 1_200
    facts = FACTS["campaign_rejected"] | {"campaign": wild, "note": f".\r\n{wild}\r\nFrom me\r\n."}
    sent.append(WRITER.write(replace(message("campaign_rejected", facts), id="let_wild")))
    with servers.SmtpServer(Mailbox()) as server:
        transport = to(server)
        for each in sent:
            await transport.send(each)
    for mail, read, envelope in zip(sent, server.taken.messages, server.taken.envelopes, strict=True):
        content = envelope.original_content or b""
        assert content.isascii()
        assert all(len(line) <= 78 for line in content.splitlines() if not line.startswith((b"List-", b"Subject")))
        assert (read["Subject"], read["To"], read.defects) == (mail.subject, mail.recipient, [])
        assert [part.get_content_type() for part in read.iter_parts()] == ["text/plain", "text/html"]
        plain, html = (part.get_content().replace("\r\n", "\n") for part in read.iter_parts())
        assert (plain, html) == (mail.text, mail.html + "\n")
        stops = read["List-Unsubscribe"], read["List-Unsubscribe-Post"]
        assert stops == ((f"<{mail.stop_url}>", "List-Unsubscribe=One-Click") if mail.stop_url else (None, None))
