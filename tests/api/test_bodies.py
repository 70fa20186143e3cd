"""Request bodies: valid ones are accepted, others are refused without harm."""

import gzip
import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from pydantic import BaseModel

from actors.values import Refused
from service.api.operation import Operation
from service.api.operations import OPERATIONS
from service.api.validation import parse_body, whole_numbers
from tests.api.asgi import Response
from tests.api.callers import OUR_PAGE
from tests.api.events import BATCH, EVENTS, counted, stock
from tests.api.world import World

every_body = pytest.mark.parametrize(
    "operation", [each for each in OPERATIONS if each.body is not None], ids=lambda each: each.name
)

MINT, CLAIM, COMPLETE = "/api/v1/auth/agent", "/api/v1/auth/claim", "/api/v1/auth/claim/complete"
PATHS = {MINT: 16_384, CLAIM: 16_384, COMPLETE: 16_384, EVENTS: 4_096, BATCH: 131_072}
"""Operations with a body, and their longest."""

NO_JSON = {
    "a word": b"hello",
    "a cut object": b'{"claimToken": "clm_',
    "two objects": b"{} {}",
    "a comma too many": b'{"a": 1,}',
    "single quotes": b"{'a': 1}",
    "a comment": b"{} // nothing",
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "UTF-16 without a mark": '{"a": 1}'.encode("utf-16-be"),
    "UTF-32 without a mark": '{"a": 1}'.encode("utf-32-le"),
    "gzip without its header": gzip.compress(b"{}"),
    "invalid UTF-8": b'{"a": "\xff\xfe"}',
    "an encoded surrogate": b'{"a": "\xed\xa0\x80"}',
    "a lone surrogate": b'{"a": "\\ud800"}',
    "a surrogate as a name": b'{"\\udfff": 1}',
    "a bare control character": b'{"a": "\x00"}',
    "NUL bytes": b"\x00" * 10,
    "a NUL behind it": b"{}\x00",
    "deep arrays": b"[" * 16_000,
    "deep objects": b'{"a":' * 3_000,
    "deep and closed": b'{"a":' + b"[" * 8_000 + b"]" * 8_000 + b"}",
    "a number of 5,000 digits": b'{"a": ' + b"9" * 5_000 + b"}",
    "a form": b"claimToken=clm_1&email=a%40b.de",
}
REASONS = {
    "a byte order mark": "it begins with a byte order mark, which is to be left out",
    "UTF-16": "it is UTF-16 or UTF-32, and not UTF-8",
    "UTF-16 without a mark": "it is UTF-16 or UTF-32, and not UTF-8",
    "UTF-32 without a mark": "it is UTF-16 or UTF-32, and not UTF-8",
    "gzip without its header": "it is not UTF-8: byte 2 does not fit",
    "invalid UTF-8": "it is not UTF-8: byte 8 does not fit",
    "an encoded surrogate": "it is not UTF-8: byte 8 does not fit",
    "a lone surrogate": "an escape stands for half of a surrogate pair, such as \\ud800",
    "a surrogate as a name": "an escape stands for half of a surrogate pair, such as \\ud800",
    "NUL bytes": "it is UTF-16 or UTF-32, and not UTF-8",
}
"""What the refusal says about an encoding. Others have the place that the parser names."""
NO_OBJECT = {
    "a list": b"[]",
    "a list of objects": b"[{}]",
    "a text": b'"{}"',
    "a number": b"1",
    "a huge number": b"9" * 10_000,
    "true": b"true",
}
ANY_OBJECT = {
    "nothing": b"",
    "white space": b" \r\n\t ",
    "null": b" null\n",
    "an empty object": b"{}",
    "something": b'{"name": "agent", "scopes": ["library:read"], "tier": "upgraded", "apiKey": "cs_anon_mine"}',
    "a NUL in a text": b'{"a": "\\u0000"}',
    "a huge number": b'{"a": ' + b"9" * 4_000 + b"}",
    "a long fraction": b'{"a": 0.' + b"1" * 5_000 + b"e-400}",
    "a pair of surrogates": b'{"a": "\\ud83d\\ude00"}',
    "some depth": b'{"a":' + b"[" * 100 + b"]" * 100 + b"}",
    "a name of Python": b'{"__class__": 1, "__proto__": {"a": 1}}',
}


