"""The middleware around every request: request id, access log, metrics, and the headers of all responses."""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from http import HTTPStatus
from operator import itemgetter
from typing import Any
from urllib.parse import quote

import trio

from actors.clock import Entropy
from actors.kernel.mailbox import request_id, trace_context
from service.api.messages import Answer, RequestTrace, trace
from service.config.deployment import is_public
from service.config.process import Server
from service.http.addresses import Networks
from service.http.asgi import App, BegunHeaders, Headers, Message, Receive, Scope, Send, SharedFields
from service.http.exchange import BODILESS, FRAMED
from service.observability.client_address import Proxies
from service.observability.logs import Line, masked
from service.observability.metrics import Metrics
from service.observability.refusal_log import LEFT, RefusalLog
from service.observability.tracing import HEADER, Tracer, caller_of
from service.web.fast_path import FastPath
from service.web.requests import headers_of

log = logging.getLogger("service.access")

PATH_CHARACTERS = 200
"""The longest path in the access log, after percent-encoding."""
_PLAIN = "/:@!$&'()*+,;=~"
"""Characters of paths that are not encoded, besides letters, digits and `_.-`."""

# Numbers, because members are slow to look up.
FAILED = HTTPStatus.BAD_REQUEST.value
INTERNAL_ERROR = HTTPStatus.INTERNAL_SERVER_ERROR.value

REQUEST_ID = b"x-request-id"
_GIVEN, _CALLED = REQUEST_ID.decode(), HEADER.decode()
_HARMLESS = re.compile(rb"[0-9A-Za-z._-]{1,64}")

ID_BYTES = 12
IDS_AT_ONCE = 64

SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)
API_POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
COMMON = (*SECURITY_HEADERS, API_POLICY)
_NAME = itemgetter(0)

OF_ONE_ANSWER = frozenset({"etag", "link", "ratelimit", "retry-after"})
"""Headers whose values hardly any other answer has."""
REMEMBERED_HEADERS = 64
"""Sets of headers that are remembered, about a kilobyte each."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Hsts:
    """Tells browsers to use HTTPS only (RFC 6797), where people come by HTTPS: to our own listener, or to a trusted proxy."""

    seconds: int
    trusted_proxies: Networks = field(default_factory=Networks)

    @classmethod
    def of(cls, server: Server) -> "Hsts":
        """Of a service whose base URL is https. On this machine, browsers would forbid HTTP to all ports."""
        wanted = server.base_url.startswith("https:") and is_public(server.base_url)
        return cls(server.hsts_seconds if wanted else 0, Networks(server.trusted_proxies))

    @property
    def header(self) -> tuple[bytes, bytes]:
        return b"strict-transport-security", b"max-age=%d" % self.seconds

    def holds(self, scope: Scope) -> bool:
        """Whether a response carries the header."""
        if not self.seconds:
            return False
        if scope["scheme"] == "https":
            return True
        peer = (scope.get("client") or ("", 0))[0]
        return peer in self.trusted_proxies and (b"x-forwarded-proto", b"https") in scope["headers"]


NO_HSTS = Hsts(0)


class RequestMiddleware:
    """An ASGI application around another, which gets the requests that the fast path does not answer. `stopping` returns
    whether the node is shutting down."""

    def __init__(
        self,
        app: App,
        metrics: Metrics,
        refusals: RefusalLog,
        entropy: Entropy,
        hsts: Hsts,
        proxies: Proxies,
        stopping: Callable[[], bool] = lambda: False,
        fast_path: FastPath | None = None,
    ) -> None:
        self._hsts = hsts
        self._proxies = proxies
        self._app = app
        self._fast_path = fast_path
        self._stopping = stopping
        self._metrics = metrics
        self._refusals = refusals
        self._entropy = entropy
        self._ids: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            # WebSockets are not supported. The client of a connection closed before it was accepted sees a 403.
            await receive()
            await send({"type": "websocket.close", "code": 1000})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = headers_of(scope)
        notes = self._begin(scope, headers)
        started = trio.current_time()
        response = _Response(send, partial(self._complete, scope, notes))
        try:
            found = None if self._fast_path is None else self._fast_path.find(scope, headers)
            if self._fast_path is None or found is None:
                await self._app(scope, receive, response.send)
            elif (answer := await self._fast_path.answer(found, scope, headers, receive, notes)) is not None:
                await response.send_whole(answer)
        except Exception:
            if response.status == LEFT:
                response.status = INTERNAL_ERROR  # the server sends this
            raise
        finally:
            self._end(scope, notes, notes.status or response.status, trio.current_time() - started)

    def _begin(self, scope: Scope, headers: Mapping[str, str]) -> RequestTrace:
        """The notes of a request, whose ids stand in all log lines from here on."""
        notes = RequestTrace((_GIVEN in headers and _given_id(scope["headers"])) or self._new_id())
        trace.set(notes)
        request_id.set(notes.request_id)
        trace_context.set(caller_of(scope["headers"]) if _CALLED in headers else None)
        return notes

    def _complete(self, scope: Scope, notes: RequestTrace, headers: Headers) -> None:
        """Add the headers that depend on the request."""
        headers.append((REQUEST_ID, notes.request_id.encode()))
        if self._hsts.holds(scope):
            headers.append(self._hsts.header)
        if self._stopping() and scope["http_version"] in ("1.0", "1.1"):
            # The client then sends no further request into a connection that is about to close.
            headers.append((b"connection", b"close"))

    def _end(self, scope: Scope, notes: RequestTrace, status: int, seconds: float) -> None:
        self._metrics.answered(notes.operation or "other", status, seconds, notes.refusal)
        if status >= FAILED:
            self._refusals.refused(notes.operation or "other", notes.refusal or "-", status)
        self._log(scope, notes, status, seconds)

    def _new_id(self) -> str:
        if not self._ids:
            # Random bytes cost one system call, so a call fetches many ids.
            fresh = self._entropy.token(ID_BYTES * IDS_AT_ONCE).hex()
            self._ids = [fresh[at : at + 2 * ID_BYTES] for at in range(0, len(fresh), 2 * ID_BYTES)]
        return self._ids.pop()

    def _log(self, scope: Scope, notes: RequestTrace, status: int, seconds: float) -> None:
        if not log.isEnabledFor(logging.INFO):
            return
        facts = {
            "status": status,
            "ms": round(seconds * 1000, 2),
            "operation": notes.operation or "-",
            "caller": notes.caller or "-",
            "refusal": notes.refusal or "-",
            # A request that ended before it reached an operation or a page has no client noted.
            "client": notes.client or self._proxies.client_of((scope.get("client") or ("-", 0))[0], headers_of(scope)),
        }
        # Queries may hold personal data, so only the path is logged. It is encoded again: a decoded space would separate
        # fields, and an escape in the client's own spelling could hide a key from `masked`.
        path = quote(scope["path"][:PATH_CHARACTERS], safe=_PLAIN, errors="replace")[:PATH_CHARACTERS]
        log.handle(Line(log.name, f"{scope['method']} {path}", facts))


def _given_id(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The client's first X-Request-Id that is harmless. The log and the audit keep it."""
    for name, value in headers:
        if name == REQUEST_ID and _HARMLESS.fullmatch(value):
            text = str(value, "ascii")
            if masked(text) == text:
                return text
    return None


