"""The front of a node: the middleware and the fast path around all else, which a thread loads for the first request for it.

Quart, its libraries and the pages take a third of the memory and of the time of a start. A node that serves the API alone
never loads them.
"""

from collections.abc import Callable, Sequence
from functools import partial

import trio

from service.api.context import Services
from service.api.operation import Operation
from service.http.asgi import App, Receive, Scope, Send
from service.observability.metrics import Metrics
from service.observability.tracing import Tracer
from service.web.compression import Compressor
from service.web.fast_path import FastPath
from service.web.middleware import Hsts, RequestMiddleware, TracedMiddleware


class OnDemand:
    """An ASGI application that `make` makes for its first request. Others wait meanwhile, and the event loop goes on."""

    def __init__(self, make: Callable[[], App]) -> None:
        self._make = make
        self._made: App | None = None
        self._making = trio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._made or await self._first()
        await app(scope, receive, send)

    async def _first(self) -> App:
        async with self._making:
            if self._made is None:
                self._made = await trio.to_thread.run_sync(self._make)
        return self._made


def behind_front(
    app: App,
    services: Services,
    operations: Sequence[Operation],
    metrics: Metrics,
    compressor: Compressor,
    tracer: Tracer | None,
) -> RequestMiddleware:
    """The application of a node: hot operations on the fast path, and `app` for all else."""
    fast_path = FastPath(services, operations, compressor)
    return request_middleware(app, services, metrics, operations, tracer, fast_path)


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
