"""The whole application of a node, made at once. A node makes what is behind the fast path for the first request for it."""

from collections.abc import Sequence

from service.api.context import Services
from service.api.openapi import Described
from service.api.operation import Operation
from service.http.asgi import App
from service.observability.metrics import Metrics
from service.observability.tracing import Tracer
from service.web.app import build_quart
from service.web.compression import Compressor
from service.web.front import behind_front
from service.web.pages.parts.page import Page
from service.web.pages.table import PAGES
from service.web.routing import Routing


def build_app(
    services: Services,
    operations: Sequence[Operation],
    described: Described,
    metrics: Metrics,
    pages: Sequence[Page] = PAGES,
    routing: Routing | None = None,
    tracer: Tracer | None = None,
) -> App:
    """Without `routing`, it is built from `operations` and `pages`."""
    compressor = Compressor()
    app = build_quart(services, operations, described, metrics, compressor, pages, routing)
    return behind_front(app, services, operations, metrics, compressor, tracer)
