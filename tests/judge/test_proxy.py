"""The recording proxy in memory: in front of the engine with the real app, and of nodes that break off."""

import io
import json
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import memory_stream_pair, wait_all_tasks_blocked

from service.http.asgi import App
from tests.api.world import open_world
from tests.http.memory_server import Client, open_memory_server, replies
from tests.http.memory_server import Recorder as Node
from tests.judge import relay
from tests.judge.lines import MAX_LINE, read_history
from tests.judge.proxy import main
from tests.judge.recording import Recorder, exchange_of
from tests.judge.records import VERSION, Header, Operation
from tests.judge.relay import KEPT_BYTES, REQUEST_BYTES, Relay

KEY = "cs_user_0123456789abcdefghijABCDEFGHIJ01_abc123"
USAGE = b"GET /api/v1/usage HTTP/1.1\r\nHost: node\r\nAuthorization: Bearer " + KEY.encode() + b"\r\n\r\n"
EVENT = {"bookingId": "bok_1", "kind": "click", "visitorId": "11111111-1111-4111-8111-111111111111"}
MANY = {"bookingId": "b" * 64, "kind": "k" * 64}


@dataclass(slots=True)
class Proxy:
    """A running proxy, and what it has written."""

    relay: Relay
    file: io.BytesIO
    nursery: trio.Nursery

    def connect(self) -> Client:
        ours, theirs = memory_stream_pair()
        self.nursery.start_soon(self.relay.serve, theirs)
        return Client(ours)

    async def recorded(self) -> Sequence[Operation]:
        """What was written once nothing moves."""
        await wait_all_tasks_blocked()
        return read_history(io.BytesIO(self.file.getvalue())).operations

    async def told(self) -> list[tuple[str, int]]:
        return [(each.kind, each.status) for each in await self.recorded()]


@asynccontextmanager
async def proxy_to(connect: Any) -> AsyncIterator[Proxy]:
    file = io.BytesIO()
    recorder = Recorder(file, Header(VERSION, "proxy"))
    async with trio.open_nursery() as nursery:
        yield Proxy(Relay("node", connect, recorder, lambda: trio.current_time() * 1_000), file, nursery)
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def proxy_to_app(app: App) -> AsyncIterator[Proxy]:
    async with open_memory_server(app) as server:

        async def connect() -> trio.abc.Stream:
            return server.connect().stream

        async with proxy_to(connect) as proxy:
            yield proxy


@asynccontextmanager
async def proxy_to_bytes(*parts: bytes, ends: bool = True, seconds: float = 0.0) -> AsyncIterator[Proxy]:
    """In front of a node that answers the bytes of each request with these, whatever was asked."""
    async with trio.open_nursery() as nursery:

        async def node(stream: trio.abc.HalfCloseableStream) -> None:
            await stream.receive_some(65_536)
            for part in parts:
                await trio.sleep(seconds)
                try:
                    await stream.send_all(part)
                except trio.BrokenResourceError:
                    return
            if ends:
                await stream.aclose()

        async def connect() -> trio.abc.Stream:
            ours, theirs = memory_stream_pair()
            nursery.start_soon(node, theirs)
            return ours

        async with proxy_to(connect) as proxy:
            yield proxy
        nursery.cancel_scope.cancel()


def posted(path: str, body: bytes, *lines: str) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: node\r\n" + "".join(f"{line}\r\n" for line in lines)
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def test_a_connection_carries_requests_one_after_another_and_at_once() -> None:
    node = Node()
    async with proxy_to_app(node) as proxy:
        client = proxy.connect()
        bots = b"GET /api/v1/bots HTTP/1.1\r\nHost: node\r\n\r\n"
        assert (await client.ask(bots)).body == node.answer
        assert len(proxy.file.getvalue().splitlines()) == 2, "it is written before its client knows the answer"
        await client.send(bots + bots)
        await wait_all_tasks_blocked()
        assert len(replies(await client.receive())) == 2
        assert (await client.ask(USAGE)).status == 200
        assert (await proxy.connect().ask(b"GET /api/v1/bots HTTP/1.0\r\n\r\n")).closes
        operations = await proxy.recorded()
    assert [each.kind for each in operations] == ["listBots", "listBots", "listBots", "getUsage", "listBots"]
    assert [each.client[:12] for each in operations[:3]] == ["connection-1"] * 3
    assert (operations[3].client, operations[4].client) == (operations[3].asked.caller, "connection-2 of node")
    assert all(each.began <= each.ended and each.node == "node" for each in operations)


