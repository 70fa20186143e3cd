"""The request middleware of a node that records traces: a span for each request, without personal data."""

from collections.abc import Mapping
from typing import Any

from actors.tracing import trace_context
from service.api.messages import RequestTrace
from service.http.asgi import Scope
from service.observability.refusal_log import LEFT
from service.observability.tracing import Tracer
from service.web.middleware import INTERNAL_ERROR, RequestMiddleware

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class TracedMiddleware(RequestMiddleware):
    """`RequestMiddleware` with spans, named by operation. `routes` are the path templates of operations by name.

    Attributes follow the semantic conventions of OpenTelemetry for HTTP servers. There is no address, query or header, and
    no path: it may hold an id, or a key in the wrong place.
    """

    def __init__(self, tracer: Tracer, routes: Mapping[str, str], *arguments: Any) -> None:
        super().__init__(*arguments)
        self._tracer = tracer
        self._routes = routes

    def _begin(self, scope: Scope) -> RequestTrace:
        notes = super()._begin(scope)
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
