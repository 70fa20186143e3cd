"""The fast path: passes hot operations from ASGI to the dispatcher, without a framework.

It takes plain requests only. Quart gives the same answers more slowly to all others: other methods (including HEAD and
OPTIONS), paths that are not in the table letter by letter, and a GET with a body.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import trio

from actors.values import Refused
from service.api.context import Services
from service.api.dispatch import Pipeline
from service.api.errors import not_valid, too_large
from service.api.messages import Answer, RequestTrace
from service.api.operation import Operation
from service.api.refusals import failure, refusal_of
from service.http.asgi import BOUNDED, Receive, Scope
from service.web.compression import Compressor
from service.web.requests import request_of

_PLAIN = re.compile(r"[0-9A-Za-z_-]+")
"""Values of a path parameter that need no decoding."""

_BODY = frozenset(("content-length", "transfer-encoding"))
"""Headers of a request that has a body."""


@dataclass(frozen=True, slots=True)
class _Route:
    """A hot operation. `reads`: it has a body, of at most `most_bytes`."""

    operation: Operation
    pipeline: Pipeline
    reads: bool
    most_bytes: int


Found = tuple[_Route, Mapping[str, str]]
"""A hot operation, and the values of its path's parameters."""


class FastPath:
    """Finds and answers hot operations."""

    def __init__(self, services: Services, operations: Sequence[Operation], compressor: Compressor) -> None:
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
        route = _Route(operation, Pipeline(self._services, operation), operation.reads, most_bytes)
        above, _, last = operation.path.rpartition("/")
        assert "{" not in above, f"{operation.name}: only the last part of a hot path may be a parameter"
        if operation.path_names:
            self._below[operation.method, above] = route, last.strip("{}")
        else:
            self._exact[operation.method, operation.path] = route

    def find(self, scope: Scope, headers: Mapping[str, str]) -> Found | None:
        """The hot operation of an HTTP request, or None."""
        if scope.get("root_path"):
            return None
        found: Found | None
        method, path = scope["method"], scope["path"]
        route = self._exact.get((method, path))
        found = (route, {}) if route is not None else self._find_below(method, path)
        if found is not None and not found[0].reads and not _BODY.isdisjoint(headers):
            # Some servers hold the connection until the body is read, which this path would not do.
            return None
        return found

    def _find_below(self, method: str, path: str) -> Found | None:
        above, _, last = path.rpartition("/")
        below = self._below.get((method, above))
        if below is None or path in self._paths or not _PLAIN.fullmatch(last):
            return None
        route, parameter = below
        return route, {parameter: last}

    async def answer(
        self, found: Found, scope: Scope, headers: Mapping[str, str], receive: Receive, notes: RequestTrace
    ) -> Answer | None:
        """The answer, or None if the client disconnected before it had sent its request."""
        route, path_values = found
        notes.operation = route.operation.name
        try:
            body = await self._body(route, scope, headers, receive) if route.reads else b""
            if body is None:
                return None
            if isinstance(body, Refused):
                return refusal_of(route.operation, body)
            answer = await route.pipeline.answer(request_of(scope, headers, path_values, body, self._services.proxies))
            # Most programs accept no coding.
            return await self._compressor.encode(answer, headers) if "accept-encoding" in headers else answer
        except Exception as error:
            return refusal_of(route.operation, failure(route.operation.name, error))

    async def _body(
        self, route: _Route, scope: Scope, headers: Mapping[str, str], receive: Receive
    ) -> bytes | Refused | None:
        """The body, a refusal if it is too large or late, or None if the client disconnected."""
        if declared_length(headers.get) > route.most_bytes:
            return too_large()
        if BOUNDED in scope.get("extensions", ()):
            # The server limits each wait for a body; a second limit here would cost as much as reading it.
            return await _read(receive, route.most_bytes)
        with trio.move_on_after(self._services.config.http.request_seconds):
            return await _read(receive, route.most_bytes)
        return not_valid()


def declared_length(header: Callable[[str, str], str]) -> int:
    """The declared length of the body in bytes; 0 if it is unknown. `header` gets a header, or the text beside its name."""
    return _length(header("content-length", ""), header("transfer-encoding", ""))


@lru_cache(256)
def _length(length: str, coding: str) -> int:
    length = length.partition(",")[0].strip()
    if not (length.isascii() and length.isdigit()) or "chunked" in coding.lower():
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