async def test_a_body_in_chunks_reaches_the_node_whole_once_its_client_may_send_it() -> None:
    node, body = Node(), json.dumps(EVENT).encode()
    async with proxy_to_app(node) as proxy:
        client = proxy.connect()
        await client.send(
            b"POST /api/v1/sponsors/events HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
        )
        assert await client.receive() == b"HTTP/1.1 100 \r\n\r\n"
        chunks = b"".join(b"1\r\n%c\r\n" % each for each in body)
        assert (await client.ask(chunks + b"0\r\n\r\n")).status == 200
        [operation] = await proxy.recorded()
    assert node.bodies == [body]
    assert [(each.booking, each.kind) for each in operation.asked.events] == [("bok_1", "click")]


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
BIG = b"x" * (KEPT_BYTES + 1)


@pytest.mark.parametrize(
    ("answer", "body", "status"),
    [
        (OK, b"{}", 200),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK, b"{}", 200),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", b"{}", 200),
        (b"HTTP/1.1 200 OK\r\n\r\n{}", b"{}", 200),
        (b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BIG) + BIG, BIG, 0),
        (b"HTTP/1.1 304 Not Modified\r\nConnection: X-Own\r\nX-Own: 1\r\n\r\n", b"", 304),
    ],
)
async def test_a_response_of_any_framing_comes_back_whole(answer: bytes, body: bytes, status: int) -> None:
    async with proxy_to_bytes(answer) as proxy:
        reply = await proxy.connect().ask(USAGE)
        assert (reply.body, reply.whole, reply.header("x-own")) == (body, True, None)
        assert await proxy.told() == [("getUsage", status)]


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ((), b"502"),
        ((b"no HTTP\r\n\r\n",), b"502"),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"{"), b"200"),
        ((b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"2\r\n{}\r\n"), b"200"),
    ],
)
async def test_a_node_that_dies_midway_leaves_an_operation_without_an_answer(
    parts: Sequence[bytes], told: bytes
) -> None:
    async with proxy_to_bytes(*parts, seconds=1) as proxy:
        client = proxy.connect()
        await client.send(USAGE)
        head = await client.rest()
        assert head.split()[1] == told
        assert not head.endswith(b"0\r\n\r\n"), "a response that was cut off has no end"
        assert await proxy.told() == [("getUsage", 0)]


async def test_a_node_that_never_answers_is_given_up() -> None:
    async with proxy_to_bytes(ends=False) as proxy:
        assert (await proxy.connect().ask(USAGE)).status == 502
        assert trio.current_time() == relay.ANSWER_SECONDS
        [operation] = await proxy.recorded()
    assert operation.answer is None
    assert operation.ended - operation.began == relay.ANSWER_SECONDS * 1_000


@pytest.mark.parametrize(("parts", "status"), [((OK,), 200), ((OK[:-1], b"}"), 0)])
async def test_a_client_that_leaves_has_an_answer_only_if_that_is_whole_once_sending_fails(
    parts: Sequence[bytes], status: int
) -> None:
    async with proxy_to_bytes(*parts, ends=False, seconds=10) as proxy:
        client = proxy.connect()
        await client.send(USAGE)
        await trio.sleep(5)
        await client.stream.aclose()
        await trio.sleep(60)
        assert await proxy.told() == [("getUsage", status)]


async def test_a_client_that_closes_its_half_still_gets_its_response() -> None:
    async with proxy_to_bytes(OK, seconds=10) as proxy:
        client = proxy.connect()
        await client.send(USAGE)
        await client.stream.send_eof()
        assert [each.status for each in await client.replies()] == [200]


