"""Builds the OpenAPI 3.1 document from the table of operations and the wire models."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from actors.events.router import EventOutcome
from actors.values import Code
from service.api.errors import TABLE, Family
from service.api.operation import Operation
from service.api.policy import Access
from service.api.validation import FORM, IDEMPOTENCY_KEY_PATTERN
from service.schemas.catalog import Slug
from service.schemas.error_bodies import CatalogError, DeviceError, SponsorshipError
from service.schemas.fields import Id
from service.version import VERSION

API_VERSION = "1.0.0"
"""The version of the API, which changes with its operations and models. The program's version is `VERSION`."""

ERRORS: Mapping[Family, type[BaseModel]] = {
    Family.CATALOG: CatalogError,
    Family.SPONSORSHIP: SponsorshipError,
    Family.DEVICE: DeviceError,
}


def _text(description: str, **schema: Any) -> dict[str, Any]:
    return {"description": description, "schema": {"type": "string", **schema}}


HEADERS: Mapping[str, Any] = {
    "X-Request-Id": _text("Identifies this request in the service's log."),
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}},
    "WWW-Authenticate": _text("The authentication scheme to use.", const="Bearer"),
    "RateLimit-Policy": _text("The limit of each window of the key."),
    "RateLimit": _text("Requests left in each window. The responding node counts the minute."),
    "Set-Cookie": _text("Sets or deletes the session cookie."),
    "Content-Disposition": _text("Lets a browser save the response as a file."),
    "ETag": _text("Strong validator of a response without a key."),
    "X-Search-Relaxed": _text(
        "Present if no entry has all words of `q`: those returned have the most of them, or similar words.",
        const="true",
    ),
    "X-Event-Dropped": _text(
        "Why the event was not recorded. Absent if it was.",
        enum=[str(each) for each in EventOutcome if each is not EventOutcome.RECORDED],
    ),
}


IDEMPOTENCY_KEY: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    **_text("Makes a request safe to repeat.", pattern=f"^{IDEMPOTENCY_KEY_PATTERN}$"),
}

PATHS: Mapping[str, Any] = {"id": Id, "deliveryId": Id, "slug": Slug}
"""The form of path parameters. Any other value is a 404."""


@dataclass(frozen=True)
class Described:
    """The OpenAPI document and its text. Building them is slow, so the first reader has them built."""

    _build: Callable[[], dict[str, Any]]

    @classmethod
    def of(cls, operations: Sequence[Operation], base_url: str) -> "Described":
        return cls(partial(document, operations, base_url))

    @cached_property
    def document(self) -> dict[str, Any]:
        return self._build()

    @cached_property
    def text(self) -> bytes:
        return json.dumps(self.document, indent=1, ensure_ascii=False).encode()


def document(operations: Sequence[Operation], base_url: str) -> dict[str, Any]:
    """The whole document. Every operation lists every status that it can return."""
    schemas = _schemas(operations)
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Catalog and Sponsorship Service",
            "version": API_VERSION,
            "x-build": VERSION,
            "description": "A catalog of use cases and bot templates, API keys with exact quotas, and sponsorship.",
        },
        "servers": [{"url": base_url}],
        "tags": [{"name": tag} for tag in dict.fromkeys(operation.tag for operation in operations)],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "headers": dict(HEADERS),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "An API key"},
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "__Host-session",
                    "description": "A signed-in browser session. Over plain http the cookie is named `session`. "
                    "Requests that change something must come from a page of this service.",
                },
            },
        },
    }


def _schemas(operations: Sequence[Operation]) -> dict[str, Any]:
    inputs = [operation.body for operation in operations if operation.body is not None]
    outputs = [*(operation.result for operation in operations), *ERRORS.values()]
    _, definitions = models_json_schema(
        [
            *((model, "validation") for model in dict.fromkeys(inputs)),
            *((model, "serialization") for model in dict.fromkeys(outputs)),
        ],
        ref_template="#/components/schemas/{model}",
    )
    schemas: dict[str, Any] = definitions["$defs"]
    bodies = {model.__name__ for model in inputs}
    for name, schema in schemas.items():
        if name not in bodies:
            _without_null(schema)
    return schemas


def _without_null(schema: dict[str, Any]) -> None:
    """Responses omit optional fields instead of returning null, unless they are required."""
    required = set(schema.get("required", ()))
    for name, field in schema.get("properties", {}).items():
        if name in required:
            continue
        field.pop("default", None)
        kinds = [kind for kind in field.get("anyOf", ()) if kind != {"type": "null"}]
        if len(kinds) == 1:
            del field["anyOf"]
            field.update(kinds[0])


