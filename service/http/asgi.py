"""ASGI types, the handlers that the server calls, and the one extension it offers. Imports nothing of the project."""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

Headers = list[tuple[bytes, bytes]]
RenderError = Callable[[int, str], tuple[Headers, bytes]]
"""Turns a status and a message into the headers and the body of an error response."""

BOUNDED = "bounded_body"
"""The ASGI extension by which a server promises that every wait for a request body has a bound."""


@dataclass(frozen=True, slots=True)
class Handlers:
    """What the server calls.

    `app` serves requests. `rejected` answers a request that the server refuses before `app` sees it; its scope holds
    `refusal`, a status and a message. `render_error` makes the response that replaces `app`'s own when a request that
    `app` has started cannot go on.
    """

    app: App
    rejected: App
    render_error: RenderError
