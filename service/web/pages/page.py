"""What a page is: a path, who may see it, what shows it, and what its forms do. Knows no framework.

Pages ask the operations of the API, by the same dispatcher, handlers and actors; they know nothing that a caller of the
API could not know.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any
from urllib.parse import urlencode

from actors.clock import Entropy
from actors.values import Code, Refused
from service.api.authentication import Caller
from service.api.context import Services
from service.api.dispatch import dispatch
from service.api.messages import Headers, Request
from service.api.operation import Operation
from service.api.operations import OPERATIONS
from service.api.operations.internal import INTERNAL, outbox_is_open
from service.api.validation import IDEMPOTENCY_KEY
from service.config import Config

BY_NAME: Mapping[str, Operation] = {operation.name: operation for operation in (*OPERATIONS, *INTERNAL)}


class Audience(Enum):
    """Who may see a page. Who is not signed in is asked to, and comes back."""

    ANYBODY = "anybody"
    ACCOUNT = "account"
    ADMIN = "admin"


class PageRefused(Exception):
    """A page cannot be shown: the refusal becomes a page of its own."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.refused = refused


def nothing_here() -> PageRefused:
    return PageRefused(Refused(Code.NOT_FOUND, "There is nothing at this address."))


@dataclass(frozen=True, slots=True)
class OperationResult:
    """What an operation answered: its JSON, or why it refused. `headers` are those of the answer."""

    json: Any
    refused: Refused | None = None
    headers: Headers = field(default_factory=list)

    @property
    def cookies(self) -> Headers:
        """The headers by which the operation gives the browser its session, or takes it away."""
        return [(name, value) for name, value in self.headers if name == "set-cookie"]

    def or_refused(self) -> Any:
        """The JSON; raises `PageRefused` instead of a refusal."""
        if self.refused is not None:
            raise PageRefused(self.refused)
        return self.json


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One look at a page. `form` has the fields of a POST, `query` those of the address, the last of equal names each;
    `problem` is why the form that was sent came to nothing, where the page is shown again."""

    _services: Services
    """Only `ask` and the page pipeline use it: a page reaches state through operations alone."""
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
    ) -> OperationResult:
        """Ask an operation of the API as who looks at this page. Query parameters that are None are left out."""
        operation = BY_NAME[name]
        asked = {key: str(value) for key, value in (query or {}).items() if value is not None}
        headers = {**self.request.headers, "content-type": "application/json", "if-none-match": ""}
        headers.pop(IDEMPOTENCY_KEY, None)
        if idempotency_key is not None:
            headers[IDEMPOTENCY_KEY] = idempotency_key
        request = replace(
            self.request,
            method=operation.method,
            path=operation.path.format(**(path or {})),
            path_values=path or {},
            query=urlencode(asked),
            headers=headers,
            body=b"" if body is None else json.dumps(body).encode(),
        )
        answer = await dispatch(self._services, operation, request, self.caller)
        return OperationResult(json.loads(answer.body) if answer.body else None, answer.refused, answer.headers)


@dataclass(frozen=True, slots=True)
class Template:
    """A template and what it says."""

    template: str
    values: Mapping[str, object] = field(default_factory=dict)
    status: int = 200
    headers: Headers = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SeeOther:
    """A form did its work: look there (303). `notice` names the sentence of `notices` that is shown on top."""

    path: str
    notice: str = ""
    headers: Headers = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FormError:
    """A form came to nothing: the page is shown once more, with what was typed and with the reason."""

    refused: Refused


Show = Callable[[PageRequest], Awaitable[Template | SeeOther]]
Act = Callable[[PageRequest], Awaitable[Template | SeeOther | FormError]]


@dataclass(frozen=True, slots=True)
class Page:
    """One row of the table of pages. `acts` are what its forms do, by the value of their field `do`; a page without any
    takes no POST. `path` has parameters in braces, as operations have. The address of a `sealed` one is the permission:
    whoever has it may send its forms from anywhere."""

    path: str
    show: Show
    acts: Mapping[str, Act] = field(default_factory=dict)
    who: Audience = Audience.ANYBODY
    sealed: bool = False
