"""How the reference reads an OpenAPI document: kinds, fields, errors and examples, in each form that they may have."""

import json
from typing import Any

import pytest

from service.web.reference.contents import LONGEST_EXAMPLE, Entry, Row, read, search, words_of
from service.web.reference.kinds import Field, fields_of, kind_of

DOCUMENT: dict[str, Any] = {
    "info": {"version": "1.0.0"},
    "tags": [{"name": "Two words", "description": "About `it`."}],
    "components": {
        "schemas": {
            "Thing": {"properties": {"id": {"type": "string"}, "part": {"$ref": "#/components/schemas/Part"}}},
            "Part": {"description": "A part.", "properties": {"size": {"type": "integer", "description": "In cm"}}},
            "Color": {"enum": ["red", "green", "blue"], "description": "A color"},
            "Loop": {"properties": {"loop": {"$ref": "#/components/schemas/Loop"}}},
        },
        "examples": {"Taken": {"value": {"error": "slot_unavailable", "message": "That week is taken."}}},
        "responses": {
            "Busy": {
                "description": "Conflict: slot_unavailable, hold_limit",
                "content": {"application/json": {"examples": {"a": {"$ref": "#/components/examples/Taken"}}}},
                "x-error-codes": ["slot_unavailable", "hold_limit"],
            }
        },
    },
}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string", "minLength": 1, "maxLength": 80}, "string, 1 to 80 characters"),
        ({"type": "string", "minLength": 1}, "string"),
        ({"type": "string", "minLength": 6, "maxLength": 6}, "string, exactly 6 characters"),
        ({"type": "string", "format": "uri", "maxLength": 1500}, "URL, at most 1500 characters"),
        ({"type": "string", "format": "uuid"}, "UUID"),
        ({"type": "string", "pattern": "^[a-z0-9-]+$"}, "string, matching `^[a-z0-9-]+$`"),
        ({"type": "string", "pattern": f"^[{'a' * 50}]$"}, "string"),
        ({"type": "integer", "minimum": 0, "maximum": 2**53}, "integer, at least 0"),
        ({"type": "integer", "minimum": 1, "maximum": 52, "default": 1}, "integer, 1 to 52, `1` if absent"),
        ({"type": "boolean", "default": False}, "boolean, `false` if absent"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer, or null"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"enum": ["left", "right"]}, "`left` or `right`"),
        ({"enum": ["one"]}, "always `one`"),
        ({"const": True}, "always `True`"),
        ({"type": "string", "maxLength": 0}, "empty"),
        ({"$ref": "#/components/schemas/Thing"}, "Thing"),
        ({"$ref": "#/components/schemas/Color"}, "`red`, `green` or `blue`"),
        (
            {"type": "array", "items": {"$ref": "#/components/schemas/Part"}, "minItems": 1, "maxItems": 9},
            "array of Part, 1 to 9 items",
        ),
        ({}, "any"),
    ],
)
def test_a_schema_in_a_few_words(schema: dict[str, Any], words: str) -> None:
    assert kind_of(DOCUMENT, schema) == words


def test_fields_of_models_within_follow_under_their_path() -> None:
    maybe = {"anyOf": [{"$ref": "#/components/schemas/Part"}, {"type": "null"}]}
    many = {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}}
    color = {"$ref": "#/components/schemas/Color"}
    schema = {"properties": {"maybe": maybe, "many": many, "color": color}, "required": ["color"]}
    assert fields_of(DOCUMENT, schema) == [
        Field("maybe", "Part, or null", False, ""),
        Field("maybe.size", "integer", False, "In cm"),
        Field("many", "array of Thing", False, ""),
        Field("many[].id", "string", False, ""),
        Field("many[].part", "Part", False, ""),
        Field("many[].part.size", "integer", False, "In cm"),
        Field("color", "`red`, `green` or `blue`", True, "A color"),
    ]
    assert len(fields_of(DOCUMENT, {"$ref": "#/components/schemas/Loop"})) < 10


def entry_of(**operation: Any) -> Entry:
    """The only entry of a document with this operation."""
    usual: dict[str, Any] = {
        "operationId": "makeThing",
        "summary": "Make a thing",
        "description": "Makes one.",
        "tags": ["Two words"],
        "security": [],
        "responses": {"200": {"content": {"application/json": {"schema": {}}}}},
    }
    paths = {"/api/v1/things/{thingId}": {"post": usual | operation}}
    [group] = read({**DOCUMENT, "paths": paths}, "https://example.com", "session").groups
    assert (group.name.slug, group.name.description) == ("two-words", "About `it`.")
    [entry] = group.entries
    return entry


