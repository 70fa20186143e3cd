"""The fast path: passes hot operations from ASGI to the dispatcher, without a framework.

It takes plain requests only. The application behind it gives the same answers more slowly to all others: other methods
(including HEAD and OPTIONS), paths that are not in the table letter by letter, and a GET with a body.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import trio

from actors.values import Refused
from service.api.context import Services
from service.api.dispatch import dispatch
from service.api.errors import not_valid, too_large
from service.api.messages import Answer, note
from service.api.operation import Operation
from service.api.refusals import failure, refusal_of
from service.http.asgi import BOUNDED, App, Receive, Scope, Send
from service.http.exchange import BODILESS
from service.web.compression import Compressor
from service.web.requests import headers_of, request_of

_PLAIN = re.compile(r"[0-9A-Za-z_-]+")
"""Values of a path parameter that need no decoding."""


@dataclass(frozen=True, slots=True)
class _Route:
    """A hot operation. `reads`: it has a body, of at most `most_bytes`."""

    operation: Operation
    reads: bool
    most_bytes: int


class FastPath:
    """An ASGI application in front of another, which gets all requests that are not hot."""

    def __init__(self, app: App, services: Services, operations: Sequence[Operation], compressor: Compressor) -> None:
        self._app = app
        self._compressor = compressor
        self._services = services
        self._paths = {operation.path for operation in operations}
        # By method and path; operations whose last part is a parameter by method and the path above, with its name.
        self._exact: dict[tuple[str, str], _Route] = {}
        self._below: dict[tuple[str, str], tuple[_Route, str]] = {}
        for operation in operations:
            if operation.hot:
                self._add(operation)

    def _add(self, operation: Operation) -> None:
        most_bytes = self._services.config.http.body_bytes if operation.body_bytes is None else operation.body_bytes
        route = _Route(operation, operation.reads, most_bytes)
        above, _, last = operation.path.rpartition("/")
        assert "{" not in above, f"{operation.name}: only the last part of a hot path may be a parameter"
        if operation.path_names:
            self._below[operation.method, above] = route, last.strip("{}")
        else:
            self._exact[operation.method, operation.path] = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._find(scope)
        if found is None:
            await self._app(scope, receive, send)
            return
        route, path_values = found
        headers = headers_of(scope)
        if not route.reads and ("content-length" in headers or "transfer-encoding" in headers):
            # Some servers hold the connection until the body is read, which this path would not do.
            await self._app(scope, receive, send)
            return
        note("operation", route.operation.name)
        try:
            answer = await self._answer(route, path_values, scope, headers, receive)
        except Exception as error:
            answer = refusal_of(route.operation, failure(route.operation.name, error))
        if answer is not None:
            await _send(answer, send)

    def _find(self, scope: Scope) -> tuple[_Route, Mapping[str, str]] | None:
        """The hot operation of a request and its path values, or None."""
        if scope["type"] != "http" or scope.get("root_path"):
            return None
        method, path = scope["method"], scope["path"]
        route = self._exact.get((method, path))
        if route is not None:
            return route, {}
        above, _, last = path.rpartition("/")
        below = self._below.get((method, above))
        if below is None or path in self._paths or not _PLAIN.fullmatch(last):
            return None
        route, parameter = below
        return route, {parameter: last}

    async def _answer(
        self, route: _Route, path_values: Mapping[str, str], scope: Scope, headers: Mapping[str, str], receive: Receive
    ) -> Answer | None:
        """The answer, or None if the client disconnected before it had sent its request."""
        operation, body = route.operation, b""
        if route.reads:
            if declared_length(headers.get) > route.most_bytes:
                return refusal_of(operation, too_large())
            # The server limits each wait for a body; a second limit here would cost as much as reading it.
            bounded = BOUNDED in scope.get("extensions", ())
            read = await (_read if bounded else self._read_in_time)(receive, route.most_bytes)
            if read is None:
                return None
            if isinstance(read, Refused):
                return refusal_of(operation, read)
            body = read
        request = request_of(scope, headers, path_values, body, self._services.proxies)
        answer = await dispatch(self._services, operation, request)
        # Most programs accept no coding.
        return await self._compressor.encode(answer, headers) if "accept-encoding" in headers else answer

    async def _read_in_time(self, receive: Receive, most_bytes: int) -> bytes | Refused | None:
        """`_read`, or a refusal if it takes too long."""
        with trio.move_on_after(self._services.config.http.request_seconds):
            return await _read(receive, most_bytes)
        return not_valid()


def declared_length(header: Callable[[str, str], str]) -> int:
    """The declared length of the body in bytes; 0 if it is unknown. `header` gets a header, or the text beside its name."""
    length = header("content-length", "").partition(",")[0].strip()
    if not (length.isascii() and length.isdigit()) or "chunked" in header("transfer-encoding", "").lower():
        return 0
    return int(length[:20])


async def _read(receive: Receive, most_bytes: int) -> bytes | Refused | None:
    """The body, a refusal if it is too large, or None if the client disconnected."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part = message.get("body", b"")
        size += len(part)
        if size > most_bytes:
            return too_large()
        if not message.get("more_body", False):
            return b"".join((*parts, part)) if parts else part
        parts.append(part)


async def _send(answer: Answer, send: Send) -> None:
    headers: list[tuple[bytes, bytes]] = []
    if answer.status not in BODILESS:
        headers = [(b"content-type", answer.content_type.encode()), (b"content-length", b"%d" % len(answer.body))]
    headers += [(name.encode(), value.encode()) for name, value in answer.headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})