async def test_an_exchange_that_its_client_breaks_off_is_broken_off_at_the_node() -> None:
    async with proxy_to_bytes(OK, seconds=10) as proxy:
        ours, theirs = memory_stream_pair()
        reads = count()

        async def reset() -> None:
            if next(reads):
                await trio.sleep(5)
                raise trio.BrokenResourceError

        theirs.receive_stream.receive_some_hook = reset
        proxy.nursery.start_soon(proxy.relay.serve, theirs)
        await ours.send_all(USAGE)
        await trio.sleep(60)
        [operation] = await proxy.recorded()
    assert (operation.answer, operation.ended) == (None, 5_000)


async def test_a_request_of_which_nothing_reached_a_node_is_no_operation() -> None:
    async def refuse() -> trio.abc.Stream:
        raise ConnectionRefusedError("connection refused")

    async with proxy_to(refuse) as proxy:
        cases = {
            USAGE: 502,
            posted("/api/v1/sponsors/events", b"x" * (REQUEST_BYTES + 1)): 413,
            b"CONNECT node:80 HTTP/1.1\r\nHost: node\r\n\r\n": 501,
            b"GET / HTTP/1.1\r\nHost: node\r\nContent-Length: x\r\n\r\n": 400,
            b"GET / HTTP/1.1\r\nHost: node\r\nA: " + b"x" * 2 * relay.HEAD_BYTES + b"\r\n\r\n": 431,
        }
        for request, status in cases.items():
            client = proxy.connect()
            await client.send(request)
            [reply] = replies(await client.rest())
            assert (reply.status, reply.closes) == (status, True)
        torn = proxy.connect()
        await torn.send(posted("/api/v1/sponsors/events", b"{}")[:-1])
        await torn.stream.send_eof()
        assert [each.status for each in await torn.replies()] == [400]
        assert await proxy.told() == []


async def test_connections_and_waits_have_bounds() -> None:
    async with proxy_to_bytes(OK) as proxy:
        clients = [proxy.connect() for _ in range(relay.CONNECTIONS)]
        await wait_all_tasks_blocked()
        assert [each.status for each in await proxy.connect().replies()] == [503]
        await clients[0].send(USAGE[:-2])
        assert await clients[1].rest() == b""
        assert trio.current_time() == relay.IDLE_SECONDS
        assert (await proxy.connect().ask(USAGE)).status == 200


async def test_pages_that_are_read_files_and_health_checks_are_passed_on_and_not_recorded() -> None:
    node = Node()
    async with proxy_to_app(node) as proxy:
        for line in ("GET /", "GET /static/style.css", "GET /healthz", "POST /checkout/x", "OPTIONS /api/v1/bots"):
            assert (await proxy.connect().ask(f"{line} HTTP/1.1\r\nHost: node\r\n\r\n".encode())).status == 200
        assert await proxy.told() == []
        await proxy.connect().ask(b"POST /sign-in HTTP/1.1\r\nHost: node\r\n\r\n")
        assert await proxy.told() == [("page", 200)]
    assert len(node.seen) == 6