@pytest.mark.parametrize("what", NO_JSON)
async def test_what_is_no_json_is_refused(world: World, what: str) -> None:
    for path, longest in PATHS.items():
        response = await world.client.post(path, body=NO_JSON[what][:longest])
        assert response.words == "400 invalid_request", path
        assert response.json["message"].startswith(f"The body is not valid JSON: {REASONS.get(what, '')}")


@pytest.mark.parametrize("what", NO_OBJECT)
async def test_json_that_is_no_object_is_refused(world: World, what: str) -> None:
    for path, longest in PATHS.items():
        assert (await world.client.post(path, body=NO_OBJECT[what][:longest])).words == "400 invalid_request", path


@pytest.mark.parametrize("what", ANY_OBJECT)
async def test_minting_takes_any_object_or_nothing_and_ignores_it(world: World, what: str) -> None:
    response = await world.client.post(MINT, body=ANY_OBJECT[what])
    assert response.words == "200"
    assert world.tenant_of(response.json["apiKey"]).tier == "anonymous"


VISITOR = "3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a54"
EVENT = f'"bookingId": "a", "kind": "click", "visitorId": "{VISITOR}"'
REPEATED = {
    "a key": (MINT, '{"a": 1, "a": 2}', "a"),
    "a key that is equal by an escape": (MINT, '{"kind": 1, "k\\u0069nd": 1}', "kind"),
    "an empty key": (MINT, '{"": 1, "b": 2, "": 3}', ""),
    "a nested key": (MINT, '{"a": {"b": [1, {"c": 1, "d": 2, "c": 1}]}}', "c"),
    "a key beside a huge number": (MINT, f'{{"a": {"9" * 4_000}, "b": 1, "b": 2}}', "b"),
    "an email": (CLAIM, '{"claimToken": "clm_12345678", "email": "a@example.com", "email": "b@example.com"}', "email"),
    "a part of an event": (EVENTS, f'{{{EVENT}, "kind": "impression"}}', "kind"),
    "a part of an event with the same value": (EVENTS, f'{{"kind": "click", {EVENT}}}', "kind"),
    "a part of an event by an escape": (EVENTS, f'{{{EVENT}, "vis\\u0069torId": "{VISITOR}"}}', "visitorId"),
    "a part of the last event": (BATCH, f'{{"events": [{{{EVENT}}}, {{{EVENT}, "kind": "click"}}]}}', "kind"),
    "the events of a batch": (BATCH, f'{{"events": [{{{EVENT}}}], "events": [{{{EVENT}}}]}}', "events"),
}


@pytest.mark.parametrize("what", REPEATED)
async def test_a_key_that_is_given_twice_is_refused_by_name(world: World, what: str) -> None:
    await stock(world)
    path, body, key = REPEATED[what]
    response = await world.client.post(path, body=body.encode())
    assert response.words == "400 invalid_request"
    named = f"{key}: " if key else ""
    assert response.json["message"] == f"The body is not valid: {named}must be given only once"
    assert counted(world) == (0, 0)


async def test_a_key_in_several_objects_and_quotes_in_a_text_are_no_repetition(world: World) -> None:
    assert (await world.client.post(MINT, body=b'{"a": {"a": [{"a": 1}, {"a": 1}]}}')).words == "200"
    quoted = {"bookingId": 'a", "kind": "click', "kind": "click", "visitorId": VISITOR}
    assert (await world.client.post(EVENTS, json=quoted)).words == "404 not_found"


async def test_a_long_key_that_is_given_twice_is_cut(world: World) -> None:
    key = "k" * 5_000
    response = await world.client.post(MINT, body=f'{{"{key}": 1, "{key}": 2}}'.encode())
    assert response.json["message"] == f"The body is not valid: {key[:100]}: must be given only once"


