"""The `Link` header of a page of a list (RFC 8288): the address of the next page, as `rel="next"`. Pure.

Clients such as `requests` follow it without knowing the list's own cursor.
"""

from functools import lru_cache
from urllib.parse import quote, urlencode

from pydantic import BaseModel

from service.api.validation import read_form


@lru_cache(64)
def next_link(base_url: str, path: str, query: str, known: type[BaseModel], cursor: str) -> tuple[str, str]:
    """The header with the address of the page after `cursor`. It keeps the parameters of `query` that are
    fields of `known`, the list's own. Cached, because most callers read the first page of a list."""
    given = read_form(query.encode("utf-8", "surrogateescape"))
    names = [field.alias or name for name, field in known.model_fields.items() if name != "cursor"]
    kept = {name: given[name] for name in names if given.get(name)}
    return "link", f'<{base_url}{quote(path)}?{urlencode(kept | {"cursor": cursor})}>; rel="next"'
