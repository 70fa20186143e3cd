"""The views of the Model Context Protocol."""

from collections.abc import Awaitable, Callable, Sequence
from typing import cast

from quart import Response, request

from actors.values import Refused
from service.api.context import Services
from service.api.mcp.endpoint import PATH, Mcp, preflight, refused_message
from service.api.messages import Request
from service.api.operation import Operation
from service.http.asgi import Scope
from service.web.page_views import response_of
from service.web.requests import headers_of, request_of
from service.web.routing import preflight_endpoint

View = Callable[[], Awaitable[Response]]


def mcp_views(services: Services, operations: Sequence[Operation], preflight_seconds: int) -> dict[str, View]:
    """The views of the endpoint by the endpoint's name in the routing."""
    mcp = Mcp(services, operations)

    async def post() -> Response:
        body = cast(bytes, await request.get_data(cache=False))
        return response_of(await mcp.answer(_request(services, body)))

    async def options() -> Response:
        return response_of(preflight(services, _request(services, b""), preflight_seconds))

    return {PATH: post, preflight_endpoint(PATH): options}


def mcp_refusal(services: Services, refused: Refused) -> Response:
    """The response to a request that reaches no view, or whose body cannot be read."""
    return response_of(refused_message(services, refused, _request(services, b"")))


def _request(services: Services, body: bytes) -> Request:
    scope = cast(Scope, request.scope)
    return request_of(scope, headers_of(scope), {}, body, services.proxies)
