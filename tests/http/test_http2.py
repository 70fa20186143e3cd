"""HTTP/2: bodies wait in pieces, a connection holds a bounded number of bytes, and nothing is left of closed ones."""

import gc
import struct
import tracemalloc
from collections import Counter
from collections.abc import Iterator

import pytest
import trio
from h2.errors import ErrorCodes
from h2.settings import SettingCodes
from hpack import Encoder, NeverIndexedHeaderTuple
from trio.testing import wait_all_tasks_blocked

from service.http.asgi import Message, Receive, Scope, Send
from service.http.frames import CONTINUATION, DATA, END_STREAM, HEADERS, LONGEST_FRAME, RST_STREAM
from service.http.http2 import EAGER_STREAMS, FIRST_STREAMS
from service.http.http2_output import HELD, LARGE_BODIES, REQUEST_BODIES, SMALL, STREAMS
from tests.api.world import open_world
from tests.http.http2_client import Http2Client, head
from tests.http.memory_server import LIMITS, Recorder, open_memory_server
from tests.http.test_frames import PRIORITY, SETTINGS, WINDOW_UPDATE, frame

LARGE = 500_000
END_HEADERS = 0x4


class Fresh:
    """Answers each request with a body of its own."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.running = self.most = self.ended = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await Recorder(answer=bytes(self.size))(scope, receive, send)
        finally:
            self.running -= 1
            self.ended += 1


async def unread(client: Http2Client, requests: int = STREAMS, *, window: int = 0, method: str = "GET") -> list[int]:
    """Requests whose responses get no more than `window` bytes each."""
    client.connection.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: window})
    return [await client.request(f"/{number}", method=method) for number in range(requests)]


async def earned(client: Http2Client) -> None:
    """Take so many responses that `STREAMS` requests may run at once."""
    for _ in range(STREAMS - FIRST_STREAMS):
        await client.until_answered(await client.request())


async def test_a_body_is_sent_as_far_as_the_window_goes_and_the_application_waits() -> None:
    app = Fresh(LARGE)
    async with open_memory_server(app) as server:
        client = await server.connect_http2()
        [number] = await unread(client, 1, window=1_000)
        while len(client.bodies.get(number, b"")) < 1_000:
            await client.take(opening=False)
        await wait_all_tasks_blocked()
        assert (len(client.bodies[number]), app.running) == (1_000, 1)
        client.connection.increment_flow_control_window(LARGE, number)
        client.connection.increment_flow_control_window(LARGE)
        await client.flush()
        await client.until_answered(number)
    assert client.bodies[number] == bytes(LARGE)
    assert app.running == 0


async def test_a_client_earns_its_concurrency_by_taking_responses() -> None:
    app = Fresh(100)
    async with open_memory_server(app) as server:
        stingy, client = [await server.connect_http2() for _ in range(2)]
        await unread(stingy)
        await wait_all_tasks_blocked()
        assert app.running == FIRST_STREAMS
        await earned(client)
        await unread(client)
        await wait_all_tasks_blocked()
        assert app.running == FIRST_STREAMS + STREAMS


@pytest.fixture
def traced() -> Iterator[None]:
    gc.collect()
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.parametrize("size", [LARGE, LARGE_BODIES // 4, SMALL + 1, SMALL])
@pytest.mark.usefixtures("traced")
async def test_a_connection_holds_no_more_than_two_mebibytes_of_unread_responses(size: int) -> None:
    app = Fresh(size)
    async with open_memory_server(app) as server:
        client = await server.connect_http2()
        app.size = 100
        await earned(client)
        app.size = size
        before, _ = tracemalloc.get_traced_memory()
        numbers = await unread(client)
        await wait_all_tasks_blocked()
        held, most = (value - before for value in tracemalloc.get_traced_memory())
        assert held <= most <= HELD
        client.connection.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: LARGE})
        await client.flush()
        await client.until_answered(*numbers)
    statuses = Counter(client.statuses[number] for number in numbers)
    room = STREAMS if size <= SMALL else max(1, LARGE_BODIES // size)
    assert statuses == Counter({200: room, 503: STREAMS - room} if room < STREAMS else {200: STREAMS})


@pytest.mark.usefixtures("traced")
async def test_a_connection_holds_no_more_than_two_mebibytes_of_unread_requests() -> None:
    async def thinks(scope: Scope, receive: Receive, send: Send) -> None:
        await trio.sleep_forever()

    async with open_memory_server(thinks) as server:
        client = await server.connect_http2()
        await client.take()
        before, _ = tracemalloc.get_traced_memory()
        sent = 0
        for _ in range(STREAMS):
            number = await client.request(method="POST", end=False)
            while (room := client.connection.local_flow_control_window(number)) > 0:
                sent += min(room, 512)
                client.connection.send_data(number, bytes(min(room, 512)))
            await client.flush()
        assert sent == REQUEST_BODIES
        await wait_all_tasks_blocked()
        assert tracemalloc.get_traced_memory()[0] - before <= HELD


async def test_a_body_that_the_application_reads_may_be_longer_than_the_window() -> None:
    app = Recorder()
    async with open_memory_server(app) as server:
        client = await server.connect_http2()
        numbers = [await client.request(method="POST", end=False) for _ in range(8)]
        for turn in range(20):
            for number in numbers:
                while client.connection.local_flow_control_window(number) < 10_101:
                    assert await client.take()
                client.connection.send_data(number, bytes([turn]) * 10_000, end_stream=turn == 19, pad_length=100)
                await client.flush()
        await client.until_answered(*numbers)
    assert app.bodies == [b"".join(bytes([turn]) * 10_000 for turn in range(20))] * 8


async def test_nothing_is_left_of_closed_connections_although_nobody_collects() -> None:
    """The real application. A cycle would stay until a full collection, which a node almost never makes."""
    kept = ("service.http", "h2.", "hpack", "trio._ssl", "quart", "ssl")

    def alive() -> Counter[str]:
        # Not every class has a text as its `__module__`.
        kinds = [f"{type(each).__module__}.{type(each).__name__}" for each in gc.get_objects()]
        # The middleware remembers the headers that answers share, at most 64 sets.
        return Counter(kind for kind in kinds if kind.startswith(kept) and not kind.endswith(".SharedFields"))

    async with open_world() as world, open_memory_server(world.client.app) as server:

        async def attack() -> None:
            client = await server.connect_http2()
            for path in ("/openapi.json", "/docs", "/api/v1/bots", "?") * 8:
                await client.request(path)
            await client.until_closed()
            await client.stream.aclose()
            vars(client.connection).clear()

        await attack()
        gc.collect()
        gc.disable()
        try:
            before = alive()
            for _ in range(3):
                await attack()
            assert server.serving == 0
            assert alive() - before == Counter()
        finally:
            gc.enable()


async def test_who_takes_no_response_in_time_loses_it_and_the_connection() -> None:
    app = Fresh(LARGE)
    async with open_memory_server(app) as server:
        client = await server.connect_http2()
        numbers = await unread(client)
        seconds = await client.until_closed()
    assert seconds == pytest.approx(LIMITS.stall_seconds, abs=0.1)
    assert app.ended == FIRST_STREAMS
    cancelled, refused = numbers[:FIRST_STREAMS], numbers[FIRST_STREAMS:]
    assert {client.resets[number] for number in cancelled if client.statuses[number] == 200} == {ErrorCodes.CANCEL}
    assert {client.resets[number] for number in refused} == {ErrorCodes.REFUSED_STREAM}, "they may be sent again"
    assert client.last_stream == numbers[-1]


async def test_a_window_that_opens_byte_by_byte_keeps_no_response_alive() -> None:
    app = Fresh(16_384)
    async with open_memory_server(app) as server:
        client = await server.connect_http2()
        [number] = await unread(client, 1)
        began = trio.current_time()
        await client.take()
        while number not in client.resets:
            client.connection.increment_flow_control_window(1, number)
            await client.flush()
            await client.take(opening=False)
            await trio.sleep(0.5)
        assert trio.current_time() - began == pytest.approx(LIMITS.stall_seconds + 1, abs=1)
    assert app.ended == 1


async def test_requests_above_the_limit_are_refused_one_by_one() -> None:
    release = trio.Event()

    async def thinks(scope: Scope, receive: Receive, send: Send) -> None:
        await release.wait()
        await Recorder()(scope, receive, send)

    async with open_memory_server(thinks) as server:
        client = await server.connect_http2()
        numbers = [await client.request() for _ in range(STREAMS + 8)]
        await client.until_answered(*numbers[STREAMS:])
        assert {client.resets[number] for number in numbers[STREAMS:]} == {ErrorCodes.REFUSED_STREAM}
        release.set()
        await client.until_answered(*numbers)
        assert [client.statuses.get(number) for number in numbers] == STREAMS * [200] + 8 * [None]
        assert client.connection.remote_settings.max_concurrent_streams == STREAMS < EAGER_STREAMS


async def test_resets_do_not_make_room_for_more_than_the_limit() -> None:
    app = Fresh(LARGE)
    async with open_memory_server(app) as server:
        client = await server.connect_http2()
        app.size = 100
        await earned(client)
        app.size, app.most = LARGE, 0
        for _ in range(6):
            for number in await unread(client, 4):
                client.connection.reset_stream(number, ErrorCodes.CANCEL)
                await client.flush()
        await wait_all_tasks_blocked()
        assert app.most <= STREAMS
        assert app.running == 0, "nobody waits for these responses"


async def test_a_request_that_is_taken_back_before_it_starts_never_runs() -> None:
    app = Fresh(LARGE)
    async with open_memory_server(app) as server:
        client = await server.connect_http2()
        for number in (await unread(client))[FIRST_STREAMS:]:
            await client.send(frame(RST_STREAM, struct.pack(">I", ErrorCodes.CANCEL), stream=number))
        await client.until_closed()
    assert app.ended == FIRST_STREAMS


BREACHES = {
    "continuations without end": frame(HEADERS, b"\x82", stream=1) + 100 * frame(CONTINUATION, stream=1),
    "a header block that is too long": frame(HEADERS, b"\x82", stream=1)
    + 3 * frame(CONTINUATION, bytes(LONGEST_FRAME), stream=1),
    "a frame that is too long": (LONGEST_FRAME + 1).to_bytes(3) + bytes([0xFE]) + bytes(5),
    "an index that is none": frame(HEADERS, b"\xff\xff\xff\xff\xff\xff\xff\xff", flags=5, stream=1),
    "a table that is too large": frame(HEADERS, b"\x3f\xe1\x5f", flags=5, stream=1),
    "a stream of the server": frame(HEADERS, b"\x82", flags=5, stream=2),
    "a window of 0": frame(WINDOW_UPDATE, bytes(4)),
    "settings that are cut": frame(SETTINGS, bytes(5)),
}


@pytest.mark.parametrize("frames", BREACHES.values(), ids=BREACHES)
async def test_what_breaks_the_protocol_ends_the_connection_with_a_goaway(
    frames: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_memory_server(Recorder()) as server:
        client = await server.connect_http2()
        await client.send(frames)
        await client.until_closed()
        assert client.last_stream is not None
        await client.stream.aclose()
        await wait_all_tasks_blocked()
        assert server.serving == 0
    assert caplog.records == []


def _post(stream: int, fields: list[tuple[bytes, bytes]], *frames: bytes, flags: int = END_HEADERS) -> bytes:
    """A request, and what follows its head."""
    return frame(HEADERS, _block(*head("/", "POST"), *fields), flags=flags, stream=stream) + b"".join(frames)


def _block(*fields: tuple[bytes, bytes]) -> bytes:
    """A header block that changes no table, so that the client's own encoder goes on."""
    return Encoder().encode([NeverIndexedHeaderTuple(*field) for field in fields], huffman=False)


