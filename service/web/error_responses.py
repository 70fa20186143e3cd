"""Error responses that the HTTP engine sends for requests that reach no operation or fail on the way."""

import json
from http import HTTPStatus

from actors.values import Code, Refused
from service.api.errors import Family, body_of, headers_of, unavailable
from service.api.messages import note, trace
from service.http.asgi import App, Handlers, Headers, Message, Receive, Scope, Send
from service.web.middleware import API_POLICY, SECURITY_HEADERS


def render_error(status: int, message: str) -> tuple[Headers, bytes]:
    """Headers and body that replace the application's response. They include the common headers, which nothing adds later."""
    headers, body = _rendered(status, message)
    notes = trace.get()
    if notes is not None:
        notes.status = status
        headers.append((b"x-request-id", notes.request_id.encode()))
    return [*headers, *SECURITY_HEADERS, API_POLICY], body


async def reject(scope: Scope, receive: Receive, send: Send) -> None:
    """An ASGI application that answers with `scope["refusal"]`, a status and a message. Run it behind `RequestMiddleware`."""
    status, message = scope["refusal"]
    headers, body = _rendered(status, message)
    start: Message = {"type": "http.response.start", "status": status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body, "more_body": False})


def handlers(app: App, rejected: App = reject) -> Handlers:
    """The server's handlers, with the error responses of this module."""
    return Handlers(app, rejected, render_error)


def _rendered(status: int, message: str) -> tuple[Headers, bytes]:
    """All malformed requests share one error code; the status is more specific."""
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        refused = unavailable(message)
    else:
        failed = status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.HTTP_VERSION_NOT_SUPPORTED
        refused = Refused(Code.INTERNAL_ERROR if failed else Code.INVALID_REQUEST, message)
    note("refusal", str(refused.code))
    body = json.dumps(body_of(refused, Family.CATALOG)).encode()
    extra = [(name.encode(), value.encode()) for name, value in headers_of(refused)]
    return [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *extra], body
