"""`/robots.txt` (RFC 9309): which addresses crawlers should not read. Made from the tables of pages and operations. Pure.

Public pages that should not be found, such as the sign-in, are not listed: a crawler has to read their `noindex`.
"""

from collections.abc import Iterable, Iterator, Sequence

from service.api.operation import Operation
from service.api.policy import Access
from service.web.pages.parts.page import Audience, Page

API = "/api/"


def robots_text(pages: Iterable[Page], operations: Iterable[Operation], base_url: str) -> str:
    """The file. Agents that obey it may read all that needs no key. Allowed paths come first, because some parsers take the
    first line that fits instead of the longest."""
    lines = [
        "User-agent: *",
        *(f"Allow: {path}" for path in _shortest(_open_reads(operations))),
        *(f"Disallow: {path}" for path in _shortest([API, *_personal(pages)])),
        "",
        f"Sitemap: {base_url}/sitemap.xml",
    ]
    return "\n".join(lines) + "\n"


def _open_reads(operations: Iterable[Operation]) -> Iterator[str]:
    for operation in operations:
        if operation.method == "GET" and operation.access is Access.OPTIONAL:
            yield _fixed(operation.path)


def _personal(pages: Iterable[Page]) -> Iterator[str]:
    """Pages of accounts and administrators, and those whose address is a secret of one person or opens nothing."""
    for page in pages:
        if not page.indexed and (page.who is not Audience.ANYBODY or "{" in page.path):
            yield _fixed(page.path)


def _fixed(path: str) -> str:
    """The part of a path before its first parameter."""
    return path.partition("{")[0]


def _shortest(paths: Iterable[str]) -> Sequence[str]:
    """The paths, sorted, without those that another one covers."""
    shortest: list[str] = []
    for path in sorted(set(paths)):
        if not any(path.startswith(above) for above in shortest):
            shortest.append(path)
    return shortest
