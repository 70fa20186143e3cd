"""The engine follows HTTP/1.1: persistent connections, bodies in both directions, HTTP/1.0, HEAD and 100-continue."""

import json

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from service.http.asgi import App, BegunHeaders, Message, Receive, Scope, Send, SharedFields
from service.http.limits import LINGER_SECONDS
from tests.http.memory_server import LIMITS, Client, Recorder, answers_of, both_engines, open_memory_server

GET = b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"
OLD = b"GET / HTTP/1.0\r\n\r\n"


def answering(*messages: Message, status: int = 200, headers: list[tuple[bytes, bytes]] | None = None) -> App:
    """An application that answers with these bodies."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": headers or []})
        for message in messages:
            await send({"type": "http.response.body", **message})

    return app


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the request's body, piece by piece."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    more = True
    while more:
        message = await receive()
        assert message["type"] == "http.request"
        more = message["more_body"]
        await send({"type": "http.response.body", "body": message["body"], "more_body": more})


# Connections.


@both_engines
async def test_a_connection_serves_one_request_after_another() -> None:
    app = Recorder()
    async with open_memory_server(app) as server:
        client = server.connect()
        for number in range(5):
            reply = await client.ask(b"POST /%d HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab" % number)
            assert reply.status == 200
            assert reply.header("connection") is None
    assert app.seen == [f"POST /{number}" for number in range(5)]
    assert app.bodies == [b"ab"] * 5


@both_engines
async def test_pipelined_requests_are_answered_in_order_one_at_a_time() -> None:
    running = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal running
        running += 1
        assert running == 1
        await trio.sleep(1 if scope["path"] == "/0" else 0)
        running -= 1
        await answering({"body": scope["path"].encode()})(scope, receive, send)

    answers = await answers_of(app, b"".join(GET.replace(b"/ ", b"/%d " % number) for number in range(100)))
    assert [answer.body for answer in answers] == [b"/%d" % number for number in range(100)]


@both_engines
async def test_pipelined_requests_leave_others_their_turn() -> None:
    order: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        order.append(scope["path"])
        await answering({"body": b""})(scope, receive, send)

    async with open_memory_server(app) as server:
        greedy, other = server.connect(), server.connect()
        await greedy.send(GET * 200)
        await other.send(GET.replace(b"/ ", b"/other "))
        await other.reply()
    assert order.index("/other") < 100


@both_engines
@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
@pytest.mark.parametrize(
    "option",
    [b"close", b"Close", b"keep-alive, close", b"close, keep-alive", b"x ,\tclose", b"close\r\nConnection: keep-alive"],
)
async def test_a_client_that_says_close_is_answered_and_closed(option: bytes, version: bytes) -> None:
    data = b"GET / HTTP/%b\r\nHost: a\r\nConnection: %b\r\n\r\n" % (version, option)
    [reply] = await answers_of(Recorder(), data + GET, ends=False)
    assert reply.closes


@both_engines
async def test_a_client_that_has_closed_its_half_is_still_answered() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await trio.sleep(5)
        await answering({"body": b"late"})(scope, receive, send)

    [reply] = await answers_of(app, GET)
    assert reply.body == b"late"


@both_engines
async def test_a_client_that_leaves_in_the_middle_of_anything_ends_only_its_own_connection() -> None:
    async with open_memory_server(echo) as server:
        for data in (b"", b"GET / HT", GET, GET[:-2], b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc"):
            client = server.connect()
            await client.send(data)
            await client.stream.aclose()
        await wait_all_tasks_blocked()
        assert server.serving == 0
        assert (await server.connect().ask(GET)).status == 200


# HTTP/1.0.


async def test_http_1_0_is_answered_and_closed() -> None:
    [reply] = await answers_of(Recorder(), OLD + OLD, ends=False)
    assert reply.closes
    assert reply.body == b'{"ok":true}'


async def test_http_1_0_stays_open_where_it_is_asked_for() -> None:
    async with open_memory_server(Recorder()) as server:
        client = server.connect()
        for _ in range(3):
            reply = await client.ask(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            assert reply.header("connection") == "keep-alive"
        assert (await client.ask(OLD)).closes


@both_engines
async def test_an_answer_without_a_length_ends_with_the_connection_in_http_1_0() -> None:
    [reply] = await answers_of(
        answering({"body": b"a", "more_body": True}, {"body": b"b"}),
        b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        ends=False,
    )
    assert reply.body == b"ab"
    assert reply.closes
    assert reply.header("content-length") is None


# Answers.


@both_engines
async def test_an_answer_without_a_length_is_chunked() -> None:
    pieces = [
        {"body": b"a", "more_body": True},
        {"body": b"", "more_body": True},
        {"body": b"b" * 300, "more_body": True},
    ]
    async with open_memory_server(answering(*pieces, {"body": b""})) as server:
        client = server.connect()
        for _ in range(2):
            reply = await client.ask(GET)
            assert reply.header("transfer-encoding") == "chunked"
            assert reply.body == b"a" + b"b" * 300


async def test_an_answer_in_one_piece_says_its_length() -> None:
    async with open_memory_server(answering({"body": b"whole"})) as server:
        reply = await server.connect().ask(GET)
    assert reply.header("content-length") == "5"
    assert reply.header("transfer-encoding") is None


@both_engines
@pytest.mark.parametrize("headers", [[], [(b"content-length", b"5")]])
@pytest.mark.parametrize("more", [True, False])
async def test_head_gets_no_body(headers: list[tuple[bytes, bytes]], more: bool) -> None:
    messages = [{"body": b"12345", "more_body": more}] + [{"body": b""}] * more
    first, second = await answers_of(
        answering(*messages, headers=headers), GET.replace(b"GET", b"HEAD") + GET, "HEAD", "GET"
    )
    assert first.body == b""
    assert second.body == b"12345"


@both_engines
@pytest.mark.parametrize("status", [204, 304])
async def test_an_answer_that_cannot_have_a_body_has_none(status: int) -> None:
    answers = await answers_of(answering({"body": b"surplus"}, status=status), GET + GET)
    assert [answer.status for answer in answers] == [status, status]
    assert all(answer.header("content-length") is None for answer in answers)
    assert all(answer.header("transfer-encoding") is None for answer in answers)


async def test_every_answer_has_the_date() -> None:
    async with open_memory_server(Recorder()) as server:
        client = server.connect()
        assert (await client.ask(GET)).header("date") == "Wed, 18 Nov 2026 12:00:00 GMT"
        await trio.sleep(3)
        server.engine.tick()
        assert (await client.ask(GET)).header("date") == "Wed, 18 Nov 2026 12:00:03 GMT"


async def test_the_application_does_not_decide_about_the_connection_but_may_close_it() -> None:
    headers = [(b"connection", b"Upgrade"), (b"transfer-encoding", b"gzip"), (b"date", b"never")]
    async with open_memory_server(answering({"body": b"a"}, headers=headers)) as server:
        reply = await server.connect().ask(GET)
        assert reply.header("connection") is None
        assert reply.header("transfer-encoding") is None
        assert reply.header("date") != "never"
    [reply] = await answers_of(answering({"body": b"a"}, headers=[(b"connection", b"close")]), GET, ends=False)
    assert reply.closes


# Bodies.


@both_engines
async def test_a_body_is_passed_on_as_it_comes() -> None:
    async with open_memory_server(echo) as server:
        client = server.connect()
        await client.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        data = b""
        for piece in (b"one", b"two", b"three"):
            await client.send(b"%x\r\n%b\r\n" % (len(piece), piece))
            while piece not in data:
                data += await client.receive()
        await client.send(b"0\r\n\r\n")
        await client.stream.send_eof()
        data += await client.rest()
    assert data.endswith(b"3\r\none\r\n3\r\ntwo\r\n5\r\nthree\r\n0\r\n\r\n")


@both_engines
@pytest.mark.parametrize("size", [1, 65_536, 65_537, 1_000_000])
async def test_a_large_body_comes_whole(size: int) -> None:
    app = Recorder()
    async with open_memory_server(app) as server:
        client = server.connect()
        body = bytes(number % 251 for number in range(size))
        await client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size + body + GET)
        await client.stream.send_eof()
        assert [reply.status for reply in await client.replies()] == [200, 200]
    assert app.bodies == [body, b""]


@both_engines
async def test_after_the_body_the_application_waits_until_its_answer_is_over() -> None:
    messages: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert (await receive())["more_body"] is False

        async def listen() -> None:
            messages.append(await receive())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            await trio.sleep(100)
            assert messages == []
            await answering({"body": b"a"})(scope, receive, send)

    async with open_memory_server(app) as server:
        assert (await server.connect().ask(GET)).status == 200
    assert messages == [{"type": "http.disconnect"}]


# 100-continue.

EXPECTING = b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"


async def test_a_waiting_client_gets_100_continue_once_its_body_is_read() -> None:
    asked = trio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await asked.wait()
        await echo(scope, receive, send)

    async with open_memory_server(app) as server:
        client = server.connect()
        await client.send(EXPECTING)
        with trio.move_on_after(1) as nothing:
            await client.receive()
        assert nothing.cancelled_caught
        asked.set()
        assert await client.receive() == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert (await client.ask(b"abcd")).body == b"abcd"


@both_engines
async def test_a_client_that_does_not_wait_gets_no_100_continue() -> None:
    async with open_memory_server(Recorder()) as server:
        client = server.connect()
        assert (await client.ask(EXPECTING + b"abcd")).status == 200


@both_engines
async def test_a_client_of_http_1_0_never_gets_100_continue() -> None:
    async with open_memory_server(Recorder()) as server:
        client = server.connect()
        await client.send(EXPECTING.replace(b"1.1", b"1.0"))
        await wait_all_tasks_blocked()
        await client.send(b"abcd")
        [reply] = await client.replies()
    assert reply.status == 200


async def test_a_body_that_nobody_wants_is_not_asked_for() -> None:
    [reply] = await answers_of(answering({"body": b"no"}, status=401), EXPECTING, ends=False)
    assert reply.status == 401
    assert reply.closes


# An answer before the end of the request.


async def test_an_early_answer_closes_the_connection_and_what_follows_is_not_run() -> None:
    app = answering({"body": b"no"}, status=413)
    async with open_memory_server(app) as server:
        client = server.connect()
        await client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n" + b"a" * 10)
        data = await client.receive()
        await client.send(b"a" * 990 + GET)
        await client.stream.send_eof()
        data += await client.rest()
    assert data.count(b"HTTP/1.1 413") == 1
    assert b"connection: close" in data


@both_engines
@pytest.mark.parametrize(
    "fields", [b"Content-Length: 4\r\n\r\nabcd", b"Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n"]
)
async def test_an_unread_body_that_is_there_costs_no_connection(fields: bytes) -> None:
    async with open_memory_server(answering({"body": b"a"})) as server:
        client = server.connect()
        await client.send((b"POST / HTTP/1.1\r\nHost: a\r\n" + fields) * 3)
        await client.stream.send_eof()
        assert [reply.closes for reply in await client.replies()] == [False, False, False]


@both_engines
async def test_an_unread_body_that_is_malformed_is_the_connections_end() -> None:
    [reply] = await answers_of(
        answering({"body": b"a"}),
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + GET,
        ends=False,
    )
    assert reply.closes


async def test_after_an_early_answer_the_client_is_listened_to_only_for_a_while() -> None:
    async with open_memory_server(answering({"body": b"no"})) as server:
        client = server.connect()
        await client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n")
        began = trio.current_time()
        assert (await client.reply()).closes
        await client.rest()
        assert trio.current_time() - began < 0.1, "the client is told at once that no more comes"
        await client.send_until_refused(b"a" * 100, every=0.1)
        assert trio.current_time() - began == pytest.approx(2.0, abs=0.2)


# Faulty applications.


async def failing(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError("a bug of this test")


async def silent(scope: Scope, receive: Receive, send: Send) -> None:
    pass


async def groups(scope: Scope, receive: Receive, send: Send) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(failing, scope, receive, send)
        await trio.sleep_forever()


@pytest.mark.parametrize("app", [failing, silent, groups, answering(), answering({"body": b"a", "more_body": True})])
async def test_an_application_without_an_answer_is_a_500_or_a_torn_answer_and_the_end(app: App) -> None:
    async with open_memory_server(app) as server:
        client = server.connect()
        await client.send(GET + GET)
        [reply] = await client.replies()
        if reply.whole:
            assert reply.status == 500
            assert reply.closes
            assert json.loads(reply.body)["error"] == "internal_error"
            assert reply.header("x-request-id")
            assert reply.header("x-frame-options") == "DENY"
        await trio.sleep(LINGER_SECONDS)
        await wait_all_tasks_blocked()
        assert server.serving == 0


@both_engines
@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ([(b"content-length", b"3")], b"abcd"),
        ([(b"content-length", b"5")], b"abcd"),
        ([(b"x-a", b"b\r\nset-cookie: c=d")], b"abcd"),
        ([(b"x-a", b"b\nc: d")], b"abcd"),
        ([(b"x-a", b"b\rc")], b"abcd"),
        ([(b"x-a\r\nb: c", b"d")], b"abcd"),
        ([(b"content-length", b"4\r\nx: y")], b"abcd"),
    ],
)
async def test_an_answer_that_would_lie_about_its_end_is_never_whole(
    headers: list[tuple[bytes, bytes]], body: bytes
) -> None:
    answers = await answers_of(answering({"body": body}, headers=headers), GET + GET, ends=False)
    assert len(answers) == 1
    assert answers[0].status == 500 or not answers[0].whole
    assert b"set-cookie" not in str(answers).encode()


@both_engines
@pytest.mark.parametrize("shared", [(), ((b"x-a", b"1"),), ((b"x-a", b"1"), (b"x-b", b"2"), (b"x-a", b"3"))])
async def test_headers_that_answers_share_are_sent_before_their_own(shared: tuple[tuple[bytes, bytes], ...]) -> None:
    headers = BegunHeaders(SharedFields(shared))
    headers += [(b"x-own", b"4"), (b"content-length", b"2")]
    async with open_memory_server(answering({"body": b"ab"}, headers=headers), bare=True) as server:
        for _ in range(2):
            reply = await server.connect().ask(GET)
            own = [(name.encode(), value.encode()) for name, value in reply.headers if name.startswith("x-")]
            assert own == [*shared, (b"x-own", b"4")]
            assert reply.body == b"ab"


async def test_no_line_break_in_a_shared_header_starts_another_response() -> None:
    for broken in ((b"x-a", b"b\r\nset-cookie: c=d"), (b"x-a", b"b\nc"), (b"x-a\r", b"b")):
        headers = BegunHeaders(SharedFields(((b"x-b", b"c"), broken)))
        async with open_memory_server(answering({"body": b"ab"}, headers=headers), bare=True) as server:
            assert (await server.connect().ask(GET)).status == 500


async def test_messages_out_of_turn_are_the_applications_error() -> None:
    start: Message = {"type": "http.response.start", "status": 200, "headers": []}
    refused: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in ({"type": "http.response.body"}, start, start, {"type": "http.response.trailers"}):
            try:
                await send(message)
            except ValueError as error:
                refused.append(str(error))
        await send({"type": "http.response.body", "body": b"a"})
        await send({"type": "http.response.body", "body": b"after the end"})

    async with open_memory_server(app) as server:
        assert (await server.connect().ask(GET)).body == b"a"
    assert refused == [f"http.response.{kind} is out of turn" for kind in ("body", "start", "trailers")]


# The scope.


@both_engines
async def test_the_scope_says_what_stood_in_the_request() -> None:
    app = Recorder()
    async with open_memory_server(app) as server:
        client: Client = server.connect()
        await client.ask(b"PUT /a%20b/%C3%A9?q=%20&r HTTP/1.1\r\nHost: a:1\r\nX-Two:  x y \t\r\nX-two: \xff\r\n\r\n")
    [scope] = app.scopes
    assert scope["type"] == "http"
    assert scope["method"] == "PUT"
    assert scope["path"] == "/a b/é"
    assert scope["raw_path"] == b"/a%20b/%C3%A9"
    assert scope["query_string"] == b"q=%20&r"
    assert scope["http_version"] == "1.1"
    assert scope["scheme"] == "http"
    assert [*scope["headers"]] == [(b"host", b"a:1"), (b"x-two", b"x y"), (b"x-two", b"\xff")]
    assert scope["client"] == ("203.0.113.7", 50_000)
    assert scope["server"] == ("192.0.2.1", 80)


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        (b"http://a", "/", b""),
        (b"http://a?b=c", "/", b"b=c"),
        (b"https://A/b?c?d", "/b", b"c?d"),
        (b"//a/b", "//a/b", b""),
        (b"/?", "/", b""),
        (b"/a/../b", "/a/../b", b""),
        (b"/%", "/%", b""),
        (b"/[]{}|^`<>\"'\\", "/[]{}|^`<>\"'\\", b""),
    ],
)
async def test_the_target_becomes_path_and_query(target: bytes, path: str, query: bytes) -> None:
    app = Recorder()
    async with open_memory_server(app, LIMITS) as server:
        await server.connect().ask(b"GET " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    [scope] = app.scopes
    assert (scope["path"], scope["query_string"]) == (path, query)
