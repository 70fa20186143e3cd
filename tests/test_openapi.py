"""The OpenAPI document: valid, complete, and the one that is served. Answers are held to it in `tests/http`."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator, validate
from trio.testing import MockClock

from actors.values import Code
from service.errors import TABLE
from service.openapi import document
from service.operation import Access, Operation
from service.operations import OPERATIONS
from tests.http.conformity import BASE_URL, DOCUMENT, validator
from tests.http.world import open_world

STATUSES = {
    # What each operation can answer with (specification, "Endpoints"), beside 413, 400, 500 and 503 of any.
    "mintKey": {200, 429},
    "startClaim": {200, 409, 429},
    "completeClaim": {200, 409, 429},
    "getUsage": {200, 401, 403, 429},
    "listUseCases": {200, 304, 401, 403, 429},
    "getUseCase": {200, 304, 401, 403, 404, 429},
    "listBots": {200, 304, 401, 403, 429},
    "getBot": {200, 304, 401, 403, 404, 429},
    "stripeWebhook": {200, 404},
    "isAlive": {200},
    "isReady": {200},
}
ANY = {400, 413, 500, 503}
CODES_OF_403 = {
    "getUsage": {"key_expired", "insufficient_scope"},
    "listUseCases": {"key_expired", "quota_exhausted", "claim_required", "insufficient_scope"},
    "getUseCase": {"key_expired", "quota_exhausted", "claim_required", "insufficient_scope"},
    "listBots": {"key_expired", "quota_exhausted", "insufficient_scope"},
    "getBot": {"key_expired", "quota_exhausted", "insufficient_scope"},
}
PARAMETERS = {"listUseCases": {"q", "cursor", "limit"}, "listBots": {"q", "cursor", "limit"}}


def described(operation: Operation) -> Any:
    return DOCUMENT["paths"][operation.path][operation.method.lower()]


def test_the_document_is_valid_openapi_3_1() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    validate(DOCUMENT, cls=OpenAPIV31SpecValidator)


def test_the_version_is_that_of_the_specification() -> None:
    assert DOCUMENT["info"]["version"] == "1.0.0"


def test_the_server_is_the_public_address() -> None:
    assert DOCUMENT["servers"] == [{"url": BASE_URL}]


async def test_the_served_document_is_the_generated_one(autojump_clock: MockClock) -> None:
    async with open_world() as world:
        response = await world.client.get("/openapi.json")
        assert response.header("content-type") == "application/json"
        assert response.header("cache-control") == "public, max-age=60"
        assert response.json == document(OPERATIONS, BASE_URL) == DOCUMENT


def test_every_operation_is_described_and_no_other() -> None:
    found = {
        (path, method.upper(), operation["operationId"])
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    }
    assert found == {(operation.path, operation.method, operation.name) for operation in OPERATIONS}
    assert {operation.name for operation in OPERATIONS} == STATUSES.keys()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_operation_names_every_status_and_code(operation: Operation) -> None:
    responses = described(operation)["responses"]
    assert {int(status) for status in responses} == STATUSES[operation.name] | ANY
    named = [_codes(response) for status, response in responses.items() if int(status) >= 400]
    assert {code for codes in named for code in codes} == {str(code) for code in operation.all_codes}
    if "403" in responses:
        assert set(_codes(responses["403"])) == CODES_OF_403[operation.name]


def _codes(response: Any) -> list[str]:
    codes: list[str] = response["content"]["application/json"]["schema"]["allOf"][1]["properties"]["error"]["enum"]
    assert all(TABLE[Code(code)].status in range(400, 600) for code in codes)
    return codes


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_operation_has_words_parameters_and_security(operation: Operation) -> None:
    shown = described(operation)
    assert shown["summary"]
    assert shown["description"].rstrip().endswith(".")
    assert shown["tags"][0] in {tag["name"] for tag in DOCUMENT["tags"]}
    expected = {Access.PUBLIC: [], Access.OPTIONAL: [{}, {"bearer": []}], Access.REQUIRED: [{"bearer": []}]}
    assert shown["security"] == expected[operation.access]
    parameters = {each["name"] for each in shown.get("parameters", ()) if each["in"] == "query"}
    assert parameters == PARAMETERS.get(operation.name, set())
    in_path = [each["name"] for each in shown.get("parameters", ()) if each["in"] == "path"]
    assert in_path == re.findall(r"\{(\w+)\}", operation.path)
    for each in shown.get("parameters", ()):
        assert each["required"] == (each["in"] == "path")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_operation_names_its_headers(operation: Operation) -> None:
    for status, response in described(operation)["responses"].items():
        names = response["headers"].keys()
        assert "X-Request-Id" in names
        assert ("Retry-After" in names) == (status in ("429", "503"))
        assert ("WWW-Authenticate" in names) == (status == "401")
        keyed = operation.access is not Access.PUBLIC and status == "200"
        assert {"RateLimit", "RateLimit-Policy"} <= names or not keyed


def test_only_key_and_claim_operations_and_the_webhook_take_a_body() -> None:
    bodies = {
        operation.name: described(operation)["requestBody"]["required"]
        for operation in OPERATIONS
        if "requestBody" in described(operation)
    }
    assert bodies == {"mintKey": False, "startClaim": True, "completeClaim": True, "stripeWebhook": True}


def test_both_error_bodies_stand_among_the_components() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    catalog, sponsorship = schemas["CatalogError"], schemas["SponsorshipError"]
    assert catalog["properties"].keys() == {"error", "message", "hint", "retryAfter"}
    assert sponsorship["properties"].keys() == {"error", "message", "retryAfter"}
    for schema in (catalog, sponsorship):
        assert set(schema["required"]) == {"error", "message"}


def test_the_scheme_is_a_bearer_token() -> None:
    scheme = DOCUMENT["components"]["securitySchemes"]["bearer"]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")


FIELDS = {
    # Required and optional fields of the specification, "Resources and their fields".
    "UseCase": ("slug title who handle roi sourceUrl addedAt", "guide"),
    "Guide": ("title category opportunity audience platforms botSlugs steps prompt", "value"),
    "Value": ("amount label basis kind", ""),
    "Bot": ("slug name who handle job templateUrl addedAt", "category"),
    "Usage": (
        "tenantId status keyPrefix requestsUsed requestLimit dailyRequestsUsed",
        "dailyRequestLimit expiresAt email",
    ),
    "MintedKey": ("apiKey tenantId claimToken claimUrl expiresAt", ""),
    "ClaimSent": ("sent", ""),
    "UseCasePage": ("data nextCursor", ""),
    "BotPage": ("data nextCursor", ""),
    "ClaimStart": ("claimToken email", ""),
    "ClaimComplete": ("claimToken email code", ""),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_resource_has_the_fields_of_the_specification(name: str) -> None:
    schema, (required, optional) = DOCUMENT["components"]["schemas"][name], FIELDS[name]
    assert set(schema["required"]) == set(required.split())
    assert schema["properties"].keys() == {*required.split(), *optional.split()}


def test_an_optional_field_of_an_answer_is_absent_and_never_null() -> None:
    for name in ("UseCase", "Guide", "Bot", "Usage", "CatalogError", "SponsorshipError"):
        schema = DOCUMENT["components"]["schemas"][name]
        for field, shape in schema["properties"].items():
            assert "null" not in json.dumps(shape), f"{name}.{field}"


def test_every_schema_is_a_schema_and_is_used() -> None:
    text = json.dumps(DOCUMENT)
    for name, schema in DOCUMENT["components"]["schemas"].items():
        Draft202012Validator.check_schema(schema)
        assert f'"#/components/schemas/{name}"' in text or name == "SponsorshipError", f"{name} is not used"


def test_every_example_is_valid() -> None:
    found = list(_examples(DOCUMENT["paths"], "/paths"))
    assert len(found) > 40
    for pointer, example in found:
        validator(f"{pointer}/schema").validate(example)


def _examples(value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    """Each media type's example, with the pointer to the media type."""
    if isinstance(value, dict):
        if "example" in value:
            yield pointer, value["example"]
        for name, inner in value.items():
            escaped = name.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D")
            yield from _examples(inner, f"{pointer}/{escaped}")


def test_every_operation_with_a_body_has_an_example_or_needs_none() -> None:
    for operation in OPERATIONS:
        if operation.body is not None and not operation.body_optional:
            assert "example" in described(operation)["requestBody"]["content"]["application/json"]
