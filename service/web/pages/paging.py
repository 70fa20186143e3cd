"""The addresses of a list's pages: where this one is, and where what follows is."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from service.web.pages.page import PageRequest


def page_at(path: str, **query: str | None) -> str:
    """An address with those parameters that say something."""
    said = {name: value for name, value in query.items() if value}
    return f"{path}?{urlencode(said)}" if said else path


def this_page(request: PageRequest, *names: str) -> str:
    """The address that is looked at, with these parameters of it: where a form leads back to."""
    return page_at(request.path, **{name: request.query.get(name) for name in names})


def following(request: PageRequest, page: Mapping[str, Any], *names: str) -> str | None:
    """The address of the page after `page`, an operation's answer; None after the last one."""
    if not page["hasMore"]:
        return None
    kept = {name: request.query.get(name) for name in names}
    return page_at(request.path, **kept, cursor=page["cursor"])
