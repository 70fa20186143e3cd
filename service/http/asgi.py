"""ASGI types, the handlers that the server calls, and the one extension it offers. Imports nothing of the project."""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

Headers = list[tuple[bytes, bytes]]
RenderError = Callable[[int, str], tuple[Headers, bytes]]
"""Makes the headers and body of an error response from a status and a message."""


class SharedFields(tuple[tuple[bytes, bytes], ...]):
    """Header fields that many responses begin with, none of which frames the body. Names are in lower case."""

    @cached_property
    def lines(self) -> bytes:
        """The lines of HTTP/1.1, which are written once."""
        return b"\r\n".join(map(b": ".join, self))


class BegunHeaders(Headers):
    """The headers of a response that begin with those of `shared`. A plain list for other servers."""

    def __init__(self, shared: SharedFields) -> None:
        super().__init__(shared)
        self.shared = shared


BOUNDED = "bounded_body"
"""The ASGI extension that promises a time limit on every wait for a request body."""


@dataclass(frozen=True, slots=True)
class Handlers:
    """The callables of the application.

    `app` serves requests. `rejected` answers a request that never reaches `app`; its scope holds `refusal`, a status and
    a message. `render_error` makes the response sent instead of `app`'s when a started request cannot continue.
    """

    app: App
    rejected: App
    render_error: RenderError
