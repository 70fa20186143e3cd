"""Ambiguous requests are rejected, the connection is closed, and the request after them never runs."""

import json

import pytest
import trio

from tests.http.corpus import BODIES, FOLLOWING, HEADS, TAKEN, Case
from tests.http.memory_server import Recorder, Reply, answers_of, open_memory_server


def rows(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.what) for case in cases])


def test_the_corpus_is_large_and_names_each_case_once() -> None:
    names = [case.what for case in (*HEADS, *BODIES, *TAKEN)]
    assert len(set(names)) == len(names) >= 220


async def refused(case: Case, app: Recorder) -> Reply:
    with trio.fail_after(1):
        [reply] = await answers_of(app, case.data + FOLLOWING, ends=False)
    return reply


def check_refusal(reply: Reply, case: Case) -> None:
    assert reply.status == case.status
    assert reply.closes
    assert reply.header("content-type") == "application/json"
    body = json.loads(reply.body)
    assert set(body) == {"error", "message"}
    assert body["error"] == "invalid_request"
    assert body["message"].endswith(".")
    assert reply.header("x-request-id")
    assert reply.header("x-content-type-options") == "nosniff"
    assert reply.header("content-security-policy") == "default-src 'none'; frame-ancestors 'none'"
    assert reply.header("date") == "Wed, 18 Nov 2026 12:00:00 GMT"


@rows(HEADS)
async def test_a_head_that_is_not_plain_is_refused_unseen(case: Case) -> None:
    app = Recorder()
    check_refusal(await refused(case, app), case)
    assert app.seen == []


@rows(BODIES)
async def test_a_body_that_is_not_framed_well_is_refused(case: Case) -> None:
    app = Recorder()
    check_refusal(await refused(case, app), case)
    assert app.seen == ["POST /body"]
    assert app.bodies == [], "the body never came to its end"


@rows(TAKEN)
async def test_what_is_odd_but_right_is_answered_and_so_is_what_follows(case: Case) -> None:
    app = Recorder()
    with trio.fail_after(1):
        answers = await answers_of(app, case.data + FOLLOWING)
    assert [answer.status for answer in answers] == [200, 200]
    assert app.seen[1] == "GET /following"


async def test_a_refusal_is_logged_and_counted_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "service.access")
    async with open_memory_server(Recorder()) as server:
        client = server.connect()
        await client.send(b"GET /a/path?secret=1 HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n")
        await client.replies()
        assert b'catalog_requests_total{operation="other",status="400"} 1.0' in server.metrics.page()
    [record] = caplog.records
    assert record.getMessage() == "GET /a/path"
    assert (record.status, record.refusal, record.client) == (400, "invalid_request", "203.0.113.7")  # type: ignore[attr-defined]
