"""The URL rules of operations, pages and documents, for Werkzeug.

They depend only on the tables and are never changed, so that several applications can share them.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from quart.routing import QuartMap, QuartRule
from werkzeug.routing import BaseConverter, Map

from service.api.mcp.endpoint import PATH as MCP_PATH
from service.api.mcp.endpoint import SLASHED as MCP_SLASHED
from service.api.operation import Operation
from service.web.documents import DOCUMENTS, PUBLISHED
from service.web.pages.parts.page import Page
from service.web.static_files import PREFIX

STATIC = "static"
"""The endpoint of static files."""

PUBLISHED_PREFLIGHT = "preflight of documents"
"""The endpoint of preflights of public documents and static files."""


class Unnamed(BaseConverter):
    """A path parameter that matches none of these names, because they are paths of their own."""

    def __init__(self, rules: Map, *names: str) -> None:
        super().__init__(rules)
        self.regex = rf"(?!(?:{'|'.join(map(re.escape, names))})\Z)[^/]+"


@dataclass(frozen=True, slots=True)
class Routing:
    """The rules of an application. The endpoint of an operation is its name; functions below name the others."""

    url_map: QuartMap
    endpoints: frozenset[str]
    """All endpoints; each needs a view."""

    @classmethod
    def of(cls, operations: Sequence[Operation], pages: Sequence[Page]) -> "Routing":
        url_map = QuartMap(merge_slashes=False, converters={"unnamed": Unnamed})
        url_map.add(QuartRule(f"{PREFIX}<path:filename>", endpoint=STATIC, methods=["GET"]))
        paths = tuple(dict.fromkeys(operation.path for operation in operations))
        for operation in operations:
            rule = _rule(operation.path, paths)
            url_map.add(QuartRule(rule, endpoint=operation.name, methods=[operation.method]))
        for path in called_from_elsewhere(operations):
            url_map.add(QuartRule(_rule(path, ()), endpoint=preflight_endpoint(path), methods=["OPTIONS"]))
        for path in (MCP_PATH, MCP_SLASHED):
            url_map.add(QuartRule(path, endpoint=MCP_PATH, methods=["POST"]))
            url_map.add(QuartRule(path, endpoint=preflight_endpoint(MCP_PATH), methods=["OPTIONS"]))
        for path in (f"{PREFIX}<path:filename>", *PUBLISHED):
            url_map.add(QuartRule(path, endpoint=PUBLISHED_PREFLIGHT, methods=["OPTIONS"]))
        for path in DOCUMENTS:
            url_map.add(QuartRule(path, endpoint=path, methods=["GET"]))
        for page in pages:
            methods = ["GET", "POST"] if page.actions else ["GET"]
            url_map.add(QuartRule(_rule(page.path, ()), endpoint=page_endpoint(page), methods=methods))
        return cls(url_map, frozenset(rule.endpoint for rule in url_map.iter_rules()))


def called_from_elsewhere(operations: Iterable[Operation]) -> list[str]:
    """The paths that pages of other sites may call after a preflight."""
    return list(dict.fromkeys(operation.path for operation in operations if operation.cors))


def preflight_endpoint(path: str) -> str:
    return f"preflight {path}"


def page_endpoint(page: Page) -> str:
    return f"page {page.path}"


def _rule(path: str, paths: Collection[str]) -> str:
    """The Werkzeug rule of a path. Without the converter, Werkzeug would match `start` as the id of a booking."""
    above, _, parameter = path.partition("/{")
    names = [name for base, _, name in (other.rpartition("/") for other in paths) if base == above and name[0] != "{"]
    if names and parameter:
        path = f"{above}/{{unnamed({', '.join(repr(name) for name in names)}):{parameter}"
    return path.replace("{", "<").replace("}", ">")
