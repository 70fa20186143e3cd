"""What is served beside the operations: the document, metrics, and the pages that a person sees."""

import json
from collections.abc import Sequence

from quart import Response, abort, redirect, render_template, request
from quart_trio import QuartTrio

from actors.catalog.store import Kind
from service.callers import is_loopback
from service.metrics import CONTENT_TYPE, Metrics
from service.openapi import document
from service.operation import Operation
from service.pages.reference import chapters
from service.services import Services

PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def add_pages(app: QuartTrio, services: Services, operations: Sequence[Operation], metrics: Metrics) -> None:
    """Route the pages. Each is public; `/dev/outbox` exists only without an SMTP server and only for this machine."""
    described = document(operations, services.base_url)
    text = json.dumps(described, indent=1, ensure_ascii=False).encode()

    @app.get("/openapi.json")
    async def openapi() -> Response:
        return Response(text, content_type="application/json", headers={"cache-control": "public, max-age=60"})

    @app.get("/metrics")
    async def scrape() -> Response:
        return Response(metrics.page(), content_type=CONTENT_TYPE, headers={"cache-control": "no-store"})

    @app.get("/")
    async def home() -> Response:
        statistics = services.catalog.statistics()
        counts = {"usecases": statistics.usecases, "bots": statistics.bots}
        newest = services.catalog.snapshot.page(Kind.BOTS, None, 1).documents
        bot_slug = json.loads(newest[0])["slug"] if newest else None
        return await _page("home.html", counts=counts, base_url=services.base_url, bot_slug=bot_slug)

    @app.get("/docs")
    async def docs() -> Response:
        return await _page("docs.html", chapters=chapters(described), base_url=services.base_url)

    @app.get("/claim")
    async def claim() -> Response:
        return await _page("claim.html", base_url=services.base_url)

    @app.get("/favicon.ico")
    async def favicon() -> Response:
        moved: Response = redirect("/static/icon.svg", 301)  # type: ignore[assignment]
        return moved

    if not services.config.mail.smtp_url:

        @app.get("/dev/outbox")
        async def outbox() -> Response:
            if not _from_this_machine():
                abort(404)
            letters = await services.mail.recent(50)
            return await _page("outbox.html", letters=letters)


def _from_this_machine() -> bool:
    """Whether the caller sits at this machine. What a proxy on it hands on does not, trusted or not."""
    forwarded = any(name in request.headers for name in ("forwarded", "x-forwarded-for", "x-real-ip"))
    return not forwarded and is_loopback((request.scope.get("client") or ("", 0))[0])


async def _page(template: str, **values: object) -> Response:
    html = await render_template(template, **values)
    headers = {"content-security-policy": PAGE_POLICY, "cache-control": "no-cache"}
    return Response(html, content_type="text/html; charset=utf-8", headers=headers)
