"""The addresses of a list's pages: this one and the next."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from service.web.pages.page import PageRequest


def page_at(path: str, **query: str | None) -> str:
    """An address with the parameters that are not empty."""
    kept = {name: value for name, value in query.items() if value}
    return f"{path}?{urlencode(kept)}" if kept else path


def this_page(request: PageRequest, *names: str) -> str:
    """The address of this page with these of its parameters, for a form to lead back to."""
    return page_at(request.path, **{name: request.query.get(name) for name in names})


def following(request: PageRequest, page: Mapping[str, Any], *names: str) -> str | None:
    """The address of the page after `page`, an operation's answer; None after the last page."""
    if not page["hasMore"]:
        return None
    kept = {name: request.query.get(name) for name in names}
    return page_at(request.path, **kept, cursor=page["cursor"])
