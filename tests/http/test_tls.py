"""TLS: HTTP/1.1 by the same engine, HTTP/2 for those who choose it, and no HTTP/2 without TLS."""

import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from service.http.asgi import App, Receive, Scope, Send
from service.http.certificates import tls_context, validity_problem
from service.http.http2 import CONTROL_BURST, CONTROL_RATE
from service.http.limits import LAST_MOMENT_SECONDS
from service.http.listen_address import ListenAddress, ListenError
from service.http.server import Server
from tests.certificates import make_certificate
from tests.http.corpus import BODIES, FOLLOWING, HEADS
from tests.http.http2_client import Http2Client
from tests.http.memory_server import LIMITS, NOON_MS, Client, Recorder, both_engines
from tests.http.test_frames import PING, PREFACE, SETTINGS, frame
from tests.http.test_stopping import GRACEFUL, port_of
from tests.http.test_stopping import running as listening

HERE = Path(__file__).parent
CERTIFICATE, KEY = HERE / "localhost.pem", HERE / "localhost.key"
"""Made for these tests, and valid for 100 years."""

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def running(app: App) -> AbstractAsyncContextManager[Server]:
    """A server with a plain and a TLS listener. Leaving the block stops it and waits for its end."""
    address = ListenAddress("127.0.0.1", 0, "tls.bind", tls_context(CERTIFICATE, KEY))
    return listening(app, trio.Event(), address)


def client_context(*protocols: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=CERTIFICATE)
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


@asynccontextmanager
async def secured(server: Server, *protocols: str) -> AsyncIterator[trio.SSLStream[trio.SocketStream]]:
    """A TLS connection that offers these protocols."""
    plain = await trio.open_tcp_stream("127.0.0.1", port_of(server.urls[1]))
    stream = trio.SSLStream(plain, client_context(*protocols), server_hostname="localhost", https_compatible=True)
    try:
        await stream.do_handshake()
        yield stream
    finally:
        plain.socket.close()


@asynccontextmanager
async def http2(server: Server) -> AsyncIterator[Http2Client]:
    async with secured(server, "h2", "http/1.1") as stream:
        assert stream.selected_alpn_protocol() == "h2"
        client = Http2Client(stream)
        await client.begin()
        yield client


# HTTP/1.1 over TLS.


@both_engines
@pytest.mark.parametrize("protocols", [(), ("http/1.1",), ("http/1.0", "http/1.1")])
async def test_http_1_1_over_tls_is_served(protocols: tuple[str, ...]) -> None:
    app = Recorder()
    async with running(app) as server, secured(server, *protocols) as stream:
        client = Client(stream)  # type: ignore[arg-type]
        for _ in range(3):
            assert (await client.ask(GET)).status == 200
    assert app.scopes[0]["scheme"] == "https"
    assert app.scopes[0]["http_version"] == "1.1"
    assert app.scopes[0]["client"][0] == "127.0.0.1"


async def test_http_1_1_over_tls_is_as_strict_as_without() -> None:
    async with running(Recorder()) as server:
        for case in (*HEADS[::12], *BODIES[::6]):
            async with secured(server) as stream:
                await stream.send_all(case.data + FOLLOWING)
                [reply] = await Client(stream).replies()  # type: ignore[arg-type]
                assert reply.status == case.status, case.what


@both_engines
async def test_a_client_that_does_not_finish_its_handshake_is_closed() -> None:
    async with running(Recorder()) as server:
        plain = await trio.open_tcp_stream("127.0.0.1", port_of(server.urls[1]))
        async with plain:
            began = trio.current_time()
            assert await plain.receive_some() == b""
            assert trio.current_time() - began == pytest.approx(10, abs=0.1)


