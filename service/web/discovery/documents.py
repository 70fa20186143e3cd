"""The views of the documents by which programs find the service. All are public and can be revalidated by their ETag.

Parts of the sitemap are large, and count as pages for the limit of an address. The others cost less than a page that is
refused.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from typing import cast

from quart import Response, abort, request

from service.api.context import Services
from service.api.mcp.challenges import RESOURCE_METADATA
from service.api.mcp.endpoint import PATH as MCP_PATH
from service.api.mcp.endpoint import SLASHED as MCP_SLASHED
from service.api.operations import OPERATIONS
from service.http.asgi import Scope
from service.web.compression import Compressor
from service.web.discovery.feed import PATH as FEED
from service.web.discovery.feed import feed
from service.web.discovery.llms import llms_text
from service.web.discovery.robots import robots_text
from service.web.discovery.sitemaps import Sitemaps
from service.web.discovery.well_known import (
    API_CATALOG,
    OAUTH,
    OAUTH_OF_MCP,
    SECURITY,
    api_catalog,
    oauth_metadata,
    resource_metadata,
    security_text,
)
from service.web.page_views import response_of
from service.web.pages.table import PAGES
from service.web.reference.contents import group_slug
from service.web.representations import TEXT, Published
from service.web.requests import headers_of

View = Callable[..., Awaitable[Response]]

OLD_SECURITY = "/security.txt"
"""The address of the contact before RFC 9116."""
SITEMAP, SITEMAP_PART = "/sitemap.xml", "/sitemap-<part>.xml"
RESOURCES = ("", MCP_PATH, MCP_SLASHED)
"""The whole API, and both addresses of the endpoint: some clients take metadata only if its resource is the address that they
were given."""
OAUTH_PATHS = (OAUTH, OAUTH_OF_MCP, *(RESOURCE_METADATA + path for path in RESOURCES))
PATHS = ("/llms.txt", "/robots.txt", SITEMAP, SITEMAP_PART, SECURITY, OLD_SECURITY, *OAUTH_PATHS, API_CATALOG, FEED)
INDEXED = (
    "/docs",
    *dict.fromkeys(f"/docs/{group_slug(operation.tag)}" for operation in OPERATIONS),
    *(f"/docs/{operation.name}" for operation in OPERATIONS),
)
"""Documents that belong in the sitemap beside the pages."""


def discovery_views(
    services: Services, counted: Callable[[Services, View], View], compressor: Compressor
) -> Mapping[str, View]:
    """The view of each document by its path. `counted` makes a view count as a page."""

    async def sent(document: Published) -> Response:
        headers = headers_of(cast(Scope, request.scope))
        return response_of(await compressor.encode(document.answer(headers), headers))

    def always(write: Callable[[], Published]) -> View:
        """The view of a document that never changes, which is written when it is first requested."""
        written = cache(write)

        async def view() -> Response:
            return await sent(written())

        return view

    base_url, contact = services.base_url, services.config.server.security_contact
    paths = [page.path for page in PAGES if page.indexed and "{" not in page.path]
    sitemaps = Sitemaps(base_url, [*paths, *INDEXED])

    async def sitemap() -> Response:
        return await sent(sitemaps.index(services.catalog.snapshot))

    async def sitemap_part(part: str) -> Response:
        found = sitemaps.part(services.catalog.snapshot, part)
        return abort(404) if found is None else await sent(found)

    async def security() -> Response:
        return await sent(security_text(contact, base_url, services.clock.now_ms())) if contact else abort(404)

    async def old_security() -> Response:
        return Response(b"", 301, {"location": SECURITY}, content_type=TEXT) if contact else abort(404)

    async def newest() -> Response:
        return await sent(feed(base_url, services.catalog.snapshot))

    views = (
        always(lambda: Published(llms_text(OPERATIONS, base_url, services.config).encode(), TEXT)),
        always(lambda: Published(robots_text(PAGES, OPERATIONS, base_url).encode(), TEXT)),
        sitemap,
        counted(services, sitemap_part),
        security,
        old_security,
        *(always(lambda: oauth_metadata(OPERATIONS, base_url)) for _ in (OAUTH, OAUTH_OF_MCP)),
        *(always(partial(resource_metadata, base_url, path)) for path in RESOURCES),
        always(lambda: api_catalog(base_url)),
        counted(services, newest),
    )
    return dict(zip(PATHS, views, strict=True))
