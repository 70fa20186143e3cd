"""Pages on Quart: their views, templates and responses."""

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from functools import lru_cache
from http import HTTPStatus
from typing import Any, cast

import trio
from jinja2 import Environment, PackageLoader, pass_context
from jinja2.runtime import Context
from quart import Response, current_app, request
from quart_trio import QuartTrio

from actors.shared import dates
from actors.shared.browsers import browser
from actors.values import Refused
from service.api.context import Services
from service.api.cookies import SAFE, SESSION
from service.api.dispatch import dispatch
from service.api.encodings import IDENTITY, VARY
from service.api.errors import Family
from service.api.messages import Answer, note
from service.api.refusals import refusal
from service.config.sections import SiteSection
from service.http.asgi import Scope
from service.terminal.output import duration
from service.web.compression import Compressor
from service.web.page_pipeline import FORMS, PAGE_HEADERS, PAGE_POLICY, handle_page, refused_page
from service.web.pages.parts import words
from service.web.pages.parts.badges import state_of
from service.web.pages.parts.booking_words import floor_words, length, period, share_words
from service.web.pages.parts.charts import gauge_of, spark_of
from service.web.pages.parts.error_page import Asked
from service.web.pages.parts.forms import errors_above
from service.web.pages.parts.page import BY_NAME, Audience, Page, SeeOther, Template
from service.web.pages.parts.structured_data import json_ld
from service.web.representations import Representation, StreamedResponse
from service.web.requests import JSON, headers_of, request_of, wants_page
from service.web.static_files import static_url
from service.web.template_loading import TemplateLoader

SLICE_SECONDS = 0.0005
"""For how long a page is rendered before others have their turn, and then until the end of a piece: a value, a macro, or the
text between two."""

NOW_MS: ContextVar[int] = ContextVar("now_ms")
"""The time of the page that is rendered. Filters find it here, because imported macros do not see the values of a page."""

FILTERS: Mapping[str, Callable[..., Any]] = {
    "duration": duration,
    "money": words.money,
    "price": words.price,
    "number": words.number,
    "up_to_99": words.up_to_99,
    "counted": words.counted,
    "rate": words.rate,
    "change": words.change,
    "rate_change": words.rate_change,
    "per_click": words.per_click,
    "percent": words.percent,
    "share_of_voice": share_words,
    "share_floor": floor_words,
    "bare": words.bare,
    "short_id": words.short_id,
    "short_url": words.short_url,
    "browser": browser,
    "short_day": words.short_day,
    "run_length": length,
    "moment": words.moment,
    "summary": words.summary,
    "breakable": words.breakable,
    "json_ld": json_ld,
}
BY_NOW: Mapping[str, Callable[..., Any]] = {
    "when": words.when,
    "date": words.date,
    "short": words.short,
    "weekday": words.weekday,
    "until": words.until,
    "left": words.left,
    "ago": words.ago,
    "days": dates.days,
    "period": period,
    "state_of": state_of,
}
"""Filters that also take the time of the page."""


def prepare_templates(app: QuartTrio, site: SiteSection) -> None:
    """Let the application render pages of a site by `rendered`."""
    app.jinja_env = cast(Any, _templates(site))


@lru_cache(maxsize=8)
def _templates(site: SiteSection) -> Environment:
    """The templates of pages, each compiled once for all applications of a process. No value in them waits for anything, so
    they are not asynchronous as those of Quart are, which take twice the time."""
    loader = TemplateLoader(PackageLoader("service.web"))
    templates = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, auto_reload=False)
    templates.globals.update(static_url=static_url, site=site, spark_of=spark_of, gauge_of=gauge_of)
    templates.filters.update(FILTERS)
    templates.filters.update({name: _by_now(words_of) for name, words_of in BY_NOW.items()})
    return templates


async def rendered(template: str, values: Mapping[str, Any]) -> str:
    """The page of a template with `values`, for the current application. Neither its first use nor a long page holds other
    requests up."""
    environment = current_app.jinja_env
    await cast(TemplateLoader, environment.loader).prepare(environment, template)
    waiting = environment.get_template(template).generate(values)
    pieces: list[str] = []
    began = trio.current_time()
    for piece in waiting:
        pieces.append(piece)
        if trio.current_time() - began > SLICE_SECONDS:
            await trio.lowlevel.checkpoint()
            began = trio.current_time()
    return "".join(pieces)