@both_engines
@pytest.mark.parametrize("data", [GET, b"\x16\x03\x01\x00\x05hello", b"\x00" * 100])
async def test_what_is_not_tls_at_the_port_of_tls_is_closed(data: bytes) -> None:
    async with running(Recorder()) as server:
        plain = await trio.open_tcp_stream("127.0.0.1", port_of(server.urls[1]))
        async with plain:
            await plain.send_all(data)
            assert b"HTTP" not in await Client(plain).rest()
        async with secured(server) as stream:
            assert (await Client(stream).ask(GET)).status == 200  # type: ignore[arg-type]


async def test_a_version_before_1_2_is_refused() -> None:
    assert tls_context(CERTIFICATE, KEY).minimum_version == ssl.TLSVersion.TLSv1_2


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with certificates and keys that cannot be used, or not well."""
    folder = tmp_path_factory.mktemp("tls")
    kinds: dict[str, dict[str, Any]] = {
        "other": {},
        "expired": {"last": 2021},
        "early": {"first": 2099},
        "weak": {"weak": True},
        "locked": {"passphrase": b"secret"},
    }
    for name, kind in kinds.items():
        make_certificate(folder / f"{name}.pem", folder / f"{name}.key", **kind)
    (folder / "empty").write_text("")
    (folder / "der").write_bytes(ssl.PEM_cert_to_DER_cert(CERTIFICATE.read_text()))
    lines = CERTIFICATE.read_text().splitlines()
    (folder / "damaged").write_text("\n".join([lines[0], *lines[2:]]))
    return folder


@pytest.mark.parametrize(
    ("certificate", "key", "line"),
    [
        ("none", "", "tls.certificate: cannot read {certificate}: No such file or directory"),
        ("", "none", "tls.key: cannot read {key}: No such file or directory"),
        (".", "", "tls.certificate: cannot read {certificate}: Is a directory"),
        ("/dev/zero", "", "tls.certificate: /dev/zero is longer than 1 MiB"),
        ("", "/dev/zero", "tls.key: /dev/zero is longer than 1 MiB"),
        ("no\0file", "", "tls.certificate: '{folder}/no\\x00file' is not the name of a file"),
        ("empty", "", "tls.certificate: {certificate} holds no certificate in PEM format"),
        ("der", "", "tls.certificate: {certificate} holds no certificate in PEM format"),
        ("other.key", "", "tls.certificate: {certificate} holds no certificate in PEM format"),
        ("", "other.pem", "tls.key: {key} holds no private key in PEM format"),
        ("", "other.key", "tls.key: {key} is not the key of the certificate in {certificate}"),
        ("", "weak.key", "tls.key: {key} is not the key of the certificate in {certificate}"),
        ("locked.pem", "locked.key", "tls.key: {key} is protected by a passphrase: store the key without one"),
        ("weak.pem", "weak.key", "tls.certificate: the certificate in {certificate} is too weak for current clients: "),
        ("damaged", "", "tls.certificate, tls.key: {certificate} or {key} is damaged: "),
    ],
)
def test_files_that_cannot_be_used_are_named_without_a_word_of_openssl(
    files: Path, certificate: str, key: str, line: str
) -> None:
    used = files / certificate if certificate else CERTIFICATE, files / key if key else KEY
    with pytest.raises(ListenError) as refused:
        tls_context(*used)
    assert str(refused.value).startswith(line.format(certificate=used[0], key=used[1], folder=files))
    assert "[" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("other", ""),
        ("expired", "tls.certificate: a certificate in {} has expired: clients reject it; renew it"),
        ("early", "tls.certificate: a certificate in {} is not valid yet: clients reject it; check the clock"),
    ],
)
def test_a_certificate_whose_dates_are_wrong_is_usable_and_known(files: Path, name: str, problem: str) -> None:
    certificate = files / f"{name}.pem"
    tls_context(certificate, files / f"{name}.key")
    assert validity_problem(certificate, NOON_MS / 1_000) == problem.format(certificate)


# HTTP/2.


@both_engines
async def test_http_2_is_served_to_who_chooses_it() -> None:
    app = Recorder()
    async with running(app) as server, http2(server) as client:
        first = await client.request("/a?b=c")
        second = await client.request("/d", method="POST", body=b"body")
        await client.until_answered(first, second)
        assert client.statuses == {first: 200, second: 200}
        assert client.bodies == {first: app.answer, second: app.answer}
        assert "connection" not in client.headers[first]
    assert sorted(app.seen) == ["GET /a", "POST /d"]
    assert {scope["http_version"] for scope in app.scopes} == {"2"}


async def test_http_2_is_not_spoken_without_tls() -> None:
    app = Recorder()
    async with running(app) as server:
        plain = await trio.open_tcp_stream("127.0.0.1", port_of(server.url))
        async with plain:
            await plain.send_all(PREFACE + frame(SETTINGS))
            [reply] = await Client(plain).replies()
            assert reply.status == 505
        plain = await trio.open_tcp_stream("127.0.0.1", port_of(server.url))
        async with plain:
            fields = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAA\r\n\r\n"
            reply = await Client(plain).ask(GET[:-2] + fields)
            assert reply.status == 200, "the wish is ignored"
    assert [scope["http_version"] for scope in app.scopes] == ["1.1"]


async def test_pings_are_read_no_faster_than_their_budget() -> None:
    async with running(Recorder()) as server, http2(server) as client:
        number = await client.request()
        await client.until_answered(number)
        pings = frame(PING, bytes(8)) * 1_000
        began, sent = trio.current_time(), 0
        async with trio.open_nursery() as nursery:
            answered = trio.Event()

            async def read() -> None:
                await client.until_answered(client.connection.highest_outbound_stream_id + 2)
                answered.set()

            nursery.start_soon(read)
            while sent < CONTROL_BURST + 5 * CONTROL_RATE:
                await client.send(pings)
                sent += len(pings)
            await client.request("/after")
            await answered.wait()
        assert trio.current_time() - began >= 4


async def test_a_connection_that_only_pings_is_ended() -> None:
    async with running(Recorder()) as server, http2(server) as client:
        async with trio.open_nursery() as nursery:

            async def ping() -> None:
                while True:
                    await client.send(frame(PING, bytes(8)))
                    await trio.sleep(1)

            nursery.start_soon(ping)
            seconds = await client.until_closed()
            nursery.cancel_scope.cancel()
        assert seconds <= LIMITS.head_seconds + 1


@both_engines
async def test_an_application_may_think_longer_than_any_client_may() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await trio.sleep(300)
        await Recorder()(scope, receive, send)

    async with running(app) as server, http2(server) as client:
        await client.until_answered(await client.request())


@both_engines
async def test_a_connection_that_never_begins_its_handshake_does_not_delay_the_stop() -> None:
    async with running(Recorder()) as server:
        silent = await trio.open_tcp_stream("127.0.0.1", port_of(server.urls[1]))
        await trio.testing.wait_all_tasks_blocked(0.01)
        began = trio.current_time()
    assert trio.current_time() - began < GRACEFUL
    await silent.aclose()


@both_engines
@pytest.mark.parametrize("what", ["idle", "thinks", "does not read"])
async def test_the_stop_waits_no_longer_than_the_graceful_time(what: str) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await trio.sleep(1_000 if what == "thinks" else 0)
        await Recorder(answer=b"a" * 10_000_000)(scope, receive, send)

    async with running(app) as server:
        stream = await trio.open_tcp_stream("127.0.0.1", port_of(server.urls[1]))
        tls = trio.SSLStream(stream, client_context("h2"), server_hostname="localhost", https_compatible=True)
        client = Http2Client(tls)
        await client.begin()
        if what != "idle":
            await client.request()
        await client.take(opening=False)
        began = trio.current_time()
    assert trio.current_time() - began <= (0 if what == "idle" else GRACEFUL) + LAST_MOMENT_SECONDS + 0.01
    stream.socket.close()
