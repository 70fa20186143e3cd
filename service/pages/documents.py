"""What is served beside operations and pages: the OpenAPI document and its readable form, metrics, the script for other
sites, the icon."""

from http import HTTPStatus

from quart import Response, render_template, request
from quart_trio import QuartTrio

from service.cookies import cookie_name
from service.metrics import CONTENT_TYPE, Metrics
from service.openapi import Described
from service.pages.embed import Embed
from service.pages.guarding import PAGE_HEADERS
from service.pages.reference import chapters
from service.services import Services


def add_documents(app: QuartTrio, services: Services, described: Described, metrics: Metrics) -> None:
    """Route them. Each is public."""

    @app.get("/openapi.json")
    async def openapi() -> Response:
        headers = {"cache-control": "public, max-age=60"}
        return Response(described.text, content_type="application/json", headers=headers)

    @app.get("/metrics")
    async def scrape() -> Response:
        return Response(metrics.page(), content_type=CONTENT_TYPE, headers={"cache-control": "no-store"})

    @app.get("/docs")
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

    @app.get("/favicon.ico")
    async def favicon() -> Response:
        return Response(b"", 301, {"location": "/static/icon.svg"}, content_type="image/svg+xml")

    script = Embed()

    @app.get("/embed.js")
    async def embed() -> Response:
        answer = script.answer(request.headers.get("if-none-match"))
        response = Response(answer.body, answer.status, dict(answer.headers), content_type=answer.content_type)
        if answer.status == HTTPStatus.NOT_MODIFIED:
            del response.headers["content-length"], response.headers["content-type"]
        return response