def success(media: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": {}, **media}}}


@pytest.mark.parametrize(
    "media",
    [{"example": {"id": "a"}}, {"examples": {"first": {"value": {"id": "a"}}, "second": {"value": {"id": "b"}}}}],
)
def test_examples_are_read_in_both_forms(media: dict[str, Any]) -> None:
    [answer] = entry_of(responses={"200": success(media)}).answers
    assert (answer.title, answer.text, answer.cut) == ("Response, 200", '{\n  "id": "a"\n}', False)


def test_a_long_example_shows_the_first_item_of_its_lists() -> None:
    items = [{"id": f"thing-{number}", "parts": [1, 2]} for number in range(LONGEST_EXAMPLE // 10)]
    [answer] = entry_of(responses={"200": success({"example": {"data": items}})}).answers
    assert answer.cut
    assert json.loads(answer.text) == {"data": [{"id": "thing-0", "parts": [1]}]}
    rows = "date,clicks\n" + "2026-11-27,1\n" * LONGEST_EXAMPLE
    [answer] = entry_of(responses={"200": {"content": {"text/csv": {"example": rows}}}}).answers
    assert (answer.title, answer.cut) == ("Response, 200, text/csv", True)
    assert rows.startswith(f"{answer.text}\n")


@pytest.mark.parametrize("reference", [True, False])
def test_errors_have_the_codes_of_the_document_and_one_example(reference: bool) -> None:
    taken = {"value": {"error": "slot_unavailable", "message": "That week is taken."}}
    held = {"value": {"error": "hold_limit", "message": "Pay first.", "retryAfter": 9}}
    named = {
        "description": "Conflict",
        "content": {"application/json": {"examples": {"a": taken, "b": held}}},
        "x-error-codes": ["slot_unavailable", "hold_limit"],
    }
    response = {"$ref": "#/components/responses/Busy"} if reference else named
    entry = entry_of(responses={"200": success({}), "304": {"description": "Not modified"}, "409": response})
    assert [(each.status, each.code) for each in entry.problems] == [(409, "slot_unavailable"), (409, "hold_limit")]
    assert all(each.remedy for each in entry.problems)
    [refusal] = entry.answers
    assert (refusal.title, "That week is taken." in refusal.text) == ("Error, 409", True)


def test_the_examples_of_parameters_stand_in_the_code_or_else_their_names() -> None:
    slug = {"name": "thingId", "in": "path", "required": True, "schema": {"type": "string"}}
    user = {"name": "userCode", "in": "query", "required": True, "schema": {"type": "string"}, "example": "A B"}
    limit = {"name": "limit", "in": "query", "schema": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}
    entry = entry_of(parameters=[slug, user, limit])
    assert entry.samples[0].code == "curl -X POST 'https://example.com/api/v1/things/THING_ID?userCode=A+B'"
    assert [(each.name, each.kind, each.required, each.place) for each in entry.parameters] == [
        ("thingId", "string", True, "path"),
        ("userCode", "string", True, "query"),
        ("limit", "integer", False, "query"),
    ]
    slug["schema"] = {"type": "string", "examples": ["thing/1"]}
    assert "/things/thing%2F1?" in entry_of(parameters=[slug, user]).samples[0].code


def test_scopes_and_administrators_are_told_beside_the_description() -> None:
    security: list[dict[str, list[str]]] = [{"bearer": []}, {"session": []}]
    sentences = "Makes one. A scoped key needs `a:read`, `a:write`. The account must be an administrator."
    entry = entry_of(security=security, description=sentences)
    assert (entry.description, entry.admin) == ("Makes one.", True)
    assert entry.needs == "A full key, a scoped key with `a:read` and `a:write`, or a signed-in browser."
    assert entry_of(security=security).needs == "A key or a signed-in browser."


@pytest.mark.parametrize("security", [[], [{"session": []}]])
def test_a_request_that_must_come_from_our_pages_has_our_origin_in_the_code(
    security: list[dict[str, list[str]]],
) -> None:
    entry = entry_of(security=security, **{"x-same-origin": True})
    assert all("Origin" in sample.code and "https://example.com" in sample.code for sample in entry.samples)
    assert not any("Origin" in sample.code for sample in entry_of(security=security).samples)
    assert ("`Origin`" in entry.needs) == (not security)


def test_words_that_begin_a_name_come_before_words_within_it_and_in_the_description() -> None:
    rows = [
        Row("/a", "GET", "a", "", words_of("Read it"), words_of("Needs a key.")),
        Row("/b", "GET", "b", "", words_of("Use the apikey"), ""),
        Row("/c", "GET", "c", "", words_of("Make a key", "makeKey"), ""),
        Row("/d", "GET", "d", "", words_of("Other"), ""),
    ]
    assert [row.href for row in search(rows, "Keys")] == ["/c", "/b", "/a"]
    assert [row.href for row in search(rows, "make  a KEY!")] == ["/c"]
    assert search(rows, "") == search(rows, "--") == search([], "key") == []


def test_a_query_that_no_row_has_whole_finds_those_that_have_most_of_it() -> None:
    rows = [Row(f"/{words}", "GET", "", "", words_of(words), "") for words in ("red green", "red", "blue")]
    assert [row.href for row in search(rows, "red green grey")] == ["/red green"]
    assert [row.href for row in search(rows, "blue grey")] == ["/blue"]
    assert search(rows, "blue grey brown") == search(rows, "grey") == []
    assert [row.href for row in search([Row("/a", "", "", "", words_of("What a day"), "")], "a")] == ["/a"]