async def test_no_secret_is_in_the_history_of_the_real_app() -> None:
    email, own = "reader@example.com", "order-of-reader@example.com"
    async with open_world() as world, proxy_to_app(world.client.app) as proxy:

        async def ask(method: str, path: str, body: Any = None, **fields: str) -> Any:
            sent = b"" if body is None else json.dumps(body).encode()
            lines = [f"{name}: {value}" for name, value in {"Host": "catalog.test", **fields}.items()]
            head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, f"Content-Length: {len(sent)}", "", ""])
            return json.loads((await proxy.connect().ask(head.encode() + sent)).body)

        minted = await ask("POST", "/api/v1/auth/agent")
        key, token = minted["apiKey"], minted["claimToken"]
        claim = {"claimToken": token, "email": email}
        await ask("POST", "/api/v1/auth/claim", claim)
        code = await world.emailed_code(email)
        await ask("POST", "/api/v1/auth/claim/complete", {**claim, "code": code})
        bearer = {"Authorization": f"Bearer {key}"}
        assert (await ask("GET", "/api/v1/usage", **bearer))["email"] == email
        event = {"bookingId": email, "kind": key, "visitorId": token}
        await ask("POST", "/api/v1/sponsors/events", event, **bearer)
        await ask("DELETE", f"/api/v1/account/keys/{key}", Cookie=f"session={token}")
        await ask("GET", f"/api/v1/sponsors/bookings/{code}", **bearer)
        await ask("GET", f"/api/v1/admin/sponsorships/audit?email={email}&cursor={key}", **bearer)
        booking = {"campaignId": email, "slotId": key, "weekStart": 0, "idempotencyKey": own}
        await ask("POST", "/api/v1/sponsors/bookings", booking, **bearer)
        await ask("POST", "/api/v1/sponsors/campaigns", {"name": email}, **bearer, **{"Idempotency-Key": own})
        operations = await proxy.recorded()
    kinds = [each.kind for each in operations]
    assert len(kinds) == 10
    assert operations[0].answer is not None
    assert operations[0].answer.keys[0].caller == operations[4].asked.caller, "its digest tells who it is"
    assert operations[8].asked.key == operations[9].asked.key
    text = proxy.file.getvalue().decode()
    assert [secret for secret in (key, token, code, email, own) if secret in text] == []


@pytest.mark.parametrize(
    ("path", "body", "status", "answer", "told"),
    [
        ("/api/v1/sponsors/events", EVENT, 400, {"error": "x" * MAX_LINE}, ("recordEvent", 0)),
        ("/api/v1/sponsors/events", EVENT, 400, {"error": "\ud800"}, ("recordEvent", 0)),
        ("/api/v1/auth/agent", None, 200, {"apiKey": KEY, "expiresAt": "soon"}, ("mintKey", 200)),
        ("/api/v1/sponsors/events/batch", {"events": [MANY] * (MAX_LINE // 128)}, 200, {}, ("page", 0)),
        ("/api/v1/webhooks/stripe", {"data": {"object": {"metadata": "text"}}}, 200, {}, ("stripeWebhook", 200)),
    ],
)
def test_facts_that_cannot_be_written_and_read_are_left_out(
    path: str, body: Any, status: int, answer: Any, told: tuple[str, int]
) -> None:
    file = io.BytesIO()
    recorder = Recorder(file, Header(VERSION))
    found = exchange_of("POST", path, (), json.dumps(body).encode(), (status, (), json.dumps(answer).encode()), "")
    assert found is not None
    recorder.note(found.by("a", "node", 1, 2))
    file.seek(0)
    assert [(each.kind, each.status) for each in read_history(file).operations] == [told]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"--listen": "0.0.0.0:0"}, "may be reached from other machines"),
        ({"--listen": "[::]:0"}, "may be reached from other machines"),
        ({"--listen": "example.com:80"}, "may be reached from other machines"),
        ({"--listen": "8080"}, "is not HOST:PORT"),
        ({"--to": "https://127.0.0.1:1"}, "is not http://HOST:PORT"),
        ({"--to": "http://127.0.0.1"}, "is not http://HOST:PORT"),
        ({"--to": "http://127.0.0.1:0"}, "is not http://HOST:PORT"),
        ({"--to": "http://reader:secret@127.0.0.1:1"}, "is not http://HOST:PORT"),
        ({"--record": "/"}, "the recording has ended"),
    ],
)
def test_what_is_asked_of_the_command_is_checked(
    change: dict[str, str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"--to": "http://127.0.0.1:1", "--listen": "127.0.0.1:0", "--record": str(tmp_path / "history"), **change}
    arguments = [word for pair in options.items() for word in pair]
    with pytest.raises(SystemExit) as end:
        sys.exit(main(arguments))
    assert end.value.code == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "history").exists()


def test_an_address_that_is_in_use_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        place = f"127.0.0.1:{other.getsockname()[1]}"
        assert main(["--to", "http://127.0.0.1:1", "--listen", place, "--record", str(tmp_path / "history")]) == 2
    assert capsys.readouterr().err == f"the recording has ended: {place}: Address already in use\n"
    assert not (tmp_path / "history").exists()
