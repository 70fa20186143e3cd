"""The log: one line per request, without secrets and without forged lines."""

import io
import json
import logging
import re
from typing import Any

import pytest

from actors.kernel.mailbox import request_id
from actors.shared import credentials
from service.observability.logs import Ceiling, JsonLines, Line, TextLines, masked, set_up
from tests.api.browsers import Browser
from tests.api.callers import OUR_PAGE, cookie
from tests.api.world import World, away, fails_once, open_world

FORMS = {"text": TextLines, "json": JsonLines}


@pytest.fixture(params=FORMS)
def log(request: pytest.FixtureRequest, own_logging: None) -> io.StringIO:
    """The log output at the finest level."""
    stream = io.StringIO()
    set_up("debug", request.param, stream)
    return stream


def lines(log: io.StringIO) -> list[str]:
    return [line for line in log.getvalue().splitlines() if "service.access" in line]


async def test_a_request_is_one_line_with_what_happened(world: World, caplog: pytest.LogCaptureFixture) -> None:
    key = world.key()
    with caplog.at_level("INFO", "service.access"):
        await world.client.get("/api/v1/bots/nobody?q=private", key, headers={"X-Request-Id": "req-1"})
    [record] = [record for record in caplog.records if record.name == "service.access"]
    assert record.getMessage() == "GET /api/v1/bots/nobody"
    fields = vars(record)
    assert (fields["status"], fields["operation"], fields["refusal"]) == (404, "getBot", "not_found")
    assert (fields["caller"], fields["client"]) == (key[:12], "203.0.113.7")
    assert isinstance(fields["ms"], float)


async def test_every_kind_of_request_has_a_line(world: World, log: io.StringIO) -> None:
    for method, target in (("GET", "/"), ("POST", "/nowhere"), ("OPTIONS", "/api/v1/bots"), ("GET", "/api/v1/usage")):
        await world.client.request(method, target, headers={"X-Request-Id": "req-1"})
    assert len(lines(log)) == 4
    for line in lines(log):
        assert "req-1" in line


async def test_the_trace_of_the_caller_stands_in_all_lines_of_its_request(world: World, log: io.StringIO) -> None:
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    traceparent = f"00-{trace_id}-b7ad6b7169203331-00"
    fails_once(world.memory, away)
    await world.client.post("/api/v1/auth/agent", headers={"traceparent": traceparent, "x-request-id": "req-1"})
    await world.client.get("/api/v1/bots", headers={"x-request-id": "req-2"})
    await world.client.get("/api/v1/bots", headers={"traceparent": f"{traceparent}0", "x-request-id": "req-3"})
    named = re.findall(rf'request_id[=":]+ ?"?(req-\d)\b(.*trace_id[=":]+ ?"?{trace_id}\b)?', log.getvalue())
    assert [(request, bool(trace)) for request, trace in named] == [
        ("req-1", True),  # why it failed
        ("req-1", True),
        ("req-2", False),
        ("req-3", False),
    ]
    assert log.getvalue().count(trace_id) == 2


async def test_json_lines_are_json(world: World) -> None:
    record = logging.LogRecord("service.access", logging.INFO, "", 0, "GET /\u2028x\n", (), None)
    record.status, record.client = 200, "203.0.113.7"
    line = JsonLines().format(record)
    assert "\n" not in line
    assert json.loads(line) | {"time": ""} == {
        "time": "",
        "level": "info",
        "logger": "service.access",
        "message": "GET /\u2028x\n",
        "status": 200,
        "client": "203.0.113.7",
    }


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("message", ["GET /", "GET /\u2028x\n", "GET /" + "x" * 9_000, "GET /cs_anon_abcd1234"])
def test_the_line_of_a_request_is_written_as_any_other_record(form: str, message: str) -> None:
    facts = {"status": 200, "ms": 0.25, "client": "é\n", "long": "y" * 9_000}
    line = Line("service.access", message, facts)
    record = logging.LogRecord("service.access", logging.INFO, "", 0, message, (), None)
    record.created, record.msecs = line.created, line.msecs
    vars(record).update(facts)
    assert FORMS[form]().format(line) == FORMS[form]().format(record)


async def test_nothing_is_written_of_requests_where_the_level_forbids_it(world: World, log: io.StringIO) -> None:
    logging.getLogger().setLevel(logging.WARNING)
    await world.client.get("/api/v1/bots")
    assert lines(log) == []


async def test_a_client_cannot_forge_a_line_or_move_the_cursor(world: World, log: io.StringIO) -> None:
    target = "/x%0A2026-11-18%20error%20service.access%20forged%0D%1B[2J%00%C2%85%E2%80%A8"
    await world.client.get(target, headers={"X-Request-Id": "req-1"})
    assert len(log.getvalue().split("\n")) == len(lines(log)) + 1 + _others(log)
    [line] = lines(log)
    assert line.isprintable()


