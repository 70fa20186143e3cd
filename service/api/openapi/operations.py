"""The description of one operation: its words, parameters, body, responses and security."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from service.api.openapi.components import reference, text
from service.api.openapi.examples import Examples
from service.api.openapi.models import SchemaWriter
from service.api.openapi.responses import responses
from service.api.operation import Operation
from service.api.policy import Access
from service.api.validation import FORM, IDEMPOTENCY_KEY_PATTERN
from service.schemas.catalog import Slug
from service.schemas.fields import Id

IDEMPOTENCY_KEY: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    **text(
        "Makes a request safe to repeat: requests with the same key take effect once. 1 to 100 letters, digits, hyphens "
        "and underscores.",
        pattern=f"^{IDEMPOTENCY_KEY_PATTERN}$",
    ),
}

IF_MATCH: dict[str, Any] = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    **text(
        "The `ETag` of the version that you have read, or `*` for any. If the entry has another one, nothing changes.",
        maxLength=2_000,
    ),
}
IF_NONE_MATCH: dict[str, Any] = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    **text("`*` creates only: if the entry exists, nothing changes: 412.", pattern=r"^\*$"),
}

PATHS: Mapping[str, Any] = {"id": Id, "deliveryId": Id, "slug": Slug}
"""The form of path parameters. Any other value is a 404."""

PLACES: Mapping[str, str] = {
    "usecases": "Slug of the use case",
    "bots": "Slug of the bot template",
    "campaigns": "Id of the campaign",
    "submissions": "Id of the submission",
    "bookings": "Id of the booking",
    "keys": "Id of the key",
    "webhooks": "Id of the webhook",
    "deliveries": "Id of the delivery",
    "slots": "Id of the slot",
    "accounts": "Id of the account, the `tenantId` of its keys",
    "sessions": "Id of the session",
    "passkeys": "Id of the passkey",
}
"""The descriptions of path parameters, by the part of the path before them."""


def described(operation: Operation, examples: Examples) -> dict[str, Any]:
    """The Operation Object of an operation."""
    found: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": _description(operation),
        "tags": [operation.tag],
        "responses": responses(operation, examples),
        "security": _security(operation),
    }
    if operation.same_origin or (operation.changes and operation.access is Access.SESSION):
        found["x-same-origin"] = True
    headers = [IDEMPOTENCY_KEY] if operation.keyed else []
    if operation.conditional:
        headers += [IF_MATCH, IF_NONE_MATCH] if operation.body is not None else [IF_MATCH]
    parameters = [*_path_parameters(operation), *_query_parameters(operation), *headers]
    if parameters:
        found["parameters"] = parameters
    if operation.body is not None:
        found["requestBody"] = _body(operation, reference(operation.body))
    elif operation.raw_body:
        found["requestBody"] = _body(operation, {"type": "object"})
    return found


def _body(operation: Operation, schema: Mapping[str, Any]) -> dict[str, Any]:
    media = {"schema": schema, "example": operation.example}
    content: dict[str, Any] = {"application/json": media}
    if operation.form:
        # Without a schema: the fields are those of the JSON. Some generators fail for a body with two schemas.
        content[FORM] = {"example": operation.example}
    if operation.plain_text:
        content["text/plain"] = _as_text(media)
    return {"required": not operation.body_optional, "content": content}


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
    parts = operation.path.split("/")
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            **_named_by(parts[parts.index(f"{{{name}}}") - 1]),
            "schema": TypeAdapter(PATHS[name]).json_schema(),
        }
        for name in operation.path_names
    ]


def _named_by(part: str) -> dict[str, str]:
    return {"description": PLACES[part]} if part in PLACES else {}


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    query = operation.query.model_json_schema(schema_generator=SchemaWriter)
    needed = query.get("required", ())
    parameters = []
    for name, schema in query["properties"].items():
        schema = {key: value for key, value in schema.items() if key != "title"}
        shown = {"name": name, "in": "query", "required": name in needed, "schema": schema}
        if "description" in schema:
            shown["description"] = schema.pop("description")
        parameters.append(shown)
    return parameters
