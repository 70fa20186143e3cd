"""The Quart-Trio application: a route for every operation, page and document, and the error handlers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import trio
from quart import Response, abort, request
from quart_trio import QuartTrio
from quart_trio.asgi import TrioASGIHTTPConnection
from quart_trio.wrappers import TrioRequest
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from actors.values import Code, Refused
from service.api.context import Services
from service.api.cors import SHARED, preflight_headers
from service.api.dispatch import Pipeline
from service.api.errors import Family, internal_error, not_valid, too_large
from service.api.mcp.endpoint import PATH as MCP_PATH
from service.api.mcp.endpoint import SLASHED as MCP_SLASHED
from service.api.messages import Answer, Headers, note
from service.api.openapi import Described
from service.api.operation import Operation
from service.api.refusals import failure, refusal, refusal_of
from service.http.asgi import App, Scope
from service.observability.metrics import Metrics
from service.observability.tracing import Tracer
from service.web.compression import Compressor
from service.web.documents import document_views, is_published
from service.web.fast_path import FastPath, declared_length
from service.web.mcp import mcp_refusal, mcp_views
from service.web.middleware import Hsts, RequestMiddleware, TracedMiddleware
from service.web.page_views import page_view, prepare_templates, refusal_response, response_of
from service.web.pages.parts.page import Page
from service.web.pages.table import PAGES
from service.web.representations import StreamedResponse, send_stream
from service.web.requests import headers_of, request_of
from service.web.routing import (
    PUBLISHED_PREFLIGHT,
    STATIC,
    Routing,
    called_from_elsewhere,
    page_endpoint,
    preflight_endpoint,
)
from service.web.static_files import StaticFiles, static_files

View = Callable[..., Awaitable[Response]]

RESPONSE_SECONDS = 60.0
PREFLIGHT_SECONDS = 86_400


class ShieldedConnection(TrioASGIHTTPConnection):
    """Finishes a response even if the server sends `http.disconnect` during its own clean-up.

    Without the shield, that message cancels the clean-up, and connections that should close stay open. A streamed response
    is not shielded: it ends when its client leaves.
    """

    async def _send_response(self, send: Any, response: Any) -> None:
        if isinstance(response, StreamedResponse):
            await send_stream(response, self.scope["method"], send)
            return
        with trio.move_on_after(RESPONSE_SECONDS, shield=True):
            await super()._send_response(send, response)


def build_app(
    services: Services,
    operations: Sequence[Operation],
    described: Described,
    metrics: Metrics,
    pages: Sequence[Page] = PAGES,
    routing: Routing | None = None,
    tracer: Tracer | None = None,
) -> App:
    """The ASGI application of a node. Without `routing`, it is built from `operations` and `pages`."""
    # Quart serves no files: `static_files` has them in memory.
    app = QuartTrio("service.web", template_folder="templates", static_folder=None)
    compressor = Compressor()
    app.asgi_http_class = ShieldedConnection
    bodies = {each.path: each.body_bytes for each in operations if each.body_bytes is not None}
    app.request_class = _bounded(bodies | {each.path: each.body_bytes for each in pages if each.body_bytes is not None})
    app.config["MAX_CONTENT_LENGTH"] = services.config.http.body_bytes
    app.config["BODY_TIMEOUT"] = services.config.http.request_seconds
    app.config["RESPONSE_TIMEOUT"] = RESPONSE_SECONDS
    prepare_templates(app, services.config.site)
    routing = routing or Routing.of(operations, pages)
    app.url_map = routing.url_map
    app.view_functions |= {
        **{operation.name: _operation_view(services, operation, compressor) for operation in operations},
        **{
            preflight_endpoint(path): _preflight_view(services, path, operations)
            for path in called_from_elsewhere(operations)
        },
        **document_views(services, described, metrics, compressor),
        **{page_endpoint(page): page_view(services, page, compressor) for page in pages},
        STATIC: _static_view(static_files()),
        PUBLISHED_PREFLIGHT: _preflight_of(services, "GET, HEAD", []),
    }
    app.view_functions |= mcp_views(services, operations, PREFLIGHT_SECONDS)
    assert app.view_functions.keys() == routing.endpoints, "each rule has a view, and each view a rule"
    _refuse_doubled_slash(app)
    _share_published(app)
    _add_errors(app, services, {operation.name: operation for operation in operations})
    fast_path = FastPath(services, operations, compressor)
    return request_middleware(cast(App, app), services, metrics, operations, tracer, fast_path)


def request_middleware(
    app: App,
    services: Services,
    metrics: Metrics,
    operations: Sequence[Operation],
    tracer: Tracer | None,
    fast_path: FastPath | None = None,
) -> RequestMiddleware:
    """The middleware of a node around `app`. It records spans if there is a `tracer`."""
    routes = {operation.name: operation.path for operation in operations}
    kind = RequestMiddleware if tracer is None else partial(TracedMiddleware, tracer, routes)
    return kind(
        app,
        metrics,
        services.refusal_log,
        services.entropy,
        Hsts.of(services.config.server),
        services.proxies,
        lambda: services.health.stopping,
        fast_path,
    )


def _bounded(limits: Mapping[str, int]) -> type[TrioRequest]:
    """A request class with body limits in bytes by path, whose last part may be a parameter. Quart itself has one limit for
    all paths."""
    by_parent = {path.rpartition("/")[0]: most for path, most in limits.items() if path.endswith("}")}

    class BoundedRequest(TrioRequest):
        def __init__(self, method: str, scheme: str, path: str, *rest: Any, **named: Any) -> None:
            most = limits.get(path) or by_parent.get(path.rpartition("/")[0])
            named["max_content_length"] = most or named.get("max_content_length")
            super().__init__(method, scheme, path, *rest, **named)

        @property
        def content_length(self) -> int | None:
            """The declared length, as the fast path reads it. Werkzeug's own would split a long Transfer-Encoding."""
            return declared_length(self.headers.get)

    return BoundedRequest