async def test_a_client_cannot_forge_fields_of_its_line(world: World, log: io.StringIO) -> None:
    for target in ("/x%20status=200%20client=6.6.6.6", "/x%2520status=200", "/%22x%20status=200%22", "/static/a%20b"):
        await world.client.get(target)
    assert "GET /x%20status=200%20client=6.6.6.6" in log.getvalue()
    for line in lines(log):
        assert not re.search(r"[\s\"]status=200|[\s\"]client=6", line)
        assert "404" in line


def test_a_value_with_a_space_is_quoted_in_text() -> None:
    facts = {"status": 404, "client": '6.6.6.6" status=200', "operation": "a b", "caller": "-"}
    line = TextLines().format(Line("service.access", "GET /", facts))
    assert line.endswith('GET / status=404 client="6.6.6.6\\" status=200" operation="a b" caller=-')


UNROUTED = {
    "an unknown path": ("GET", "/nowhere", b""),
    "an unknown API path": ("GET", "/api/v1/nowhere", b""),
    "another method": ("DELETE", "/api/v1/bots", b""),
    "a body that is too large": ("POST", "/api/v1/auth/claim", b"x" * 20_000),
    "a preflight": ("OPTIONS", "/api/v1/bots", b""),
    "a document": ("GET", "/openapi.json", b""),
    "a missing static file": ("GET", "/static/nothing.css", b""),
    "an operation": ("GET", "/api/v1/bots", b""),
    "a page": ("GET", "/", b""),
}


@pytest.mark.parametrize("what", UNROUTED)
async def test_every_line_names_the_client_behind_a_trusted_proxy(what: str, caplog: pytest.LogCaptureFixture) -> None:
    method, target, body = UNROUTED[what]
    caplog.set_level("INFO", "service.access")
    async with open_world(SERVER__TRUSTED_PROXIES="10.0.0.0/8") as world:
        headers = [("X-Forwarded-For", "192.0.2.77"), ("X-Forwarded-For", "198.51.100.1, 10.9.9.9")]
        await world.client.request(method, target, headers=headers, body=body, address="10.0.0.9")
        await world.client.request(method, target, headers=headers, body=body, address="192.0.2.9")
    behind, spoofed = [vars(record)["client"] for record in caplog.records if record.name == "service.access"]
    assert behind == "198.51.100.1"
    assert spoofed == "192.0.2.9", "nobody else may name a client"


def _others(log: io.StringIO) -> int:
    return sum("service.access" not in line for line in log.getvalue().splitlines())


async def test_a_long_path_makes_a_short_line(world: World, log: io.StringIO) -> None:
    await world.client.get("/" + "x" * 8_000)
    [line] = lines(log)
    assert len(line) < 600


async def test_no_secret_of_a_whole_life_is_logged(world: World, log: io.StringIO) -> None:
    minted = (await world.client.post("/api/v1/auth/agent")).json
    key, token, email = minted["apiKey"], minted["claimToken"], "ann.secret@example.com"
    claim = {"claimToken": token, "email": email}
    await world.client.post("/api/v1/auth/claim", json=claim)
    code = await world.emailed_code(email)
    await world.client.post("/api/v1/auth/claim/complete", json=claim | {"code": "000000"})
    await world.client.post("/api/v1/auth/claim/complete", json=claim | {"code": code})
    await world.client.get("/api/v1/usage", key)
    await world.client.get("/api/v1/usecases?q=private+words", key)
    text = log.getvalue()
    assert text
    for secret in (key, key[12:], token, code, email, "private"):
        assert secret not in text
    assert key[:12] in text, "the displayed prefix says whose request it was"


async def test_no_secret_of_a_session_is_logged(world: World, log: io.StringIO) -> None:
    email = "ann.secret@example.com"
    browser = Browser(world.client)
    await browser.start(email)
    [browser_token] = browser.cookies.values()
    code = await world.emailed_code(email)
    answers = []
    for tried in ("000000", code, code):
        answers.append(await browser.complete(email, tried))
    assert [answer.status for answer in answers] == [400, 200, 400]
    token = (answers[1].header("set-cookie") or "").partition("=")[2].partition(";")[0]
    await world.client.get("/api/v1/auth/sessions", headers=cookie(token))
    await world.client.get(f"/{browser_token}")
    await world.client.get(f"/{token}", headers=cookie(token) | {"Authorization": token, "X-Request-Id": token})
    await world.client.post("/sign-in", headers=OUR_PAGE, body=f"do=complete&email={email}&code={code}".encode())
    await world.client.post("/sign-out", headers=OUR_PAGE | cookie(token), body=b"do=sign-out")
    text = log.getvalue()
    for secret in (token, token[4:], browser_token, browser_token[4:], code, email):
        assert secret not in text
    assert answers[1].json["id"] in text, "the session's id says whose request it was"


