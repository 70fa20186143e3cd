"""Deadlines of requests. The time of a request starts when it has been read (ADR 0040)."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import trio

from actors.kernel.mailbox import answer_due
from service.api.operation import Operation
from service.config.model import Config

GIVE_BACK_SECONDS = 2.0
"""Maximum seconds that a response waits for a refund. A refund that takes longer is still applied."""

PAGE_SECONDS = 0.1
"""Extra seconds of a page after its operations time out, to make the token of a failed form usable again."""

_scope: ContextVar[trio.CancelScope | None] = ContextVar("scope", default=None)
"""The cancel scope of `within_deadline`."""


def answer_seconds(config: Config, operation: Operation) -> float:
    """Seconds that an operation may take."""
    return config.http.answer_seconds + extra_seconds(config, operation)


def extra_seconds(config: Config, operation: Operation) -> float:
    """Seconds that an operation may take longer than others, such as for a payment processor, which test mode has not."""
    pays = operation.pays and config.billing.mode == "live"
    return operation.extra_seconds + (config.billing.timeout_seconds if pays else 0.0)


def start_deadline(seconds: float) -> None:
    """Give the current request `seconds` from now. Calls to actors time out with it."""
    answer_due.set(trio.current_time() + seconds)


def extend_deadline(seconds: float) -> None:
    """Move the deadline of the current request."""
    answer_due.set(answer_due.get() + seconds)
    scope = _scope.get()
    if scope is not None:
        scope.deadline += seconds


@contextmanager
def within_deadline(after_seconds: float = 0.0) -> Iterator[None]:
    """Raise `trio.TooSlowError` `after_seconds` past the deadline. Actors and transactions finish their work regardless."""
    with trio.fail_at(answer_due.get() + after_seconds) as scope:
        token = _scope.set(scope)
        try:
            yield
        finally:
            _scope.reset(token)


@contextmanager
def best_effort() -> Iterator[None]:
    """Stop waiting after `GIVE_BACK_SECONDS` or at the deadline, without an error."""
    with trio.move_on_at(min(answer_due.get(), trio.current_time() + GIVE_BACK_SECONDS)):
        yield