def _with_common(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Headers, and those of all responses that are not among them; those of one answer last. ASGI requires names in lower
    case."""
    present = {name for name, _ in headers}
    added = (pair for pair in COMMON if pair[0] not in present)
    return sorted([*headers, *added], key=_is_of_one_answer)


def _is_of_one_answer(header: tuple[bytes, bytes]) -> bool:
    return header[0].decode("latin-1") in OF_ONE_ANSWER


@lru_cache(REMEMBERED_HEADERS)
def _shared(content_type: str, headers: tuple[tuple[str, str], ...]) -> SharedFields:
    """The headers of all answers of the fast path that have this type and these headers among theirs. A body has a type."""
    named = (("content-type", content_type), *headers) if content_type else headers
    fields = SharedFields(_with_common([(name.encode(), value.encode()) for name, value in named]))
    assert FRAMED.isdisjoint(map(_NAME, fields)), "the server frames the body"
    return fields


class _Response:
    """Sends the response to one request. `complete` adds headers to it."""

    __slots__ = ("_complete", "_send", "status")

    def __init__(self, send: Send, complete: Callable[[Headers], None]) -> None:
        self.status = LEFT
        self._send = send
        self._complete = complete

    async def send(self, message: Message) -> None:
        """Send a message of an application."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = _with_common(message.get("headers", ()))
            self._complete(message["headers"])
        await self._send(message)

    async def send_whole(self, answer: Answer) -> None:
        """Send an answer of the fast path."""
        content_type = "" if answer.status in BODILESS else answer.content_type
        common = tuple([each for each in answer.headers if each[0] not in OF_ONE_ANSWER])
        headers: Headers = BegunHeaders(_shared(content_type, common))
        if len(common) < len(answer.headers):
            headers += [(name.encode(), value.encode()) for name, value in answer.headers if name in OF_ONE_ANSWER]
        if content_type:
            headers.append((b"content-length", b"%d" % len(answer.body)))
        self._complete(headers)
        self.status = answer.status
        await self._send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await self._send({"type": "http.response.body", "body": answer.body, "more_body": False})


class TracedMiddleware(RequestMiddleware):
    """`RequestMiddleware` with spans, named by operation. `routes` are the path templates of operations by name.

    Attributes follow the semantic conventions of OpenTelemetry for HTTP servers. There is no address, query or header, and
    no path: it may hold an id, or a key in the wrong place.
    """

    def __init__(self, tracer: Tracer, routes: Mapping[str, str], *arguments: Any) -> None:
        super().__init__(*arguments)
        self._tracer = tracer
        self._routes = routes

    def _begin(self, scope: Scope, headers: Mapping[str, str]) -> RequestTrace:
        notes = super()._begin(scope, headers)
        notes.span = self._tracer.begin(trace_context.get())
        if notes.span is not None:
            trace_context.set(notes.span.context)
        return notes

    def _end(self, scope: Scope, notes: RequestTrace, status: int, seconds: float) -> None:
        super()._end(scope, notes, status, seconds)
        if notes.span is None:
            return
        method = scope["method"]
        attributes: dict[str, str | int] = {
            "http.request.method": method if method in METHODS else "_OTHER",
            "http.response.status_code": status,
            "url.scheme": scope["scheme"],
            "network.protocol.version": scope["http_version"],
        }
        if notes.operation in self._routes:
            attributes["http.route"] = self._routes[notes.operation]
        if notes.refusal:
            attributes["catalog.error_code"] = notes.refusal
        failed = status >= INTERNAL_ERROR
        if failed or status == LEFT:
            attributes["error.type"] = notes.refusal or str(status)
        notes.span.end(notes.operation or "other", attributes, failed=failed)
