"""Until when a request is answered, whatever it waits for: its time begins once it has been read."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import trio

from actors.mailbox import answer_due
from service.api.operation import Operation
from service.config import Config

GIVE_BACK_SECONDS = 2.0
"""How long an answer waits at most for what it took to be given back; what is sent by then is done all the same."""

PAGE_SECONDS = 0.1
"""How much later than what it asks a page gives up, so that a form which came to nothing is given back."""

_bound: ContextVar[trio.CancelScope | None] = ContextVar("bound", default=None)
"""What `within_deadline` gives up by."""


def answer_seconds(config: Config, operation: Operation) -> float:
    """How long an operation may take. One that asks the payment processor waits for that, too."""
    return config.http.answer_seconds + (config.billing.timeout_seconds if pays(config, operation) else 0.0)


def pays(config: Config, operation: Operation) -> bool:
    """Whether the operation asks a payment processor that is somewhere else: in test mode it is we ourselves."""
    return operation.pays and config.billing.mode == "live"


def start_deadline(seconds: float) -> None:
    """The current request is answered within `seconds` from now: what it asks of actors is given up by then, too."""
    answer_due.set(trio.current_time() + seconds)


def extend_deadline(seconds: float) -> None:
    """The current request, which has begun, is answered so much later, and given up so much later."""
    answer_due.set(answer_due.get() + seconds)
    bound = _bound.get()
    if bound is not None:
        bound.deadline += seconds


@contextmanager
def within_deadline(after_seconds: float = 0.0) -> Iterator[None]:
    """Give up when the current request is due, or so much later; raises `trio.TooSlowError`. Actors and transactions that
    are at work for it go on."""
    with trio.fail_at(answer_due.get() + after_seconds) as bound:
        token = _bound.set(bound)
        try:
            yield
        finally:
            _bound.reset(token)


@contextmanager
def best_effort() -> Iterator[None]:
    """What is sent here is awaited for a moment at most, and not at all once the current request is due."""
    with trio.move_on_at(min(answer_due.get(), trio.current_time() + GIVE_BACK_SECONDS)):
        yield
