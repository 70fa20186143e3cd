"""The pages of the reference on Quart.

Pages are rendered and compressed when they are first read, and all later responses share their bytes: one page for each
operation and group, and the start page. Results of a search are rendered for each request.
"""

from functools import cached_property
from typing import Any

from quart import Response, abort, render_template, request

from actors.values import Code
from service.api.context import Services
from service.api.cookies import SESSION
from service.api.messages import note
from service.api.openapi import Described
from service.api.validation import read_form
from service.web.page_pipeline import PAGE_HEADERS
from service.web.page_views import document_response
from service.web.reference.contents import LONGEST_QUERY, Contents, Entry, Row, read, search
from service.web.representations import Representation

HTML = "text/html; charset=utf-8"


class Reference:
    """The views of the reference."""

    def __init__(self, services: Services, described: Described) -> None:
        self._base_url = services.base_url
        self._described = described
        self._pages: dict[str, Representation] = {}

    @cached_property
    def _contents(self) -> Contents:
        return read(self._described.document, self._base_url, SESSION.name(self._base_url))

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        return {entry.name: entry for entry in self._contents.entries}

    @cached_property
    def _rows(self) -> list[Row]:
        return self._contents.rows

    async def start(self) -> Response:
        """The start page, or with `?q=` what a search finds."""
        query = read_form(request.query_string).get("q", "").strip()
        if query:
            return await self._search(query)
        return await self._shared("/docs", "docs.html")

    async def page(self, name: str) -> Response:
        """The page of an operation or a group. Any other name is a 404."""
        path = f"/docs/{name}"
        group = next((each for each in self._contents.groups if each.name.slug == name), None)
        if group is not None:
            return await self._shared(path, "docs_group.html", group=group)
        entry = self._entries.get(name)
        if entry is None:
            abort(404)
        names = list(self._entries)
        at = names.index(name)
        before, after = names[:at][-1:], names[at + 1 :][:1]
        neighbours = {"before": self._entries.get("".join(before)), "after": self._entries.get("".join(after))}
        return await self._shared(path, "docs_operation.html", entry=entry, **neighbours)

    async def _shared(self, path: str, template: str, **values: Any) -> Response:
        if path not in self._pages:
            html = await self._rendered(path, template, **values)
            self._pages[path] = Representation(html, HTML, PAGE_HEADERS.items())
        return await document_response(self._pages[path])

    async def _search(self, query: str) -> Response:
        """The rows that a search finds. A query that is too long is refused above the search."""
        long = len(query) > LONGEST_QUERY
        if long:
            note("refusal", str(Code.INVALID_REQUEST))
        found = [] if long else search(self._rows, query)
        problem = f"This search has {len(query)} characters. Shorten it to {LONGEST_QUERY}." if long else ""
        html = await self._rendered("/docs", "docs_found.html", q=query[:LONGEST_QUERY], rows=found, problem=problem)
        headers = PAGE_HEADERS | {"cache-control": "no-store"}
        return Response(html, 400 if long else 200, content_type=HTML, headers=headers)

    async def _rendered(self, path: str, template: str, **values: Any) -> bytes:
        html = await render_template(
            template,
            contents=self._contents,
            base_url=self._base_url,
            cookie=SESSION.name(self._base_url),
            unknown=True,
            here=path,
            **values,
        )
        return html.encode()
