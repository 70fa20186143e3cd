"""What is served beside operations and pages: the OpenAPI document and its readable form, metrics, the script for other
sites, the icon."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from quart import Response, render_template, request

from service.api.context import Services
from service.api.cookies import cookie_name
from service.api.openapi import Described
from service.observability.metrics import CONTENT_TYPE, Metrics
from service.web.embed import Embed
from service.web.page_pipeline import PAGE_HEADERS
from service.web.reference import chapters

DOCUMENTS = ("/openapi.json", "/metrics", "/docs", "/favicon.ico", "/embed.js")
"""Their paths. Each is public."""


def document_views(
    services: Services, described: Described, metrics: Metrics
) -> dict[str, Callable[[], Awaitable[Response]]]:
    """What answers each, by its path."""

    async def openapi() -> Response:
        headers = {"cache-control": "public, max-age=60"}
        return Response(described.text, content_type="application/json", headers=headers)

    async def scrape() -> Response:
        return Response(metrics.page(), content_type=CONTENT_TYPE, headers={"cache-control": "no-store"})

    async def docs() -> Response:
        html = await render_template(
            "docs.html",
            chapters=chapters(described.document),
            base_url=services.base_url,
            cookie=cookie_name(services.base_url),
            unknown=True,
            here="/docs",
        )
        return Response(html, content_type="text/html; charset=utf-8", headers=PAGE_HEADERS)

    async def favicon() -> Response:
        return Response(b"", 301, {"location": "/static/icon.svg"}, content_type="image/svg+xml")

    script = Embed()

    async def embed() -> Response:
        answer = script.answer(request.headers.get("if-none-match"))
        response = Response(answer.body, answer.status, dict(answer.headers), content_type=answer.content_type)
        if answer.status == HTTPStatus.NOT_MODIFIED:
            del response.headers["content-length"], response.headers["content-type"]
        return response

    views = (openapi, scrape, docs, favicon, embed)
    return dict(zip(DOCUMENTS, views, strict=True))
