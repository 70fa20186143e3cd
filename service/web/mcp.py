"""The views of the Model Context Protocol."""

from collections.abc import Awaitable, Callable
from typing import cast

from quart import Response, request

from actors.values import Refused
from service.api.context import Services
from service.api.mcp.endpoint import Mcp
from service.api.messages import Request
from service.http.asgi import Scope
from service.web.page_views import response_of
from service.web.requests import headers_of, request_of

View = Callable[[], Awaitable[Response]]


class McpViews:
    """The views of the endpoint, and its response to requests that reach neither."""

    def __init__(self, services: Services, mcp: Mcp, preflight_seconds: int) -> None:
        self._services = services
        self._mcp = mcp
        self._preflight_seconds = preflight_seconds

    async def post(self) -> Response:
        body = cast(bytes, await request.get_data(cache=False))
        return response_of(await self._mcp.answer(self._request(body)))

    async def preflight(self) -> Response:
        return response_of(self._mcp.preflight(self._request(b""), self._preflight_seconds))

    def refused(self, refused: Refused) -> Response:
        return response_of(self._mcp.refused(refused, self._request(b"")))

    def _request(self, body: bytes) -> Request:
        scope = cast(Scope, request.scope)
        return request_of(scope, headers_of(scope), {}, body, self._services.proxies)