def _operation_view(services: Services, operation: Operation, compressor: Compressor) -> View:
    pipeline = Pipeline(services, operation)

    async def view(**path_values: str) -> Response:
        note("operation", operation.name)
        body = cast(bytes, await request.get_data(cache=False)) if operation.reads else b""
        scope = cast(Scope, request.scope)
        call = request_of(scope, headers_of(scope), path_values, body, services.proxies)
        return response_of(await compressor.encode(await pipeline.answer(call), call.headers))

    return view


def _static_view(files: StaticFiles) -> View:
    async def view(filename: str) -> Response:
        answer = await files.answer(filename, headers_of(cast(Scope, request.scope)))
        return abort(404) if answer is None else response_of(answer)

    return view


def _preflight_view(services: Services, path: str, operations: Sequence[Operation]) -> View:
    """CORS preflight: pages of other sites may call these operations, without credentials."""
    methods = ", ".join(operation.method for operation in operations if operation.path == path)

    return _preflight_of(services, methods, [*SHARED])


def _preflight_of(services: Services, methods: str, more: Headers) -> View:
    async def view(**_: str) -> Response:
        scope = cast(Scope, request.scope)
        asked = request_of(scope, headers_of(scope), {}, b"", services.proxies)
        return response_of(Answer(204, headers=[*preflight_headers(asked, methods, PREFLIGHT_SECONDS), *more]))

    return view


def _share_published(app: QuartTrio) -> None:
    """Let pages of other sites load the public documents, whatever the answer."""

    @app.after_request
    async def share(response: Response) -> Response:
        if is_published(request.path):
            for name, value in SHARED:
                response.headers[name] = value
        return response


def _refuse_doubled_slash(app: QuartTrio) -> None:
    """Answer 404 to `//metrics`: Werkzeug routes it as `/metrics`, which a proxy may guard."""

    @app.before_request
    async def refuse() -> None:
        if _doubled():
            abort(404)


def _doubled() -> bool:
    return bool(request.scope["path"].startswith("//"))


def _add_errors(app: QuartTrio, services: Services, operations: Mapping[str, Operation]) -> None:
    async def respond(refused: Refused) -> Response:
        """The response in the format of the operation, or of the path if it has none."""
        operation = operations.get(request.endpoint or "")
        if operation is not None and not _doubled():
            return response_of(refusal_of(operation, refused))
        if request.path.startswith("/api/"):
            return response_of(refusal(refused, family_of(request.path)))
        if request.path in (MCP_PATH, MCP_SLASHED):
            return mcp_refusal(services, refused)
        return await refusal_response(services, refused, headers_of(cast(Scope, request.scope)))

    @app.errorhandler(HTTPException)
    async def on_http_error(error: HTTPException) -> Response:
        response = await respond(_refused(error))
        if isinstance(error, MethodNotAllowed) and error.valid_methods:
            response.headers["allow"] = ", ".join(sorted(error.valid_methods))
        return response

    @app.errorhandler(Exception)
    async def on_bug(error: Exception) -> Response:
        return await respond(failure("a page", error))


def family_of(path: str) -> Family:
    """The error format for a path that belongs to no operation."""
    if path.startswith(("/api/v1/sponsors", "/api/v1/admin")):
        return Family.SPONSORSHIP
    return Family.CATALOG


def _refused(error: HTTPException) -> Refused:
    match error.code:
        case 404:
            return Refused(Code.NOT_FOUND, "There is nothing at this address.")
        case 405:
            return Refused(Code.METHOD_NOT_ALLOWED, "This address does not support this method.")
        case 413:
            return too_large()
        case 415:
            return Refused(Code.UNSUPPORTED_MEDIA_TYPE, "This content type is not supported.")
        case code if code is not None and code >= 500:
            return internal_error()
        case _:
            return not_valid()
