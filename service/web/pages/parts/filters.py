"""Lists with filters. A filter that cannot be used is refused on the page of its list, with status 400 and all typed values.

A page declares its filters as a `Form`: those with a field have their error there, and those that only links set (`unseen`)
have theirs above the list. It asks the operation and passes the result to `filtered`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from actors.values import Code
from service.api.errors import status_of
from service.web.pages.parts.forms import Form, query_errors
from service.web.pages.parts.page import OperationResult, PageRequest, Template
from service.web.pages.parts.paging import Paging, paged

STATE = "There is no such state. Choose one of these."
NOTHING: Mapping[str, Any] = {"items": [], "cursor": None, "hasMore": False}


@dataclass(frozen=True, slots=True)
class Filtered:
    """The answer of the operation of a list. `page` is an empty page if a filter was refused.

    `unusable` names the unseen filters that were refused; links and hidden fields must not repeat them.
    """

    page: Mapping[str, Any]
    status: int = 200
    unusable: frozenset[str] = frozenset()
    errors: Mapping[str, Any] = field(default_factory=dict)
    too_much: bool = False
    """Whether each filter can be used, and the answer would have more rows than one can hold."""

    @property
    def refused(self) -> bool:
        return bool(self.errors)

    def usable(self, typed: Mapping[str, str | None]) -> dict[str, str | None]:
        """The filters without those that cannot be used."""
        return {name: None if name in self.unusable else value for name, value in typed.items()}

    def paging(self, request: PageRequest, *names: str, total: int | None = None) -> Paging:
        """The place of the page in its list. `names` are the parameters of the filters."""
        return Paging(0, 0) if self.refused else paged(request, self.page, *names, total=total)

    def with_errors(self, template: Template) -> Template:
        """The page of the list with the errors of its filters."""
        values, headers = {**template.values, **self.errors}, list(template.headers)
        if self.refused:
            headers.append(("cache-control", "no-store"))
        return replace(template, values=values, status=self.status, headers=headers)


def filtered(result: OperationResult, form: Form, query: Mapping[str, str]) -> Filtered:
    """The answer of a list's operation. Raises `PageRefused` if it refused anything but the filters of `form`."""
    refused = result.refused
    if refused is None:
        return Filtered(result.json)
    unusable = frozenset(each.field for each in refused.problems) & form.unseen.keys()
    others = [each for each in refused.problems if each.field not in unusable]
    if refused.code is not Code.INVALID_REQUEST or any(form.name_of(each) is None for each in others):
        result.or_raise()
    errors = {**query_errors(refused, form, query), "filters_refused": True}
    return Filtered(NOTHING, status_of(refused), unusable, errors, too_much=not refused.problems)
