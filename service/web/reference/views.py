"""The pages of the reference on Quart.

For who is not signed in, pages are rendered and compressed when they are first read, and all later responses share their
bytes: one page for each operation and group, and the start page. Results of a search are rendered for each request. A browser
with a session gets pages like any other: rendered for it, and never stored.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property, lru_cache
from typing import Any, cast

from quart import Response, abort, request

from actors.values import Code
from service.api.context import Services
from service.api.cookies import SESSION
from service.api.encodings import VARY
from service.api.messages import note
from service.api.openapi import Described
from service.api.validation import read_form
from service.http.asgi import Scope
from service.web.compression import Compressor
from service.web.page_pipeline import PAGE_HEADERS
from service.web.page_views import document_response, page_view, rendered
from service.web.pages.parts.connecting import connections
from service.web.pages.parts.page import Page, PageRequest, Template, nothing_here
from service.web.reference.contents import LONGEST_QUERY, Contents, Entry, Row, read, search
from service.web.reference.runs import RUN, for_person, related
from service.web.representations import Representation
from service.web.requests import headers_of

HTML = "text/html; charset=utf-8"

View = Callable[..., Awaitable[Response]]


@lru_cache(maxsize=2)
def _contents_of(described: Described, base_url: str) -> Contents:
    """The contents of a document, which all applications of a process share."""
    return read(described.document, base_url, SESSION.name(base_url))


class Reference:
    """The views of the reference. `counted` counts a view as a page, which pages for one person do themselves."""

    def __init__(
        self, services: Services, described: Described, compressor: Compressor, counted: Callable[[View], View]
    ) -> None:
        self._base_url = services.base_url
        self._described = described
        self._is_read = False
        self._pages: dict[str, Representation] = {}
        start, page = Page("/docs", self._show_start), Page("/docs/{name}", self._show_page)
        self.start = self._by_reader(counted(self._start), page_view(services, start, compressor))
        self.page = self._by_reader(counted(self._page), page_view(services, page, compressor))

    @property
    def _contents(self) -> Contents:
        return _contents_of(self._described, self._base_url)

    async def _read(self) -> None:
        """Read the document, once."""
        await self._described.built()
        if not self._is_read:
            await self._described.elsewhere(lambda: self._contents)
            self._is_read = True

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        return {entry.name: entry for entry in self._contents.entries}

    @cached_property
    def _rows(self) -> list[Row]:
        return self._contents.rows

    def _by_reader(self, shared: View, own: View) -> View:
        """The view for one person, if the request has a session or runs an operation, and the shared one otherwise."""

        async def view(**path_values: str) -> Response:
            headers = headers_of(cast(Scope, request.scope))
            if SESSION.value(headers, self._base_url) is not None or RUN in read_form(request.query_string):
                return await own(**path_values)
            response = await shared(**path_values)
            response.headers["vary"] = f"{VARY[1]}, Cookie"
            return response

        return view

    # For everybody.

    async def _start(self) -> Response:
        """The start page, or with `?q=` what a search finds."""
        await self._read()
        query = read_form(request.query_string).get("q", "").strip()
        if not query:
            return await self._shared("/docs", "docs.html", {})
        values = self._found(query)
        headers = PAGE_HEADERS | {"cache-control": "no-store"}
        html = await self._rendered("/docs", "docs_found.html", values)
        return Response(html, 400 if values["problem"] else 200, content_type=HTML, headers=headers)

    async def _page(self, name: str) -> Response:
        """The page of an operation or a group. Any other name is a 404."""
        await self._read()
        found = self._page_of(name)
        return abort(404) if found is None else await self._shared(f"/docs/{name}", *found)

    async def _shared(self, path: str, template: str, values: Mapping[str, Any]) -> Response:
        if path not in self._pages:
            html = await self._rendered(path, template, values)
            self._pages[path] = Representation(html, HTML, PAGE_HEADERS.items())
        return await document_response(self._pages[path])

    async def _rendered(self, path: str, template: str, values: Mapping[str, Any]) -> bytes:
        common = {"base_url": self._base_url, "here": path, "errors": {}, **self._common}
        return (await rendered(template, {**common, **values})).encode()

    # For one person.

    async def _show_start(self, visit: PageRequest) -> Template:
        await self._read()
        query = visit.query.get("q", "").strip()
        if not query:
            return Template("docs.html", self._common)
        values = self._found(query)
        return Template("docs_found.html", {**self._common, **values}, 400 if values["problem"] else 200)

    async def _show_page(self, visit: PageRequest) -> Template:
        await self._read()
        found = self._page_of(visit.path_values["name"])
        if found is None:
            raise nothing_here()
        template, values = found
        own = await for_person(visit, values["entry"]) if "entry" in values else {}
        return Template(template, {**self._common, **values, **own})

    # For both.

    @property
    def _common(self) -> dict[str, Any]:
        return {
            "contents": self._contents,
            "cookie": SESSION.name(self._base_url),
            "ways": connections(self._base_url),
            "indexed": True,
        }

    def _page_of(self, name: str) -> tuple[str, dict[str, Any]] | None:
        """The template and the values of the page of an operation or a group."""
        group = next((each for each in self._contents.groups if each.name.slug == name), None)
        if group is not None:
            return "docs_group.html", {"group": group}
        entry = self._entries.get(name)
        if entry is None:
            return None
        names = list(self._entries)
        at = names.index(name)
        before, after = names[:at][-1:], names[at + 1 :][:1]
        neighbours = {"before": self._entries.get("".join(before)), "after": self._entries.get("".join(after))}
        return "docs_operation.html", {"entry": entry, "related": related(entry, self._contents.entries), **neighbours}

    def _found(self, query: str) -> dict[str, Any]:
        """What a search finds. A query that is too long is refused above the search."""
        long = len(query) > LONGEST_QUERY
        if long:
            note("refusal", str(Code.INVALID_REQUEST))
        found = [] if long else search(self._rows, query)
        problem = f"This search has {len(query)} characters. Shorten it to {LONGEST_QUERY}." if long else ""
        return {"q": query[:LONGEST_QUERY], "rows": found, "problem": problem, "indexed": False}