@pytest.mark.parametrize("body", [b"", b" "])
async def test_these_operations_need_a_body(world: World, body: bytes) -> None:
    for path in (CLAIM, COMPLETE, EVENTS, BATCH):
        assert (await world.client.post(path, body=body)).words == "400 invalid_request"


@pytest.mark.parametrize(
    "kind",
    [
        "application/json; charset=utf-8",
        "text/plain",
        "application/x-www-form-urlencoded",
        "image/png",
        "",
        "é/;;",
        None,
    ],
)
async def test_the_content_type_is_not_looked_at(world: World, kind: str | None) -> None:
    """Any content type is read as JSON, for clients that cannot set it."""
    headers = {} if kind is None else {"Content-Type": kind}
    assert (await world.client.post(MINT, headers=headers, body=b"{}")).words == "200"
    assert (await world.client.post(CLAIM, headers=headers, body=b"{}")).words == "400 invalid_request"
    await stock(world)
    assert (await world.client.post(EVENTS, headers=headers, body=f"{{{EVENT}}}".encode())).json == {"recorded": True}
    answer = await world.client.post(BATCH, headers=headers, body=f'{{"events": [{{{EVENT}}}]}}'.encode())
    assert answer.json == {"results": [{"recorded": False, "dropped": "duplicate"}]}


CODINGS = ("gzip", "br", " GZIP ", "identity, gzip", "aws-chunked", "nonsense")


@pytest.mark.parametrize("path", [MINT, CLAIM, EVENTS, BATCH, "/api/v1/auth/device/token", "/mcp", "/mcp/"])
async def test_a_body_in_a_coding_is_415_and_says_so(world: World, path: str) -> None:
    for coding in CODINGS:
        headers = {"Content-Type": "application/json", "Content-Encoding": coding}
        response = await world.client.post(path, headers=headers, body=b"\x1f\x8b\x08{}")
        assert response.status == 415
        assert "without Content-Encoding" in response.body.decode()
    for coding in ("identity", " Identity", ""):
        headers = {"Content-Type": "application/json", "Content-Encoding": coding}
        assert (await world.client.post(path, headers=headers, body=b"{}")).status in (200, 400)


async def test_a_form_of_a_page_in_a_coding_is_415(world: World) -> None:
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/x-www-form-urlencoded", **OUR_PAGE}
    response = await world.client.post("/sign-in", headers=headers, body=b"do=send")
    assert (response.status, b"without Content-Encoding" in response.body) == (415, True)


@every_body
def test_an_optional_body_may_be_null_and_another_may_not(operation: Operation) -> None:
    assert operation.body is not None
    for text in (b"null", b" null\r\n", b"", b"  "):
        parsed = parse_body(operation.body, text, optional=operation.body_optional)
        assert parsed is None if operation.body_optional else isinstance(parsed, Refused)
    assert isinstance(parse_body(operation.body, b"nil", optional=operation.body_optional), Refused)


@every_body
def test_a_whole_number_is_taken_as_json_schema_reads_it(operation: Operation) -> None:
    """As `20`, `20.0`, `2e1` and `200e-1`. Fractions and texts are not."""
    assert operation.body is not None
    for name in {name for name, field in _properties(operation.body) if _is_integer(field)}:
        number = operation.example.get(name) or (2 if name == "durationWeeks" else 1_800_230_400_000)
        known = parse_body(operation.body, _with(operation.example, name, str(number)), optional=False)
        assert not isinstance(known, Refused)
        for text in (f"{number}.0", f"{number}.000", f"{number}e0", f"{number}0e-1", f"{number}0.0E-01"):
            assert parse_body(operation.body, _with(operation.example, name, text), optional=False) == known
        for text in (f"{number}.5", f'"{number}"', "true", "1e400", "NaN", "-Infinity", "[20]", f"{number}e-25"):
            assert isinstance(parse_body(operation.body, _with(operation.example, name, text), optional=False), Refused)


def _properties(model: type[BaseModel]) -> Iterable[tuple[str, Any]]:
    properties: Mapping[str, Any] = model.model_json_schema().get("properties", {})
    return properties.items()


def _is_integer(field: Any) -> bool:
    return any(each.get("type") == "integer" for each in (field, *field.get("anyOf", ())))


