"""What is served beside the operations: the document, metrics, and the pages that a person sees."""

import json
from http import HTTPStatus
from typing import cast
from urllib.parse import parse_qsl

from quart import Response, abort, redirect, render_template, request
from quart_trio import QuartTrio

from actors.catalog.store import Kind
from service.callers import is_loopback
from service.metrics import CONTENT_TYPE, Metrics
from service.openapi import Described
from service.pages.checkout import Shown, acted, checkout, receipt
from service.pages.embed import Embed
from service.pages.reference import chapters
from service.services import Services

PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def add_pages(app: QuartTrio, services: Services, described: Described, metrics: Metrics) -> None:
    """Route the pages. Each is public; `/dev/outbox` exists only without an SMTP server and only for this machine."""

    @app.get("/openapi.json")
    async def openapi() -> Response:
        headers = {"cache-control": "public, max-age=60"}
        return Response(described.text, content_type="application/json", headers=headers)

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
        return await _page("docs.html", chapters=chapters(described.document), base_url=services.base_url)

    @app.get("/claim")
    async def claim() -> Response:
        return await _page("claim.html", base_url=services.base_url)

    @app.get("/favicon.ico")
    async def favicon() -> Response:
        moved: Response = redirect("/static/icon.svg", 301)  # type: ignore[assignment]
        return moved

    _add_embed(app)
    _add_booking_pages(app, services)
    if not services.config.mail.smtp_url:

        @app.get("/dev/outbox")
        async def outbox() -> Response:
            if not _from_this_machine():
                abort(404)
            letters = await services.mail.recent(50)
            return await _page("outbox.html", letters=letters)


def _add_embed(app: QuartTrio) -> None:
    """The script for other sites."""
    script = Embed()

    @app.get("/embed.js")
    async def embed() -> Response:
        answer = script.answer(request.headers.get("if-none-match"))
        response = Response(answer.body, answer.status, dict(answer.headers), content_type=answer.content_type)
        if answer.status == HTTPStatus.NOT_MODIFIED:
            del response.headers["content-length"], response.headers["content-type"]
        return response


def _add_booking_pages(app: QuartTrio, services: Services) -> None:
    """Pages behind sealed links. Who has no right link is told what who has a wrong address is told."""

    @app.get("/checkout/<token>")
    async def show_checkout(token: str) -> Response:
        return await _booking_page(await checkout(services, token))

    @app.post("/checkout/<token>")
    async def act_on_checkout(token: str) -> Response:
        body = cast(bytes, await request.get_data(cache=False))
        try:
            action = dict(parse_qsl(body.decode("ascii"), max_num_fields=20)).get("action")
        except ValueError:
            action = None
        if action not in ("pay", "cancel"):
            abort(400)
        return await _booking_page(await acted(services, token, action))

    @app.get("/receipt/<token>")
    async def show_receipt(token: str) -> Response:
        return await _booking_page(await receipt(services, token))

    @app.get("/checkout-cancelled")
    async def checkout_cancelled() -> Response:
        return await _page("checkout_cancelled.html")


async def _booking_page(shown: Shown | None) -> Response:
    if shown is None:
        abort(404)
    response = await _page(shown.template, **shown.values)
    response.headers["cache-control"] = "no-store"
    return response


def _from_this_machine() -> bool:
    """Whether the caller sits at this machine. What a proxy on it hands on does not, trusted or not."""
    forwarded = any(name in request.headers for name in ("forwarded", "x-forwarded-for", "x-real-ip"))
    return not forwarded and is_loopback((request.scope.get("client") or ("", 0))[0])


async def _page(template: str, **values: object) -> Response:
    html = await render_template(template, **values)
    headers = {"content-security-policy": PAGE_POLICY, "cache-control": "no-cache"}
    return Response(html, content_type="text/html; charset=utf-8", headers=headers)
