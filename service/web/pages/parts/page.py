"""The parts of a page: its path, its audience, the function that shows it, and its forms' actions. Knows no framework.

Pages call the operations of the API through the same dispatcher, so a page knows nothing that an API client could not.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any
from urllib.parse import urlencode

from actors.clock import MINUTE_MS, SECOND_MS, Entropy
from actors.values import Code, Refused
from service.api.authentication import Caller
from service.api.context import Services
from service.api.cookies import Cookie
from service.api.dispatch import dispatch
from service.api.messages import Headers, Request
from service.api.operation import Operation
from service.api.operations import OPERATIONS
from service.api.operations.development import outbox_is_open
from service.api.operations.internal import INTERNAL
from service.api.validation import IDEMPOTENCY_KEY, read_form
from service.config.model import Config
from service.web.pages.parts.forms import NOTHING, Form, wrong
from service.web.pages.parts.messages import TERMS_CHANGED

BY_NAME: Mapping[str, Operation] = {operation.name: operation for operation in (*OPERATIONS, *INTERNAL)}


class Audience(Enum):
    """The visitors who may see a page. Visitors who are not signed in are sent to sign in first, then back."""

    ANYBODY = "anybody"
    ACCOUNT = "account"
    ADMIN = "admin"


class PageRefused(Exception):
    """Raised when a page cannot be shown; the visitor sees the refusal as an error page."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.refused = refused


def nothing_here() -> PageRefused:
    return PageRefused(Refused(Code.NOT_FOUND, "There is nothing at this address."))


@dataclass(frozen=True, slots=True)
class Template:
    """A template and its values."""

    template: str
    values: Mapping[str, object] = field(default_factory=dict)
    status: int = 200
    headers: Headers = field(default_factory=list)
    forms_to: str = ""
    """Where forms of the page may be redirected beside this service: a source of a content security policy."""


LONGEST_PATH = 2_000
"""The longest path, and the longest query, that a redirect repeats. Proxies refuse long headers, and nginx then takes the
node for broken."""


def with_next(page: str, onward: str) -> str:
    """The address of a page that goes on to `onward`, which is left out if it is long once it is encoded."""
    query = urlencode({"next": onward})
    mark = "&" if "?" in page else "?"
    return f"{page}{mark}{query}" if len(query) <= LONGEST_PATH else page


@dataclass(frozen=True, slots=True)
class SeeOther:
    """A redirect after a form succeeded (303). `notice` names the sentence in `notices` that the next page shows on top."""

    path: str
    notice: str = ""
    headers: Headers = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FormError:
    """A form was refused: the page is shown again with the typed values and the reason."""

    refused: Refused

    @classmethod
    def at(cls, **sentences: str) -> "FormError":
        """The page itself finds something wrong: the sentence for each field of the form."""
        return cls(wrong(**sentences))