async def test_a_secret_in_the_wrong_place_is_masked(world: World, log: io.StringIO) -> None:
    minted = (await world.client.post("/api/v1/auth/agent")).json
    key, token = minted["apiKey"], minted["claimToken"]
    for target in (
        f"/api/v1/usecases/{key}",
        f"/api/v1/bots/{key}/{token}",
        f"/{key}",
        f"/api/v1/usage?key={key}",
        f"/api/v1/usecases?cursor={key}&q={token}&limit={key}",
        f"/claim/{token}",
        f"/api/v1/usecases/{key.replace('_', '%5F')}",
        f"/api/v1/usecases/{'x' * 150}{key}",
        f"/api/v1/usecases/{'x' * 155}{token}",
    ):
        await world.client.get(target)
    await world.client.get("/api/v1/usage", f"{key} {key}")
    await world.client.get("/api/v1/usage", headers={"Authorization": key})
    await world.client.get("/api/v1/usage", headers={"X-Request-Id": key, "User-Agent": key, "Referer": key})
    text = log.getvalue()
    assert key[12:20] not in text
    assert token[4:12] not in text
    assert re.search(r"/api/v1/usecases/cs_anon_\w{4}\*\*\*", text)
    assert "/claim/clm_***" in text


KINDS = {name: kind for name, kind in vars(credentials).items() if isinstance(kind, credentials.TokenKind)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_of_every_kind_is_masked(kind: str) -> None:
    token = KINDS[kind].new(bytes(range(1, 97)))
    assert masked(f"GET /a/{token}") == f"GET /a/{KINDS[kind].prefix}***"


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_in_any_part_of_a_record_is_masked(form: str) -> None:
    key, token = "cs_scoped_" + "aB3x" * 8 + "_" + "0" * 6, "clm_" + "Zy9w" * 8
    try:
        raise ValueError(f"no such key: {key}")
    except ValueError as error:
        info = (ValueError, error, error.__traceback__)
    record = logging.LogRecord("service", logging.ERROR, "", 0, "%s failed with %s", (token, key), info)
    record.note = {"inner": [key]}
    held = request_id.set(token)
    line = FORMS[form]().format(record)
    request_id.reset(held)
    assert "aB3xaB3x" not in line
    assert "Zy9w" not in line
    assert line.count("cs_scoped_aB3x***") == 3


def test_what_only_looks_like_a_secret_is_left_alone() -> None:
    words = "GET /api/v1/usecases/cs_anon_ cs_anon_abcd cs_other_abcdefgh clm_ key_1234567890 let_abc"
    record = logging.LogRecord("service", logging.INFO, "", 0, words, (), None)
    assert words in TextLines().format(record)


async def test_a_key_as_a_request_id_is_not_taken(world: World) -> None:
    """The id is in the audit log and in every response."""
    key = world.key()
    response = await world.client.get("/api/v1/usecases", headers=[("x-request-id", key)])
    assert response.header("x-request-id") not in (None, key)


async def test_a_body_that_is_too_large_is_logged_with_its_operation(world: World, log: io.StringIO) -> None:
    await world.client.post("/api/v1/auth/claim", body=b"x" * 20_000)
    assert "startClaim" in lines(log)[-1]


def test_warnings_of_one_kind_are_logged_ten_times_a_minute(own_logging: None) -> None:
    stream, now = io.StringIO(), [0.0]
    set_up("info", "text", stream)
    [handler] = logging.getLogger().handlers
    handler.filters[:] = [Ceiling(lambda: now[0])]
    log = logging.getLogger("kind")

    def logged(
        count: int, text: str = "%s is answered with 503", level: int = logging.WARNING, **more: Any
    ) -> list[str]:
        stream.seek(0)
        stream.truncate()
        for number in range(count):
            log.log(level, text, number, **more)
        return stream.getvalue().splitlines()

    last = logged(30)[-1]
    assert last.endswith("9 is answered with 503 (line 10 of its kind; more are left out for the rest of a minute)")
    assert len(logged(30, "%s is another kind")) == 10
    assert len(logged(30, "%s", logging.ERROR)) == 10, "lines of another program that differ in numbers"
    assert len(logged(30, "%s is no warning", logging.INFO)) == 30
    assert len(logged(30, "%s is the only copy", extra={"unlimited": True})) == 30
    now[0] = 60.0
    [first, *_] = logged(1)
    assert first.endswith("0 is answered with 503 (20 lines like this were left out)")