def _operation(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": _description(operation),
        "tags": [operation.tag],
        "responses": _responses(operation),
        "security": _security(operation),
    }
    keys = [IDEMPOTENCY_KEY] if operation.keyed else []
    parameters = [*_path_parameters(operation), *_query_parameters(operation), *keys]
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        media: dict[str, Any] = {"schema": _reference(operation.body)}
        if operation.example:
            media["example"] = dict(operation.example)
        content = {"application/json": media}
        if operation.form:
            content[FORM] = media
        if operation.plain_text:
            content["text/plain"] = _as_text(media)
        described["requestBody"] = {"required": not operation.body_optional, "content": content}
    elif operation.raw_body:
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}
    return described


def _as_text(media: Mapping[str, Any]) -> dict[str, Any]:
    """The media type of the same JSON sent as text."""
    schema = {"type": "string", "contentMediaType": "application/json", "contentSchema": media["schema"]}
    return {"schema": schema, "example": json.dumps(media["example"])}


def _description(operation: Operation) -> str:
    sentences = [operation.description]
    if operation.scopes:
        scopes = ", ".join(f"`{scope}`" for scope in operation.scopes)
        sentences.append(f"A scoped key needs {scopes}.")
    if operation.admin:
        sentences.append("The account must be an administrator.")
    return " ".join(sentences)


def _security(operation: Operation) -> list[dict[str, list[str]]]:
    match operation.access:
        case Access.PUBLIC:
            return []
        case Access.OPTIONAL:
            return [{}, {"bearer": []}]
        case Access.REQUIRED:
            return [{"bearer": []}, {"session": []}]
        case Access.SESSION:
            return [{"session": []}]


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": TypeAdapter(PATHS[name]).json_schema()}
        for name in operation.path_names
    ]


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    query = operation.query.model_json_schema()
    needed = query.get("required", ())
    parameters = []
    for name, schema in query["properties"].items():
        schema = {key: value for key, value in schema.items() if key != "title"}
        described = {"name": name, "in": "query", "required": name in needed, "schema": schema}
        if "description" in schema:
            described["description"] = schema.pop("description")
        parameters.append(described)
    return parameters


def _responses(operation: Operation) -> dict[str, Any]:
    success: dict[str, Any] = {
        "description": "Success",
        "headers": _header_references(_success_headers(operation)),
        "content": {"application/json": {"schema": _reference(operation.result)}},
    }
    if operation.spreadsheet:
        success["content"]["text/csv"] = {"schema": {"type": "string"}}
    if operation.leads_to:
        success["links"] = {
            name: {"operationId": name, "parameters": {"id": f"$response.body#{pointer}"}}
            for name, pointer in operation.leads_to.items()
        }
    responses = {"200": success}
    if operation.cacheable:
        responses["304"] = {
            "description": "Not modified: the response that If-None-Match names is current (requests without a key)",
            "headers": _header_references(["X-Request-Id", "ETag"]),
        }
    for status, codes in sorted(_by_status(operation.all_codes).items()):
        responses[str(status)] = _error(status, codes, operation)
    return responses


def _success_headers(operation: Operation) -> list[str]:
    names = ["X-Request-Id"]
    if operation.access is not Access.PUBLIC:
        names += ["RateLimit-Policy", "RateLimit"]
    if operation.cacheable:
        names.append("ETag")
    if operation.spreadsheet:
        names.append("Content-Disposition")
    return [*names, *operation.headers]


def _error(status: int, codes: Collection[Code], operation: Operation) -> dict[str, Any]:
    errors = [str(code) for code in codes]
    names = ["X-Request-Id"]
    if status in (429, 503) or Code.HOLD_LIMIT in codes:
        names.append("Retry-After")
    if status == 401:
        names.append("WWW-Authenticate")
    example = {"error": errors[0], "message": "An explanation for a person."}
    if operation.family is Family.DEVICE:
        example["error_description"] = example["message"]
    schema = {"allOf": [_reference(ERRORS[operation.family]), {"properties": {"error": {"enum": errors}}}]}
    return {
        "description": f"{HTTPStatus(status).phrase}: {', '.join(errors)}",
        "headers": _header_references(names),
        "content": {"application/json": {"schema": schema, "example": example}},
    }


def _by_status(codes: Iterable[Code]) -> dict[int, list[Code]]:
    statuses: dict[int, list[Code]] = {}
    for code in codes:
        statuses.setdefault(TABLE[code].status, []).append(code)
    return statuses


def _header_references(names: Iterable[str]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}
