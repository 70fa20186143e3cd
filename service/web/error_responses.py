"""What the service says when it refuses a request before any operation has seen it, or when the application fails."""

import json
from collections.abc import MutableMapping
from typing import Any

from actors.values import Code, Refused
from service.api.errors import Family, body_of
from service.api.messages import note, trace
from service.web.middleware import API_POLICY, SECURITY_HEADERS, Receive, Scope, Send

Headers = list[tuple[bytes, bytes]]


def refused(status: int, message: str) -> tuple[Headers, bytes]:
    """Headers and body of a refusal. The status says more than the code, which is one for all that is malformed."""
    code = Code.INTERNAL_ERROR if status >= 500 and status != 505 else Code.INVALID_REQUEST
    note(refusal=str(code))
    body = json.dumps(body_of(Refused(code, message), Family.CATALOG)).encode()
    return [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())], body


def refused_within(status: int, message: str) -> tuple[Headers, bytes]:
    """The same for a request that the application had begun with, so that nobody adds the headers that all answers have."""
    headers, body = refused(status, message)
    notes = trace.get()
    if notes is not None:
        notes.status = status
        headers.append((b"x-request-id", notes.request_id.encode()))
    return [*headers, *SECURITY_HEADERS, API_POLICY], body


async def answer_refusal(scope: Scope, receive: Receive, send: Send) -> None:
    """An ASGI application whose answer stands in the scope, as `refusal`: a status and a message.

    Served behind an `Edge`, so that a refusal has an id, a line in the log and the headers that all answers have.
    """
    status, message = scope["refusal"]
    headers, body = refused(status, message)
    start: MutableMapping[str, Any] = {"type": "http.response.start", "status": status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body, "more_body": False})
