"""The documents beside operations and pages: OpenAPI, its readable reference, metrics, the embed script, and the icon.

The large ones, OpenAPI and its reference, are rendered once, and all responses share their bytes. They count as pages for
the limit of an address. The others have no limit, because each costs less than a page that is refused.
"""

from collections.abc import Awaitable, Callable
from typing import cast

from quart import Response, abort, render_template, request

from service.api.context import Services
from service.api.cookies import cookie_name
from service.api.errors import too_fast
from service.api.openapi import Described
from service.http.asgi import Scope
from service.observability.metrics import CONTENT_TYPE, Metrics
from service.web.discovery.documents import PATHS as DISCOVERY
from service.web.discovery.documents import discovery_views
from service.web.embed import Embed
from service.web.page_pipeline import PAGE_HEADERS
from service.web.page_views import refusal_response, response_of
from service.web.reference import chapters
from service.web.requests import headers_of, request_of

DOCUMENTS = ("/openapi.json", "/metrics", "/docs", "/favicon.ico", "/embed.js", *DISCOVERY)
"""The paths of the documents. All are public."""

View = Callable[..., Awaitable[Response]]


def document_views(services: Services, described: Described, metrics: Metrics) -> dict[str, View]:
    """The view of each document by its path."""

    async def openapi() -> Response:
        headers = {"cache-control": "public, max-age=60"}
        return Response(described.text, content_type="application/json", headers=headers)

    async def scrape() -> Response:
        if services.config.server.ops_bind:
            abort(404)  # operators have a listener of their own
        return Response(metrics.page(), content_type=CONTENT_TYPE, headers={"cache-control": "no-store"})

    reference: list[bytes] = []

    async def docs() -> Response:
        if not reference:
            html = await render_template(
                "docs.html",
                chapters=chapters(described.document),
                base_url=services.base_url,
                cookie=cookie_name(services.base_url),
                unknown=True,
                here="/docs",
            )
            reference.append(html.encode())
        return Response(reference[0], content_type="text/html; charset=utf-8", headers=PAGE_HEADERS)

    async def favicon() -> Response:
        return Response(b"", 301, {"location": "/static/icon.svg"}, content_type="image/svg+xml")

    script = Embed()

    async def embed() -> Response:
        return response_of(script.answer(request.headers.get("if-none-match")))

    found = discovery_views(services, _counted).values()
    views = (_counted(services, openapi), scrape, _counted(services, docs), favicon, embed, *found)
    return dict(zip(DOCUMENTS, views, strict=True))


def _counted(services: Services, view: View) -> View:
    """The view of a large document, which counts as a page."""

    async def counted(**path_values: str) -> Response:
        scope = cast(Scope, request.scope)
        headers = headers_of(scope)
        client = request_of(scope, headers, {}, b"", services.proxies).client
        refused = too_fast(services.budgets.page(client))
        return await view(**path_values) if refused is None else await refusal_response(services, refused, headers)

    return counted