def _with(example: Any, name: str, text: str) -> bytes:
    """The example with another text for one value."""
    return json.dumps({**example, name: "HERE"}).replace('"HERE"', text).encode()


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("9007199254740993.0", "9007199254740993"),
        ("-9007199254740993.00e0", "-9007199254740993"),
        ("900719925474099300e-2", "9007199254740993"),
        ("-0.0", "0"),
        ("1e17", "100000000000000000"),
        ("1e18", "1e18"),
        ("1.5", "1.5"),
        ("1e9999", "1e9999"),
        ("1e-9999", "1e-9999"),
        ("1e99999", "1e99999"),
        ("9007199254740993.1", "9007199254740993.1"),
        ("2.0000000000000000001", "2.0000000000000000001"),
        ("1." + "0" * 70, "1." + "0" * 70),
        ('"2e1 \\" 3.0"', '"2e1 \\" 3.0"'),
        ("[1.0,2.0]", "[1,2]"),
    ],
)
def test_a_whole_number_is_read_exactly_and_nothing_else_changes(text: str, whole: str) -> None:
    assert whole_numbers(f'{{"a 1.0": {text}}}'.encode()) == f'{{"a 1.0": {whole}}}'.encode()


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("path", PATHS)
async def test_a_body_of_the_longest_length_is_read_and_a_longer_one_is_413(
    world: World, path: str, declared: bool
) -> None:
    for size in (PATHS[path], PATHS[path] + 1, 3 * PATHS[path]):
        body = b'{"a": "' + b"x" * (size - 9) + b'"}'
        headers = {"Content-Length": str(size)} if declared else {}
        answer = await world.client.post(path, headers=headers, body=[body[:100], body[100:]])
        assert (answer.words == "413 payload_too_large") == (size > PATHS[path])
        assert (answer.header("access-control-allow-origin") == "*") == (path in (EVENTS, BATCH)), (
            "the page can read why"
        )


@pytest.mark.parametrize("declared", ["0", "5", "-1", "x", "1e3", "99999999999999999999999"])
async def test_a_wrong_content_length_does_no_harm(world: World, declared: str) -> None:
    """Servers check the length first; the application does not rely on that."""
    response = await world.client.post(MINT, headers={"Content-Length": declared}, body=b"{}")
    assert response.status in (200, 400, 413)


async def test_a_body_may_come_in_pieces(world: World) -> None:
    body = b'{"claimToken": "unknown token", "email": "a@example.com"}'
    pieces = [body[place : place + 1] for place in range(len(body))]
    assert (await world.client.post(CLAIM, body=pieces)).words == "400 invalid_claim"


async def test_a_body_where_none_belongs_is_not_read(world: World) -> None:
    """Even if it is too long or not JSON."""
    for body in (b"no json", b"[" * 100_000):
        assert (await world.client.get("/api/v1/bots", body=body)).words == "200"


async def test_a_refused_body_names_what_is_wrong_and_not_the_value(world: World) -> None:
    secret = "clm_tooshort"[:7]
    response = await world.client.post(COMPLETE, json={"claimToken": secret, "email": "nobody", "code": 123456})
    message = _message(response)
    assert "claimToken: " in message
    assert "email: " in message
    assert "code: " in message
    assert secret not in message
    assert "123456" not in message


async def test_a_body_with_many_faults_gets_a_short_answer(world: World) -> None:
    response = await world.client.post(COMPLETE, json={"claimToken": "x" * 1_000, "email": "y" * 10_000, "code": ""})
    assert len(_message(response)) < 500


def _message(response: Response) -> str:
    assert response.words == "400 invalid_request"
    return str(response.json["message"])


async def test_a_refused_body_does_not_use_up_the_claim_codes(world: World) -> None:
    minted = (await world.client.post(MINT)).json
    for _ in range(3):
        await world.client.post(CLAIM, json={"claimToken": minted["claimToken"]})
    sent = await world.client.post(CLAIM, json={"claimToken": minted["claimToken"], "email": "ann@example.com"})
    assert sent.json == {"sent": True}