def _by_now(words_of: Callable[..., Any]) -> Callable[..., Any]:
    # A filter that takes the context is never evaluated before there is a page.
    @pass_context
    def filtered(_: Context, *values: Any, **options: bool) -> Any:
        return words_of(*values, NOW_MS.get(), **options)

    return filtered


def page_view(services: Services, page: Page, compressor: Compressor) -> Callable[..., Awaitable[Response]]:
    """The view of a page.

    Without a cookie, a page is the same for everyone, so it holds no secret and may be compressed. A personal page is never
    compressed, because it can hold text of others beside what only its reader may know (BREACH).
    """

    async def view(**path_values: str) -> Response:
        body = cast(bytes, await request.get_data(cache=False)) if request.method == "POST" else b""
        scope = cast(Scope, request.scope)
        page_request = request_of(scope, headers_of(scope), path_values, body, services.proxies)
        if body and page.json and request.mimetype == JSON:
            note("operation", page.json)
            return response_of(await dispatch(services, BY_NAME[page.json], page_request))
        outcome = await handle_page(services, page, page_request)
        if isinstance(outcome, Refused):
            return await refusal_response(services, outcome, page_request.headers)
        response = await _rendered(outcome)
        if page.who is Audience.ANYBODY and not page.capability and request.method in SAFE:
            response.headers["vary"] = f"{VARY[1]}, Cookie"
            if "cookie" not in page_request.headers and _for_anybody(response):
                await _compress(response, page_request.headers, compressor)
        return response

    return view


def _for_anybody(response: Response) -> bool:
    return response.status_code == HTTPStatus.OK and response.headers["cache-control"] == PAGE_HEADERS["cache-control"]


async def _compress(response: Response, headers: Mapping[str, str], compressor: Compressor) -> None:
    """Compress the page in `response`, if the client accepts it."""
    body, coding = await compressor.encode_once(await response.get_data(as_text=False), headers)
    if coding != IDENTITY:
        response.set_data(body)
        response.headers["content-encoding"] = coding


async def refusal_response(services: Services, refused: Refused, headers: Mapping[str, str]) -> Response:
    """The refusal of a request that is for no operation: a page for people, JSON for programs."""
    if wants_page(headers):
        response = await _rendered(refused_page(services, refused, _asked(services, headers)))
    else:
        response = response_of(refusal(refused, Family.CATALOG))
    response.headers["vary"] = "Accept"
    return response


def _asked(services: Services, headers: Mapping[str, str]) -> Asked:
    query = request.query_string.decode("latin-1")
    return Asked(request.method, request.path, query, SESSION.value(headers, services.base_url) is not None)


def response_of(answer: Answer) -> Response:
    # The body is always bytes: without one, Quart sends through asyncio, which does not run here.
    if answer.pieces is not None:
        response: Response = StreamedResponse(answer)
    else:
        response = Response(answer.body, status=answer.status, content_type=answer.content_type)
    if answer.status in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
        # Without a body, a length or type would describe another response (RFC 9110, 8.6 and 15.4.5).
        del response.headers["content-length"], response.headers["content-type"]
    for name, value in answer.headers:
        response.headers.add(name, value)
    return response


async def document_response(document: Representation) -> Response:
    """The response with a document to the current request."""
    return response_of(await document.answer(headers_of(cast(Scope, request.scope))))


async def _rendered(outcome: Template | SeeOther) -> Response:
    if isinstance(outcome, SeeOther):
        response = Response(b"", 303, content_type="text/html; charset=utf-8")
        response.headers["location"] = outcome.path
    else:
        NOW_MS.set(cast(int, outcome.values["now_ms"]))
        html = await rendered(outcome.template, outcome.values)
        instead = errors_above(outcome.values, html)
        if instead is not None:
            html = await rendered(outcome.template, instead)
        response = Response(html.encode(), outcome.status, content_type="text/html; charset=utf-8")
    for name, value in PAGE_HEADERS.items():
        response.headers[name] = value
    if isinstance(outcome, Template) and outcome.forms_to:
        # Browsers hold the redirects of a form to the policy, too.
        response.headers["content-security-policy"] = PAGE_POLICY.replace(FORMS, f"{FORMS} {outcome.forms_to}")
    for name, value in outcome.headers:
        if name == "set-cookie":
            response.headers.add(name, value)
        else:
            response.headers[name] = value
    return response