def _data(content: bytes, flags: int = END_STREAM) -> bytes:
    return frame(DATA, content, flags=flags, stream=3)


def _trailers(name: bytes, flags: int = END_HEADERS | END_STREAM) -> bytes:
    return frame(HEADERS, _block((name, b"5")), flags=flags, stream=3)


LENGTH = [(b"content-length", b"5")]
MALFORMED = {
    "a body that is too long": _post(3, LENGTH, _data(b"abcdef")),
    "a body that becomes too long": _post(3, LENGTH, _data(b"abc", 0), _data(b"def", 0)),
    "a body that is too short": _post(3, LENGTH, _data(b"abc")),
    "a body that ends empty": _post(3, LENGTH, _data(b"")),
    "a body after a length of 0": _post(3, [(b"content-length", b"0")], _data(b"abc")),
    "a body that trailers cut short": _post(3, LENGTH, _data(b"abc", 0), _trailers(b"x")),
    "a length in trailers": _post(3, [], _data(b"abc", 0), _trailers(b"content-length", END_HEADERS)),
    "a length that is no number": _post(3, [(b"content-length", b"5, 5")], _data(b"abcde")),
    "two lengths": _post(3, [*LENGTH, (b"content-length", b"6")], _data(b"abcde")),
    "a length and no body": _post(3, LENGTH, flags=END_HEADERS | END_STREAM),
    "the status of a response": frame(HEADERS, b"\x08\x03100", flags=END_HEADERS | END_STREAM, stream=3),
    "a head that is only a status": frame(HEADERS, b"\x08\x03100", flags=END_HEADERS, stream=3),
    "no pseudo-header fields": frame(HEADERS, b"\0\x01a\x01b", flags=END_HEADERS | END_STREAM, stream=3),
    "a capital": _post(3, [(b"X-Name", b"a")], _data(b"")),
    "a header field of connections": _post(3, [(b"connection", b"close")], _data(b"")),
    "a pseudo-header field after others": _post(3, [(b"x", b"a"), (b":path", b"/")], _data(b"")),
    "trailers that do not end the request": _post(3, [], _data(b"abc", 0), _trailers(b"x", END_HEADERS)),
    "trailers twice": _post(3, [], 2 * _trailers(b"x", END_HEADERS)),
    "trailers with a pseudo-header field": _post(3, [], _data(b"abc", 0), _trailers(b":path")),
}