@dataclass(frozen=True, slots=True)
class OperationResult:
    """The answer of an operation: its JSON, or the refusal; and its headers."""

    json: Any
    refused: Refused | None = None
    headers: Headers = field(default_factory=list)

    @property
    def cookies(self) -> Headers:
        """The headers that set or drop cookies."""
        return [(name, value) for name, value in self.headers if name == "set-cookie"]

    def or_raise(self) -> Any:
        """The JSON. Raises `PageRefused` if the operation refused."""
        if self.refused is not None:
            raise PageRefused(self.refused)
        return self.json

    def see_other(self, path: str, notice: str = "") -> SeeOther | FormError:
        """The end of a form: a redirect with the answer's cookies, or the form again if the operation refused."""
        return SeeOther(path, notice, self.cookies) if self.refused is None else FormError(self.refused)


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One request of a page. `form` has the fields of a POST, `query` those of the address; the last of equal names wins.
    `problem` is the refusal of the form if the page is shown again."""

    _services: Services
    """For `ask` and the page pipeline only: pages reach state through operations."""
    request: Request
    caller: Caller
    query: Mapping[str, str]
    form: Mapping[str, str] = field(default_factory=dict)
    problem: Refused | None = None

    @property
    def path(self) -> str:
        return self.request.path

    @property
    def path_values(self) -> Mapping[str, str]:
        return self.request.path_values

    @property
    def config(self) -> Config:
        return self._services.config

    @property
    def base_url(self) -> str:
        return self._services.base_url

    @property
    def outbox_open(self) -> bool:
        return outbox_is_open(self.config, self.request)

    @property
    def passkeys_offered(self) -> bool:
        """Whether browsers offer passkeys at the address of this service."""
        return self._services.passkeys.available

    def kept(self, cookie: Cookie) -> Mapping[str, str]:
        """The fields that `keeping` left with this browser. Empty once the code that was mailed is too old."""
        return read_form((cookie.value(self.request.headers, self.base_url) or "").encode("utf-8", "surrogateescape"))

    def keeping(self, cookie: Cookie, **fields: str) -> tuple[str, str]:
        """The header that leaves fields of a form with the browser, for as long as a mailed code is valid. The page for the
        code can then be an address without them: reloading it sends no form, so it mails no second code."""
        seconds = self.config.claim.code_minutes * MINUTE_MS // SECOND_MS
        return cookie.set(urlencode(fields), self.base_url, seconds)

    @property
    def other_terms(self) -> FormError | None:
        """The refusal of a form that accepts the terms if it showed another version of them than the one of now."""
        version = self.config.site.terms
        return FormError.at(terms=TERMS_CHANGED) if version and self.form.get("terms") != version else None

    @property
    def now_ms(self) -> int:
        return self._services.clock.now_ms()

    @property
    def entropy(self) -> Entropy:
        return self._services.entropy

    async def ask(
        self,
        name: str,
        *,
        path: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        idempotency_key: str | None = None,
        condition: Mapping[str, str] | None = None,
    ) -> OperationResult:
        """Call an operation of the API as the visitor of this page. Query parameters that are None are left out. `condition`
        has the header `if-match` or `if-none-match`."""
        operation = BY_NAME[name]
        headers = {**self.request.headers, "content-type": "application/json"}
        # It is about the page.
        headers.pop("if-none-match", None)
        headers |= condition or {}
        if idempotency_key is not None:
            headers[IDEMPOTENCY_KEY] = idempotency_key
        request = replace(
            self.request,
            method=operation.method,
            path=operation.path.format(**(path or {})),
            path_values=path or {},
            query=urlencode({key: value for key, value in (query or {}).items() if value is not None}),
            headers=headers,
            body=b"" if body is None else json.dumps(body).encode(),
        )
        answer = await dispatch(self._services, operation, request, self.caller)
        return OperationResult(json.loads(answer.body) if answer.body else None, answer.refused, answer.headers)

    async def count(self, name: str, listed: Mapping[str, Any]) -> int | None:
        """The rows of a list of which this page shows `listed`, by the operation with that name. None if all are shown, or if
        there are too many to count."""
        if not (self.query.get("cursor") or listed["hasMore"]):
            return None
        rows: int | None = (await self.ask(name, path=self.path_values)).or_raise()["rows"]
        return rows


Show = Callable[[PageRequest], Awaitable[Template | SeeOther]]
Act = Callable[[PageRequest], Awaitable[Template | SeeOther | FormError]]


def calling(operation: str, notice: str, onward: str = "") -> Act:
    """The action of a form without fields: calls an operation with the path's values, and leads to `onward` or back here."""

    async def act(request: PageRequest) -> SeeOther | FormError:
        result = await request.ask(operation, path=request.path_values)
        return result.see_other(onward or request.path, notice)

    return act


@dataclass(frozen=True, slots=True)
class Page:
    """One row of the table of pages.

    `path` has parameters in braces, as in operations. `actions` holds the actions of its forms by the value of their field
    `do`; without any, the page accepts no POST. `forms` has the fields of a form by the same value, for its errors. The
    address of a `capability` page is the permission: its forms may be sent from any site.
    """

    path: str
    show: Show
    actions: Mapping[str, Act] = field(default_factory=dict)
    who: Audience = Audience.ANYBODY
    capability: bool = False
    while_suspended: bool = False
    """Whether people whose account is suspended may see it, too."""
    indexed: bool = False
    """Whether search engines should list it: it has a canonical address, a card, and a place in the sitemap."""
    forms: Mapping[str, Form] = field(default_factory=dict)
    json: str = ""
    """The operation that a program calls by posting JSON to the page's address."""
    body_bytes: int | None = None
    """The most bytes of a form; overrides the configured limit."""

    def form_of(self, do: str) -> Form:
        return self.forms.get(do, NOTHING)
