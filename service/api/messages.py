"""A request and an answer without any framework: what handlers and the dispatcher work on.

Whoever serves, Quart or the lane before it, makes a `Request` of an ASGI scope and sends an `Answer`.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field

from pydantic import BaseModel

from actors.values import Refused

Headers = list[tuple[str, str]]

JSON = "application/json"

NO_STORE = (("cache-control", "no-store"),)
"""For answers that are the caller's alone, or hold what is shown once."""


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
    """One HTTP response. `refused` is what the body renders, if the operation was refused."""

    status: int
    body: bytes = b""
    headers: Headers = field(default_factory=list)
    content_type: str = JSON
    refused: Refused | None = None

    @classmethod
    def of(cls, model: BaseModel, headers: Headers | None = None) -> "Answer":
        """200 with a model as JSON. Optional fields leave themselves out (`service.schemas.fields.optional`)."""
        return cls(200, model.model_dump_json().encode(), headers or [])


@dataclass(slots=True)
class RequestTrace:
    """What the access log and the metrics learn about a request on its way. Holds no secret."""

    request_id: str
    operation: str = ""
    client: str = ""
    caller: str = ""
    refusal: str = ""
    status: int = 0
    """What the server answered in the application's place, since the request could not go on; else 0."""


trace: ContextVar[RequestTrace | None] = ContextVar("trace", default=None)


def note(**facts: str) -> None:
    """Write fields of `RequestTrace` down for the current request; outside of one, nothing."""
    notes = trace.get()
    if notes is not None:
        for name, fact in facts.items():
            setattr(notes, name, fact)
