"""The responses of an operation: its success, and its refusals with a recorded example of each code.

All refusals of a family share one schema. The codes of a status stand in `x-error-codes`, in the names of the examples and
in the description, so that generated clients have one class for errors and not one for each operation and status.
"""

from collections.abc import Collection, Iterable, Sequence
from http import HTTPStatus
from typing import Any

from actors.values import Code
from service.api.errors import TABLE, Family
from service.api.openapi.components import ERRORS, reference
from service.api.openapi.examples import Examples
from service.api.operation import Operation
from service.api.policy import Access

FILE = "With `format=csv`: all rows in UTF-8 under a header line. The example shows the first ones."


def responses(operation: Operation, examples: Examples) -> dict[str, Any]:
    """The Responses Object of an operation."""
    found = {str(operation.status): _success(operation, examples)}
    if operation.cacheable:
        found["304"] = {
            "description": "Not modified: the response that If-None-Match names is current. Not charged to a key",
            "headers": _header_references(["X-Request-Id", "ETag"]),
        }
    for status, codes in sorted(_by_status(operation.all_codes).items()):
        found[str(status)] = _error(status, codes, operation, examples)
    return found


def shared_examples(examples: Examples, operations: Sequence[Operation]) -> dict[str, Any]:
    """The recorded refusals that operations share, by the name of their component."""
    used = {
        (operation.family, code)
        for operation in operations
        for code in operation.all_codes
        if examples.own_of(operation.name, code) is None
    }
    return {
        _component(family, code): {"value": body}
        for family in Family
        for code in Code
        if (family, code) in used and (body := examples.shared(family, code)) is not None
    }


def _success(operation: Operation, examples: Examples) -> dict[str, Any]:
    media: dict[str, Any] = {"schema": reference(operation.result)}
    if (body := examples.success(operation.name)) is not None:
        media["example"] = body
    success: dict[str, Any] = {
        "description": "Success",
        "headers": _header_references(_success_headers(operation)),
        "content": {"application/json": media},
    }
    if operation.spreadsheet:
        success["content"]["text/csv"] = {"schema": {"type": "string", "description": FILE}}
        if (file := examples.file(operation.name)) is not None:
            success["content"]["text/csv"]["example"] = file
    if operation.leads_to:
        success["links"] = {
            name: {"operationId": name, "parameters": {"id": f"$response.body#{pointer}"}}
            for name, pointer in operation.leads_to.items()
        }
    return success


def _success_headers(operation: Operation) -> list[str]:
    names = ["X-Request-Id"]
    if operation.access is not Access.PUBLIC:
        names += ["RateLimit-Policy", "RateLimit"]
    if operation.cacheable:
        names.append("ETag")
    if operation.spreadsheet:
        names.append("Content-Disposition")
    if _has_pages(operation):
        names.append("Link")
    return [*names, *operation.headers]


def _has_pages(operation: Operation) -> bool:
    """Whether the operation is a list with pages by cursor. The pages of an export have no `Link`."""
    fields = operation.result.model_fields
    return operation.query is not None and ("nextCursor" in fields or {"items", "cursor"} <= fields.keys())


def _error(status: int, codes: Collection[Code], operation: Operation, examples: Examples) -> dict[str, Any]:
    names = ["X-Request-Id"]
    if status in (429, 503) or Code.HOLD_LIMIT in codes:
        names.append("Retry-After")
    if status == 401:
        names.append("WWW-Authenticate")
    media: dict[str, Any] = {"schema": reference(ERRORS[operation.family])}
    shown = {str(code): example for code in codes if (example := _example(operation, code, examples))}
    if shown:
        media["examples"] = shown
    return {
        "description": f"{HTTPStatus(status).phrase}: {', '.join(codes)}",
        "headers": _header_references(names),
        "content": {"application/json": media},
        "x-error-codes": [str(code) for code in codes],
    }


def _example(operation: Operation, code: Code, examples: Examples) -> dict[str, Any] | None:
    """The refusal of this operation, or else the one that all operations of its family share."""
    if (own := examples.own_of(operation.name, code)) is not None:
        return {"value": own}
    if examples.shared(operation.family, code) is not None:
        return {"$ref": f"#/components/examples/{_component(operation.family, code)}"}
    return None


def _component(family: Family, code: Code) -> str:
    return f"{ERRORS[family].__name__}.{code}"


def _by_status(codes: Iterable[Code]) -> dict[int, list[Code]]:
    statuses: dict[int, list[Code]] = {}
    for code in codes:
        statuses.setdefault(TABLE[code].status, []).append(code)
    return statuses


def _header_references(names: Iterable[str]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
