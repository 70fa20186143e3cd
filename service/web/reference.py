"""The data of the readable reference. It comes from the OpenAPI document, so the two cannot differ."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter or property."""

    name: str
    kind: str
    required: bool
    description: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One operation."""

    name: str
    method: str
    path: str
    summary: str
    description: str
    access: str
    parameters: list[Field]
    body: list[Field]
    example: str
    result: list[Field]
    statuses: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Chapter:
    """The operations of one tag."""

    title: str
    entries: list[Entry]


def chapters(document: dict[str, Any]) -> list[Chapter]:
    """The operations by tag, in the order of the document."""
    by_tag: dict[str, list[Entry]] = {tag["name"]: [] for tag in document["tags"]}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            by_tag[operation["tags"][0]].append(_entry(document, method.upper(), path, operation))
    return [Chapter(tag, entries) for tag, entries in by_tag.items()]


def _entry(document: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> Entry:
    media = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    result = operation["responses"]["200"]["content"]["application/json"]["schema"]
    return Entry(
        name=operation["operationId"],
        method=method,
        path=path,
        summary=operation["summary"],
        description=operation["description"],
        access=_access(operation["security"]),
        parameters=[
            Field(one["name"], _kind(document, one["schema"]), one["required"], one.get("description", ""))
            for one in operation.get("parameters", ())
        ],
        body=_fields(document, media.get("schema", {})),
        example=json.dumps(media["example"], indent=2, ensure_ascii=False) if "example" in media else "",
        result=_fields(document, result),
        statuses=[(status, response["description"]) for status, response in operation["responses"].items()],
    )


def _access(security: list[dict[str, Any]]) -> str:
    if not security:
        return "no key"
    if {} in security:
        return "key optional"
    return "key or sign-in" if {"bearer": []} in security else "sign-in required"


def _fields(document: dict[str, Any], schema: dict[str, Any], place: str = "") -> list[Field]:
    """The properties of a model. Nested ones follow under their path: `guide.title`, `data[].slug`."""
    schema = _resolved(document, schema)
    required = set(schema.get("required", ()))
    fields = []
    for name, inner in schema.get("properties", {}).items():
        where = f"{place}{name}"
        fields.append(Field(where, _kind(document, inner), name in required, inner.get("description", "")))
        if inner.get("type") == "array":
            fields += _fields(document, inner.get("items", {}), f"{where}[].")
        elif "$ref" in inner:
            fields += _fields(document, inner, f"{where}.")
    return fields


def _kind(document: dict[str, Any], schema: dict[str, Any]) -> str:
    """A schema in a few words: `string, 1 to 80 characters`, `array of UseCase`, `integer or null`."""
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[1])
    if "anyOf" in schema:
        return ", or ".join(_kind(document, one) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    if schema.get("maxLength") == 0:
        return "empty"
    kind = str(schema.get("type", "any"))
    if kind == "array":
        return f"array of {_kind(document, schema.get('items', {}))}"
    words = [str(schema.get("format", kind))]
    for low, high, unit in (("minLength", "maxLength", " characters"), ("minimum", "maximum", "")):
        if low in schema and high in schema:
            words.append(f"{schema[low]} to {schema[high]}{unit}")
        elif low in schema:
            if (low, schema[low]) != ("minLength", 1):
                words.append(f"at least {schema[low]}{unit}")
        elif high in schema:
            words.append(f"at most {schema[high]}{unit}")
    return ", ".join(words)


def _resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    resolved: dict[str, Any] = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return resolved
