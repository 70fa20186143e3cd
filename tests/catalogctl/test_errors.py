"""Errors as people see them, and the exit codes: those of the code, of `--help` and of docs/catalogctl.md are the same."""

import json
import re
from pathlib import Path

import pytest

from actors.values import Code
from service.api.errors import TABLE
from service.catalogctl.failures import Exit, exit_of
from service.terminal import output
from tests.catalogctl.stage import Stage, logged_in, refuses, says, scripted
from tests.catalogctl.test_commands import CREATIVE, Desk, desk

__all__ = ["desk"]

TEXT = (Path(__file__).parents[2] / "docs/catalogctl.md").read_text(encoding="utf-8")


def test_the_exit_codes_of_code_help_and_document_are_the_same(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    assert stage.run("--help") == 0
    _, _, listed = capsys.readouterr().out.partition("exit codes:\n")
    assert re.findall(r"^ +(\d+)  (.+)$", listed, re.MULTILINE) == [(str(int(code)), code.meaning) for code in Exit]
    _, _, table = TEXT.partition("| Exit code | Meaning |\n|---|---|\n")
    rows = table.partition("\n\n")[0].splitlines()
    assert rows == [f"| {int(code)} | {code.meaning} |" for code in Exit]
    assert (output.USAGE, output.INTERRUPTED, output.READER_GONE) == (Exit.USAGE, Exit.INTERRUPTED, Exit.READER_GONE)


def test_every_error_code_of_the_service_has_its_documented_exit_code() -> None:
    by_exit: dict[Exit, set[Code]] = {}
    for code, answer in TABLE.items():
        by_exit.setdefault(exit_of(answer.status, str(code)), set()).add(code)
    assert by_exit.pop(Exit.NOT_FOUND) == {Code.NOT_FOUND, Code.CURSOR_EXPIRED}
    assert by_exit.pop(Exit.LIMITED) == {Code.QUOTA_EXHAUSTED, Code.RATE_LIMITED}
    assert by_exit.pop(Exit.UNAVAILABLE) == {Code.INTERNAL_ERROR, Code.SERVICE_UNAVAILABLE}
    keys = {Code.UNAUTHORIZED, Code.INVALID_API_KEY, Code.KEY_EXPIRED, Code.INVALID_CLIENT}
    assert by_exit.pop(Exit.NOT_ALLOWED) == keys | {Code.CLAIM_REQUIRED, Code.INSUFFICIENT_SCOPE, Code.FORBIDDEN}
    assert {Code.INVALID_REQUEST, Code.SLOT_UNAVAILABLE, Code.IDEMPOTENCY_CONFLICT} <= by_exit.pop(Exit.REFUSED)
    assert by_exit == {}


async def test_each_field_that_is_wrong_has_a_line(desk: Desk) -> None:
    wrong = {**CREATIVE, "--headline": "x" * 56, "--target-url": "tools"}
    create = ("sponsor", "create-campaign", *(word for pair in wrong.items() for word in pair))
    assert await desk.run(*create) == 1
    assert f"```\n{desk.stage.err}```\n" in TEXT
    assert await desk.run(*create, "--json") == 1
    error = json.loads(desk.stage.err)
    assert [each["name"] for each in error["fields"]] == ["headline", "targetUrl"]


def test_a_problem_that_the_message_names_is_not_repeated(stage: Stage) -> None:
    fields = [{"name": "week", "message": "must be a Monday"}, {"name": "weeks", "message": "is required"}]
    with scripted(refuses(400, "invalid_request", "week must be a Monday.", fields=fields)) as server:
        assert stage.run("bots", "--url", server.url) == 1
    assert stage.err == "catalogctl: week must be a Monday. (invalid_request)\n  weeks: is required\n"


@pytest.mark.parametrize("fields", [7, [7], [{}], [{"name": 1}], [{"name": "a\x1b", "message": "\x1b[2J"}], {"a": 1}])
def test_odd_lists_of_fields_do_no_harm(stage: Stage, fields: object) -> None:
    with scripted(refuses(400, "invalid_request", "No.", fields=fields)) as server:
        assert stage.run("bots", "--url", server.url) == 1
    assert "\x1b" not in stage.err
    assert stage.err.startswith("catalogctl: No. (invalid_request)\n")


LIMITED = says(429, {"error": "rate_limited", "message": "Too many requests. Try again in 7 s.", "retryAfter": 7})


def test_a_limit_names_the_seconds_once_and_a_login_to_callers_without_one(stage: Stage) -> None:
    with scripted(LIMITED, LIMITED) as server:
        assert stage.run("bots", "--url", server.url) == 6
        assert stage.err == (
            "catalogctl: Too many requests. Try again in 7 s. (rate_limited; run catalogctl login for higher limits)\n"
        )
        logged_in(stage, server.url)
        assert stage.run("bots") == 6
        assert stage.err == "catalogctl: Too many requests. Try again in 7 s. (rate_limited)\n"


def test_without_a_service_the_error_says_how_to_choose_one(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted() as gone:
        pass
    monkeypatch.setattr("service.catalogctl.session.DEFAULT_URL", gone.url)
    host = gone.url.removeprefix("http://")
    assert stage.run("bots") == 3
    assert stage.err == (
        f"catalogctl: cannot reach {host}: the connection was refused; choose a service by --url URL or CATALOGCTL_URL\n"
    )
    stage.environment["CATALOGCTL_URL"] = gone.url
    assert stage.run("bots") == 3
    assert stage.err == f"catalogctl: cannot reach {host}: the connection was refused\n"


def test_a_command_that_needs_a_key_names_the_login_of_the_same_service(stage: Stage) -> None:
    assert stage.run("usage", "--url", "https://catalog.example.com") == 5
    assert "run catalogctl login --url https://catalog.example.com, or set CATALOGCTL_KEY" in stage.err
    stage.environment["CATALOGCTL_URL"] = "https://catalog.example.com"
    assert stage.run("usage") == 5
    assert "run catalogctl login, or set CATALOGCTL_KEY" in stage.err
