"""The `Link` header of a page of a list (RFC 8288): the address of the next page, as `rel="next"`. Pure.

Clients such as `requests` follow it without knowing the list's own cursor.
"""

from functools import lru_cache
from urllib.parse import quote, urlencode

from pydantic import BaseModel

from service.api.validation import read_form


def next_link(base_url: str, path: str, query: str, known: type[BaseModel], cursor: str) -> tuple[str, str]:
    """The header with the address of the page after `cursor`, which is URL-safe. It keeps the parameters of `query` that
    are fields of `known`, the list's own."""
    others = query
    if "cursor=" in query:
        others = "&".join([part for part in query.split("&") if not part.startswith("cursor=")])
    return "link", f'<{_address(base_url, path, others, known)}cursor={cursor}>; rel="next"'


@lru_cache(128)
def _address(base_url: str, path: str, query: str, known: type[BaseModel]) -> str:
    """The address of the list, up to its cursor. Cached, because the pages of a list share it."""
    given = read_form(query.encode("utf-8", "surrogateescape"))
    names = [field.alias or name for name, field in known.model_fields.items() if name != "cursor"]
    kept = urlencode({name: given[name] for name in names if given.get(name)})
    return f"{base_url}{quote(path)}?{kept}{'&' if kept else ''}"
