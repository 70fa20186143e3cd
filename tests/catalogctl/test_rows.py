"""Each row against the service's own description: its operation, its arguments, and the fields that it shows."""

import json
import re
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from service.api.openapi import document
from service.api.operations import OPERATIONS
from service.catalogctl import account_commands, admin_commands, catalog_commands, command, sponsor_commands
from service.catalogctl.client import Asked, Reply
from service.catalogctl.command import Argument, Command, Facts, Table
from service.catalogctl.main import GROUPS
from tests.catalogctl.stage import IDS, Stage, no_network
from tests.contract import BOT, USECASE

ROWS = {f"{group} {row.name}".strip(): row for group, (_, rows) in GROUPS.items() for row in rows if row.call}
VALUES: dict[object, str] = {
    sponsor_commands.week_ms: "2026-12-28",
    sponsor_commands.uuid: IDS,
    account_commands.seconds: "1h",
    admin_commands.seen_content: json.dumps(dict.fromkeys(admin_commands.SEEN, "text")),
    account_commands.end_ms: "2027-01-31",
    catalog_commands.entry_json: "{}",
    admin_commands.usecase_of: json.dumps(USECASE),
    admin_commands.bot_of: json.dumps(BOT),
    command.count: "2",
}
"""A value for each type of arguments."""
JSON: dict[str, Any] = {"application/json": {"schema": {}}}
ANOTHER_WAY = {"--slug", "--csv", "--output", "--all", "--cursor"}
"""Options that lead to another operation, or to the same one again."""


@cache
def described() -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(json.dumps(document(OPERATIONS, "https://catalog.test")))
    return whole


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema behind references, and the first one of several."""
    if "$ref" in schema:
        return resolved(described()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return resolved(next(each for each in schema[several] if each.get("type") != "null"))
    return schema


def sample(schema: dict[str, Any], path: str) -> Any:
    """A value with all fields that the schema knows. Texts are their own paths, so they differ."""
    schema = resolved(schema)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: sample(each, f"{path}.{name}") for name, each in schema.get("properties", {}).items()}
        case "array":
            return [sample(schema["items"], path)]
        case "integer" | "number":
            return 1_795_000_000_000
        case "boolean":
            return True
    return path


def words(row: Command) -> list[str]:
    """A command line with all arguments of a row."""
    return [word for each in row.command_line() if each.flag not in ANOTHER_WAY for word in given(each)]


def given(argument: Argument) -> list[str]:
    settings = argument.settings
    value = (
        VALUES.get(argument.read) or VALUES.get(settings.get("type")) or next(iter(settings.get("choices", ["text"])))
    )
    option = [argument.flag] if argument.flag.startswith("-") else []
    return [*option, *([] if settings.get("action") else [value])]


CASES = [
    # A command line without its arguments, these, the operation, and what is shown.
    *((name, words(row) if name != "sponsor delivery" else [], row.call, row.shows) for name, row in ROWS.items()),
    ("usecases", ["--slug", "text"], "GET usecases/{slug}", catalog_commands.USECASE),
    ("bots", ["--slug", "text"], "GET bots/{slug}", catalog_commands.BOT),
    ("notifications", [], "GET account/notifications", catalog_commands.MAILS),
    ("sponsor delivery", ["text"], "GET sponsors/bookings/{booking}", sponsor_commands.DELIVERY),
    ("sponsor invoice", ["text"], "GET sponsors/bookings/{booking}/invoice", sponsor_commands.INVOICE),
]


@pytest.mark.parametrize(("name", "own", "call", "shows"), CASES)
def test_a_row_calls_an_operation_with_its_fields_and_shows_fields_of_its_response(
    stage: Stage, name: str, own: list[str], call: str, shows: object
) -> None:
    method, path = call.split()
    shapes = {re.sub(r"\{\w+\}", "{}", known): each for known, each in described()["paths"].items()}
    operation = shapes[re.sub(r"\{\w+\}", "{}", f"/api/v1/{path}")][method.lower()]
    response = operation["responses"]["200"]["content"]["application/json"]["schema"]
    asked: list[Asked] = []

    def send(request: Asked) -> Reply:
        asked.append(request)
        return Reply(200, {"date": "Wed, 18 Nov 2026 12:00:00 GMT"}, json.dumps(sample(response, "it")).encode())

    stage.send, stage.columns = send, None
    stage.environment = {"CATALOGCTL_URL": "https://catalog.test", "CATALOGCTL_KEY": "cs_user_of_this_test"}
    assert stage.run(*name.split(), *own) == 0, stage.err
    parts = urlsplit(asked[0].url)
    assert (asked[0].method, parts.path) == (method, re.sub(r"\{\w+\}", "text", f"/api/v1/{path}"))
    assert parse_qs(parts.query).keys() <= {each["name"] for each in operation.get("parameters", [])}
    body = resolved(operation.get("requestBody", {"content": JSON})["content"]["application/json"]["schema"])
    sent = json.loads(asked[0].body or "{}")
    assert set(body.get("required", [])) <= sent.keys() <= body.get("properties", {}).keys()
    lines = stage.out.splitlines()
    if isinstance(shows, Table):
        assert [len(re.split(r" {2,}", line)) for line in lines] == [len(shows.columns)] * 2, "a column has no value"
    elif isinstance(shows, Facts):
        assert {re.split(r" {2,}", line)[0] for line in lines} >= shows.cells.keys(), "a fact has no value"


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if not row.keyless])
def test_a_command_that_needs_a_key_sends_nothing_without_one(stage: Stage, name: str) -> None:
    stage.send = no_network
    assert stage.run(*name.split(), *words(ROWS[name]), "--url", "https://catalog.test") == 5
    assert "you are not logged in to https://catalog.test" in stage.err


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.csv and name != "sponsor delivery"])
def test_a_list_is_printed_as_a_file_with_the_same_filters(stage: Stage, name: str) -> None:
    row, asked = ROWS[name], []

    def send(request: Asked) -> Reply:
        asked.append(request.url)
        return Reply(200, {"content-type": "text/csv"}, b"id\r\n")

    stage.send, stage.download, stage.environment = send, None, {"CATALOGCTL_KEY": "cs_user_of_this_test"}
    own = [word for each in row.arguments for word in given(each)]
    assert stage.run(*name.split(), *own, "--csv") == 0, stage.err
    assert stage.out == "id\r\n"
    query = parse_qs(urlsplit(asked[0]).query)
    assert query.pop("format") == ["csv"]
    assert query.keys() == {each.to for each in row.arguments}
    assert stage.run(*name.split(), "--csv", "--quiet") == 2
    assert stage.err == "catalogctl: --csv and --quiet cannot be combined\n"
