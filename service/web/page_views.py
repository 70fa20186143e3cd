"""Pages on Quart: their routes, and what they end in as responses."""

from collections.abc import Awaitable, Callable, Mapping
from typing import cast

from quart import Response, render_template, request
from quart_trio import QuartTrio

from actors.values import Refused
from service.api.answers import refusal
from service.api.context import Services
from service.api.errors import Family
from service.http.asgi import Scope
from service.web.negotiation import wants_page
from service.web.page_pipeline import PAGE_HEADERS, refused_page, visited
from service.web.pages import words
from service.web.pages.page import Page, SeeOther, Template
from service.web.requests import headers_of, request_of


def prepare_templates(app: QuartTrio) -> None:
    """What the templates rely on."""
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters.update(money=words.money, day=words.day, short_day=words.short_day, moment=words.moment)


def page_view(services: Services, page: Page) -> Callable[..., Awaitable[Response]]:
    """What answers requests for the page."""

    async def view(**path_values: str) -> Response:
        body = cast(bytes, await request.get_data(cache=False)) if request.method == "POST" else b""
        scope = cast(Scope, request.scope)
        asked = request_of(scope, headers_of(scope), path_values, body, services.config.server.trusted_proxies)
        ended = await visited(services, page, asked)
        if isinstance(ended, Refused):
            return await refusal_response(services, ended, asked.headers)
        return await response_of(ended)

    return view


async def refusal_response(services: Services, refused: Refused, headers: Mapping[str, str]) -> Response:
    """A refusal of what is no operation: a page for people, JSON for programs."""
    if wants_page(headers):
        response = await response_of(refused_page(services, refused))
    else:
        answer = refusal(refused, Family.CATALOG)
        response = Response(answer.body, answer.status, dict(answer.headers), content_type=answer.content_type)
    response.headers["vary"] = "Accept"
    return response


async def response_of(ended: Template | SeeOther) -> Response:
    """What a page ends in, as a response."""
    if isinstance(ended, SeeOther):
        response = Response(b"", 303, content_type="text/html; charset=utf-8")
        response.headers["location"] = ended.path
    else:
        html = await render_template(ended.template, **ended.values)
        response = Response(html.encode(), ended.status, content_type="text/html; charset=utf-8")
    for name, value in PAGE_HEADERS.items():
        response.headers[name] = value
    for name, value in ended.headers:
        if name == "set-cookie":
            response.headers.add(name, value)
        else:
            response.headers[name] = value
    return response
