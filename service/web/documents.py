"""The documents beside operations and pages: OpenAPI, its readable reference, metrics, the embed script, and the icon.

OpenAPI, the pages of its reference and the script are rendered once, compressed once in each coding, and shared by all
responses. The first three are large and count as pages for the limit of an address. The others have no limit, because each
costs less than a page that is refused.
"""

import re
from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import cast

from quart import Response, abort, request

from service.api.context import Services
from service.api.errors import too_fast
from service.api.openapi import Described
from service.http.asgi import Scope
from service.observability.metrics import CONTENT_TYPE, Metrics, SharedPage
from service.web.compression import BEST, Compressor
from service.web.discovery.documents import PATHS as DISCOVERY
from service.web.discovery.documents import discovery_views
from service.web.page_views import document_response, refusal_response
from service.web.reference.views import Reference
from service.web.representations import Representation
from service.web.requests import headers_of, request_of
from service.web.static_files import FOLDER, PREFIX

REFERENCE = ("/docs", "/docs/<name>")
DOCUMENTS = ("/openapi.json", "/metrics", *REFERENCE, "/favicon.ico", "/embed.js", *DISCOVERY)
"""The paths of the documents. All are public."""

PUBLISHED = ("/openapi.json", "/favicon.ico", "/embed.js", *DISCOVERY)
"""The documents that pages of other sites may load: all but the metrics, and the pages of the reference."""
_PUBLISHED = re.compile(
    "|".join(
        (*(re.sub("<.*>", "[^/]+", path).replace(".", r"\.") for path in PUBLISHED), r"/static/.*", r"/\.well-known/.*")
    )
)


def is_published(path: str) -> bool:
    """Whether pages of other sites may load what is at this path, also a refusal."""
    return _PUBLISHED.fullmatch(path) is not None


View = Callable[..., Awaitable[Response]]

SCRIPT = FOLDER / "embed.js"
MAX_AGE_SECONDS = 3600
"""A site may run an old script for an hour after an upgrade, so the API that the script calls only gains features."""


def document_views(
    services: Services, described: Described, metrics: Metrics, compressor: Compressor
) -> dict[str, View]:
    """The view of each document by its path."""

    @cache
    def rendered_openapi() -> Representation:
        return Representation(described.text, "application/json", [("cache-control", "public, max-age=60")])

    async def openapi() -> Response:
        await described.built()
        return await document_response(rendered_openapi())

    shared = SharedPage(metrics, services.clock)

    async def scrape() -> Response:
        if services.config.server.ops_bind:
            abort(404)  # operators have a listener of their own
        return Response(shared.read(), content_type=CONTENT_TYPE, headers={"cache-control": "no-store"})

    async def favicon() -> Response:
        return Response(b"", 301, {"location": f"{PREFIX}icon.svg"}, content_type="image/svg+xml")

    found = discovery_views(services, _counted, compressor).values()
    embed = partial(document_response, embed_script())
    reference = Reference(services, described, compressor, partial(_counted, services))
    pages = (reference.start, reference.page)
    views: tuple[View, ...] = (_counted(services, openapi), _counted(services, scrape), *pages, favicon, embed, *found)
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


@cache
def embed_script() -> Representation:
    """The script, read once. All nodes of a release have the same bytes and the same ETag."""
    headers = [("cache-control", f"public, max-age={MAX_AGE_SECONDS}")]
    # The best level takes 8 ms for the script, once, and saves a tenth of what each new visitor of a website loads.
    return Representation(SCRIPT.read_bytes(), "text/javascript; charset=utf-8", headers, BEST)
