"""Requests and responses of operations, independent of Quart and the fast path, which convert them from and to ASGI."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from pydantic import BaseModel

from actors.values import Refused
from service.observability.tracing import RequestSpan

T = TypeVar("T")

Headers = list[tuple[str, str]]
JSON = "application/json"
NO_STORE = (("cache-control", "no-store"),)
"""For responses that belong to one caller or contain a secret."""


@dataclass(slots=True)
class Request:
    """One HTTP request. `headers` has lower-case names; `client` is the address after trusted proxies."""

    method: str
    path: str
    path_values: Mapping[str, str]
    query: str
    headers: Mapping[str, str]
    body: bytes
    client: str


@dataclass(slots=True)
class Answer:
    """One HTTP response. `refused` is the refusal that the body describes, if there is one.

    With `pieces`, the body is made while it is sent, and `body` is empty. Hot operations and pages have none.
    `public_tag` is the strong ETag of a body that is the same for all callers, which may be compressed on its way out.
    """

    status: int
    body: bytes = b""
    headers: Headers = field(default_factory=list)
    content_type: str = JSON
    refused: Refused | None = None
    pieces: AsyncIterator[bytes] | None = None
    public_tag: str | None = None

    @classmethod
    def of(cls, model: BaseModel, *headers: tuple[str, str]) -> "Answer":
        """200 with a model as JSON, never cached. Fields made by `service.schemas.fields.optional` omit None."""
        return cls(200, model.model_dump_json().encode(), [*NO_STORE, *headers])


def respond(outcome: T | Refused, render: Callable[[T], BaseModel], *headers: tuple[str, str]) -> Answer | Refused:
    """A refusal unchanged, any other outcome as `Answer.of(render(outcome), *headers)`."""
    return outcome if isinstance(outcome, Refused) else Answer.of(render(outcome), *headers)


@dataclass(slots=True)
class RequestTrace:
    """Fields of the current request for the access log and the metrics. Contains no secret."""

    request_id: str
    operation: str = ""
    client: str = ""
    caller: str = ""
    refusal: str = ""
    # In place of that of the response: of one that the server sent instead, or of an operation called as a tool.
    status: int = 0
    span: RequestSpan | None = None  # if it is recorded


trace: ContextVar[RequestTrace | None] = ContextVar("trace", default=None)


def note(name: Literal["operation", "client", "caller", "refusal"], fact: str) -> None:
    """Set a field of the current request's `RequestTrace`. Does nothing outside a request."""
    if (current := trace.get()) is not None:
        setattr(current, name, fact)