@pytest.mark.parametrize("reads", [True, False], ids=["read", "not read"])
@pytest.mark.parametrize("frames", MALFORMED.values(), ids=MALFORMED)
async def test_a_malformed_request_ends_its_stream_and_no_other(
    frames: bytes, reads: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """RFC 9113, section 8.1.1: a stream error, before which the server may answer."""
    going, recorder = trio.Event(), Recorder()

    async def nothing() -> Message:
        await trio.sleep(0.1)  # the body arrives meanwhile
        return {"type": "http.request", "body": b"unread", "more_body": False}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/other":
            await going.wait()
        await recorder(scope, receive if reads else nothing, send)

    async with open_memory_server(app) as server:
        client = await server.connect_http2()
        other = await client.request("/other")
        client.connection.get_next_available_stream_id()
        # The client's h2 has to know the stream.
        client.connection.send_headers(3, [NeverIndexedHeaderTuple(*field) for field in head()])
        client.connection.data_to_send()
        await client.send(frames)
        await client.until_answered(3)
        if 3 not in client.statuses:
            assert client.resets[3] == ErrorCodes.PROTOCOL_ERROR
        else:
            assert client.statuses[3] == 400
        going.set()
        await client.until_answered(other)
        later = await client.request("/later")
        await client.until_answered(later)
        assert (client.statuses[other], client.statuses[later]) == (200, 200)
        assert client.last_stream is None
    if reads:
        assert recorder.bodies == [b"", b""], "the application has seen the other requests alone"
    assert caplog.records == []


async def test_priorities_are_ignored_also_those_that_depend_on_themselves() -> None:
    """RFC 9113, section 5.3.2."""
    on_itself = struct.pack(">IB", 1, 15)
    async with open_memory_server(Recorder()) as server:
        client = await server.connect_http2()
        client.connection.send_headers(1, head(), end_stream=True)
        client.connection.data_to_send()
        await client.send(frame(PRIORITY, on_itself, stream=1))
        await client.send(frame(HEADERS, on_itself + _block(*head()), flags=0x20 | END_HEADERS | END_STREAM, stream=1))
        await client.until_answered(1)
    assert client.statuses == {1: 200}


async def test_the_stop_ends_idle_connections_at_once_and_others_with_their_responses() -> None:
    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await trio.sleep(3)
        await Recorder()(scope, receive, send)

    async with open_memory_server(slow) as server:
        idle, asking = [await server.connect_http2() for _ in range(2)]
        numbers = [await asking.request() for _ in range(FIRST_STREAMS + 1)]
        await wait_all_tasks_blocked()
        server.engine.stop()
        assert await idle.until_closed() == 0
        assert idle.last_stream == 0
        while asking.last_stream is None:
            await asking.take()
        assert asking.last_stream == numbers[-1]
        late = frame(HEADERS, b"\x82\x84\x87\x01\x01a", flags=5, stream=numbers[-1] + 2)
        await asking.send(late)
        assert await asking.until_closed() == 6
        assert [asking.statuses[number] for number in numbers] == len(numbers) * [200]


async def test_a_server_that_drains_warns_every_connection_and_serves_it_on() -> None:
    """The warning names a last stream that no client reaches (RFC 9113, section 6.8)."""
    async with open_memory_server(Recorder()) as server:
        idle, asking = [await server.connect_http2() for _ in range(2)]
        for client in (idle, asking):
            await client.until_answered(await client.request())
        server.engine.announce_drain()
        for client in (idle, asking):
            while client.last_stream is None:
                assert await client.take()
            assert client.last_stream == 2**31 - 1
        number = await asking.request()
        await asking.until_answered(number)
        assert asking.statuses[number] == 200
        server.engine.stop()
        for client in (idle, asking):
            assert await client.until_closed() == 0.0
        assert (idle.last_stream, asking.last_stream) == (1, number)


async def test_a_connection_that_begins_while_the_server_drains_is_warned_after_its_first_response() -> None:
    async with open_memory_server(Recorder()) as server:
        server.engine.announce_drain()
        client = await server.connect_http2()
        first = await client.request()
        await client.until_answered(first)
        while client.last_stream is None:
            assert await client.take()
        assert client.last_stream == 2**31 - 1
        second = await client.request()
        await client.until_answered(second)
        assert client.statuses == {first: 200, second: 200}


async def test_a_server_that_is_about_to_stop_ends_a_connection_after_its_response() -> None:
    async with open_memory_server(Recorder()) as server:
        client = await server.connect_http2()
        server.engine.announce_stop()
        number = await client.request()
        await client.until_closed()
        assert client.statuses == {number: 200}
        assert client.last_stream == number


async def test_a_connection_that_was_accepted_as_the_server_stopped_may_ask_once() -> None:
    async with open_memory_server(Recorder()) as server:
        server.engine.announce_stop()
        client, silent = [await server.connect_http2() for _ in range(2)]
        await wait_all_tasks_blocked()
        server.engine.stop()
        number = await client.request()
        assert await client.until_closed() == 0
        assert client.statuses == {number: 200}
        assert await silent.until_closed() == 0.5


async def test_a_client_that_expects_100_continue_gets_it() -> None:
    async with open_memory_server(Recorder()) as server:
        client = await server.connect_http2()
        number = await client.ask(head("/", "POST", (b"expect", b"100-continue")), end=False)
        while not client.informed:
            await client.take()
        client.connection.send_data(number, b"body", end_stream=True)
        await client.flush()
        await client.until_answered(number)
        assert client.statuses == {number: 200}


@pytest.mark.parametrize(
    ("trailer", "status"),
    [
        ((b"x", b"a"), 200),
        ((b"X", b"a"), 400),
        ((b":path", b"/"), 400),
        ((b"x", b"a\n"), 400),
        ((b"x", bytes(9_000)), 400),
    ],
)
async def test_trailers_are_dropped_and_those_that_are_no_fields_rejected(
    trailer: tuple[bytes, bytes], status: int
) -> None:
    app = Recorder()
    async with open_memory_server(app) as server:
        client = await server.connect_http2()
        number = await client.request(method="POST", body=b"body", end=False)
        client.connection.send_headers(number, [trailer], end_stream=True)
        await client.flush()
        await client.until_answered(number)
    assert client.statuses == {number: status}
    assert app.bodies == ([b"body"] if status == 200 else [])


async def test_a_body_that_drips_in_is_answered_with_408_and_the_stream_ends() -> None:
    async with open_memory_server(Recorder()) as server:
        client = await server.connect_http2()
        number = await client.request(method="POST", body=b"a", end=False)
        began = trio.current_time()
        await client.until_answered(number)
        assert client.statuses == {number: 408}
        assert trio.current_time() - began == pytest.approx(LIMITS.stall_seconds, abs=0.1)
        await client.take()
        assert client.resets == {number: ErrorCodes.NO_ERROR}


@pytest.mark.parametrize("what", ["fails", "ends early", "breaks a header", "is too long", "is silent"])
async def test_a_bug_of_the_application_is_a_500_or_a_response_that_does_not_look_whole(what: str) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if what == "fails":
            raise RuntimeError("a bug")
        if what == "is silent":
            return
        headers = [(b"content-length", b"5")] + ([(b"x", b"a\r\nb: c")] if what == "breaks a header" else [])
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"abcdef" if what == "is too long" else b"abc"})

    async with open_memory_server(app) as server:
        client = await server.connect_http2()
        number = await client.request()
        await client.until_answered(number)
        await client.take()
    if what in ("fails", "is silent", "breaks a header"):
        assert client.statuses == {number: 500}
    else:
        assert client.resets == {number: ErrorCodes.INTERNAL_ERROR}


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
async def test_a_response_without_a_body_ends_with_its_head(method: str, status: int) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-length", b"4"), (b"connection", b"close"), (b"Set-Cookie", b"a=b")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"ab", "more_body": True})
        await send({"type": "http.response.body", "body": b"cd"})

    async with open_memory_server(app) as server:
        client = await server.connect_http2()
        number = await client.request(method=method)
        await client.until_answered(number)
        assert client.bodies == {}
        assert client.statuses == {number: status}
        assert client.headers[number]["set-cookie"] == "a=b"
        assert "connection" not in client.headers[number]
        assert ("content-length" in client.headers[number]) == (status != 204)
        assert client.headers[number]["date"] == "Wed, 18 Nov 2026 12:00:00 GMT"
