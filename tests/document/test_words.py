"""The words of the document: everything is described, with units and bounds, and each keyword has a meaning."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from service.api.operation import Operation
from service.api.operations import OPERATIONS
from tests.api.conformity import DOCUMENT

SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
KEYWORDS = {
    # JSON Schema 2020-12: core, applicators, validation, format, content, meta-data.
    *("$ref", "$defs", "$comment"),
    *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "prefixItems", "items", "contains"),
    *("properties", "patternProperties", "additionalProperties", "propertyNames"),
    *("type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"),
    *("maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains"),
    *("maxProperties", "minProperties", "required", "dependentRequired"),
    *("format", "contentEncoding", "contentMediaType", "contentSchema"),
    *("title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples"),
}
UNITS = {
    # The ending of a name, and what its description has to say.
    "Cents": "cents",
    "Seconds": "[Ss]econd",
    "Ms": "milliseconds",
    "At": "milliseconds",
    "Until": "milliseconds",
    "weekStart": "milliseconds",
    "weekEnd": "milliseconds",
    "expires_in": "Seconds",
    "interval": "[Ss]econds",
    "retryAfter": "seconds",
}
UNBOUNDED = {
    # Texts that only the size of the body bounds, and what happens to them.
    "DeviceTokenRequest/client_id": "ignored",
    "ClientRegistration/client_name": "replaced by a host if it is too long",
    **{
        f"Seen/{name}": "compared with what is stored"
        for name in ("headline", "body", "cta", "targetUrl", "logoText", "sponsorName/anyOf/0")
    },
}


def subschemas(schema: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A schema and all schemas in it, each with its place."""
    if not isinstance(schema, dict):
        return
    yield place, schema
    for keyword in ("items", "not", "contentSchema", "additionalProperties", "propertyNames"):
        yield from subschemas(schema.get(keyword), f"{place}/{keyword}")
    for keyword in ("anyOf", "allOf", "oneOf", "prefixItems"):
        for number, inner in enumerate(schema.get(keyword, ())):
            yield from subschemas(inner, f"{place}/{keyword}/{number}")
    for keyword in ("properties", "patternProperties", "$defs"):
        for name, inner in schema.get(keyword, {}).items():
            yield from subschemas(inner, f"{place}/{name}")


def all_schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema of the document."""
    for name, schema in SCHEMAS.items():
        yield from subschemas(schema, name)
    yield from _in_objects(DOCUMENT["paths"], "paths")
    yield from _in_objects(DOCUMENT["components"]["headers"], "headers")


def _in_objects(value: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _in_objects(inner, f"{place}/{number}")
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        if name == "schema":
            yield from subschemas(inner, f"{place}/schema")
        elif name not in ("example", "examples"):
            yield from _in_objects(inner, f"{place}/{name}")


def properties() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every property: its place, its name and its schema."""
    for place, schema in all_schemas():
        for name, inner in schema.get("properties", {}).items():
            yield f"{place}.{name}", name, inner


def parameters(operation: Operation) -> list[Any]:
    found: list[Any] = DOCUMENT["paths"][operation.path][operation.method.lower()].get("parameters", [])
    return found


def test_schemas_have_only_keywords_of_json_schema() -> None:
    places = {place: schema.keys() - KEYWORDS for place, schema in all_schemas()}
    assert len(places) > 1_000
    assert {place: found for place, found in places.items() if found} == {}


def test_every_model_and_every_property_is_described() -> None:
    assert [name for name, schema in SCHEMAS.items() if not _is_text(schema.get("description"))] == []
    places = [(place, schema) for place, _, schema in properties()]
    assert len(places) > 600
    assert [place for place, schema in places if not _is_text(schema.get("description"))] == []


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.strip() == value and len(value) > 2


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_parameter_of_an_operation_is_described(operation: Operation) -> None:
    assert [each["name"] for each in parameters(operation) if not _is_text(each.get("description"))] == []


def test_every_header_tag_and_security_scheme_is_described() -> None:
    components = DOCUMENT["components"]
    for each in (*components["headers"].values(), *components["securitySchemes"].values(), *DOCUMENT["tags"]):
        assert _is_text(each.get("description")), f"describe it in service/api/openapi/components.py: {each}"


def test_the_service_tells_its_license_and_where_to_ask() -> None:
    info = DOCUMENT["info"]
    assert info["license"] == {"name": "MIT License", "identifier": "MIT"}
    assert info["contact"]["url"] == f"{DOCUMENT['servers'][0]['url']}/"
    assert DOCUMENT["externalDocs"]["url"] == f"{DOCUMENT['servers'][0]['url']}/docs"


def test_a_number_with_a_unit_names_it() -> None:
    for place, name, schema in properties():
        if not {"integer", "number"} & _types(schema):
            continue
        for ending, unit in UNITS.items():
            if name.endswith(ending):
                assert re.search(unit, schema["description"]), f"{place} does not say that it is in {unit}"


def _types(schema: dict[str, Any]) -> set[str]:
    kinds = {schema["type"]} if isinstance(schema.get("type"), str) else set()
    return kinds.union(*(_types(inner) for inner in schema.get("anyOf", ())))


def test_every_number_has_its_bounds() -> None:
    """Bodies and queries: both. Responses: the lower one."""
    read = _read_by_requests()
    for place, schema in all_schemas():
        if schema.get("type") not in ("integer", "number") or "enum" in schema or "const" in schema:
            continue
        assert "minimum" in schema, f"{place} has no lower bound"
        if place.partition("/")[0] in read or "/parameters/" in place:
            assert "maximum" in schema, f"{place} has no upper bound"


def test_every_text_and_list_of_a_request_has_a_bound() -> None:
    read = _read_by_requests()
    for place, schema in all_schemas():
        if place.partition("/")[0] not in read and "/parameters/" not in place:
            continue
        if place in UNBOUNDED:
            continue
        if schema.get("type") == "string" and not schema.keys() & {"enum", "const", "format", "contentSchema"}:
            assert schema.keys() & {"maxLength", "pattern"}, f"{place} has no bound"
        if schema.get("type") == "array":
            assert "maxItems" in schema, f"{place} has no bound"


def _read_by_requests() -> set[str]:
    """The names of the models of bodies, and of those in them."""
    found: set[str] = set()
    waiting = [operation.body.__name__ for operation in OPERATIONS if operation.body is not None]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += re.findall(r"#/components/schemas/(\w+)", str(SCHEMAS[name]))
    return found


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_a_summary_has_the_words_of_the_operation_id(operation: Operation) -> None:
    """Headings and lists show summaries, and generated clients show ids: `getUseCase` is "Get one use case"."""
    words = {_singular(word) for word in re.findall(r"[a-z]+", operation.summary.lower())}
    named = [_singular(word.lower()) for word in re.findall(r"[A-Z]?[a-z]+", operation.name)]
    assert set(named) <= words, f"{operation.name} and {operation.summary!r} name different things"


def _singular(word: str) -> str:
    return re.sub("ies$", "y", word) if word.endswith("ies") else word.removesuffix("s")


def test_no_two_operations_have_the_same_summary() -> None:
    summaries = [operation.summary for operation in OPERATIONS]
    assert sorted(summaries) == sorted(set(summaries))
