"""A bounded mailbox and the one-shot reply that each message carries.

Posting never waits: a full mailbox rejects at once, so that overload is reported instead of queued. The receiving side
takes everything queued, up to a limit, as one batch.
"""

from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass
from math import inf
from typing import Any, Generic, TypeVar

import trio

from actors.values import Overloaded, Stopped

M = TypeVar("M")
R = TypeVar("R")

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request that the current task serves. Envelopes keep it for the log."""

NO_MORE = inf
"""The `least` of a taker that must not take any more messages."""

answer_due: ContextVar[float] = ContextVar("answer_due", default=inf)
"""The deadline of that request's answer, on Trio's clock. Calls made for it time out by then."""


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A span. The ids are lower-case hex: 32 digits of the trace, 16 of the span. `sampled`: it is recorded."""

    trace_id: str
    span_id: str
    sampled: bool


trace_context: ContextVar[TraceContext | None] = ContextVar("trace_context", default=None)
"""The span of the request that the current task serves: its own if it is recorded, else its caller's, else None."""


READ = object()
"""In place of a value that was read."""


class Reply(Generic[R]):
    """A slot that is filled once and read by at most one task. Filling it never blocks and never raises, even if the
    reader has left or the slot is already full."""

    __slots__ = ("_error", "_reader", "_value", "given", "left")

    # Set when it is filled.
    _value: Any
    _error: BaseException | None

    def __init__(self) -> None:
        self.given = False
        """Whether there is an answer or an error."""
        self.left = False
        """Whether the reader was cancelled while it waited."""
        self._reader: trio.lowlevel.Task | None = None

    def answer(self, value: R) -> None:
        self._fill(value, None)

    def fail(self, error: BaseException) -> None:
        self._fill(None, error)

    def _fill(self, value: object, error: BaseException | None) -> None:
        if self.given:
            return
        self.given = True
        self._value, self._error = value, error
        if self._reader is not None:
            trio.lowlevel.reschedule(self._reader)
            self._reader = None

    async def wait(self) -> R:
        """The answer. Raises the error that the actor gave instead of one."""
        if self.given:
            await trio.lowlevel.checkpoint()
        else:
            assert self._reader is None, "a reply has one reader"
            self._reader = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(self._leave)
        value, error = self._value, self._error
        assert value is not READ, "a reply is read once"
        self._value, self._error = READ, None
        if error is not None:
            try:
                raise error
            finally:
                # The error's traceback refers to this frame, which would refer to the error.
                del error
        return value  # type: ignore[no-any-return]

    def _leave(self, _: object) -> trio.lowlevel.Abort:
        self._reader = None
        self.left = True
        return trio.lowlevel.Abort.SUCCEEDED

    def __repr__(self) -> str:
        state = repr(self._error or self._value) if self.given else "empty"
        return f"<Reply {state}>"


def copy_of(error: BaseException) -> BaseException:
    """A copy of the error for one more reader, because each raise appends to an exception's traceback."""
    one = copy(error).with_traceback(error.__traceback__)
    one.__cause__ = error.__cause__
    return one


class Envelope(Reply[R], Generic[M, R]):
    """A message and its reply. `weight` is the room it takes in a mailbox and in a batch, `due` when its caller gives up
    (Trio's clock). `request_id` and `trace` are those of the task that makes it. `given_up`: its caller got an error.
    `queued`: it is in a mailbox."""

    __slots__ = ("due", "given_up", "message", "queued", "request_id", "trace", "weight")

    def __init__(self, message: M, weight: int = 1, due: float = inf) -> None:
        super().__init__()
        self.message = message
        self.weight = weight
        self.due = due
        self.request_id = request_id.get()
        self.trace = trace_context.get()
        self.given_up = False
        self.queued = False


class Mailbox(Generic[M, R]):
    """A queue of envelopes with a total weight of at most `capacity`, and its takers. Nearly all envelopes weigh 1."""

    def __init__(self, capacity: int) -> None:
        assert capacity > 0
        self.capacity = capacity
        self.closed = False
        self.peak = 0
        self.weight = 0
        self._waiting: deque[Envelope[M, R]] = deque()
        self._arrival = trio.lowlevel.ParkingLot()
        # The `least` of the taker that parked last. Once this much is queued, a taker is woken to call `least` again. Until
        # it has run, there is nobody to wake.
        self._wanted = NO_MORE

    def post(self, envelope: Envelope[M, R]) -> None:
        """Add an envelope. Raises `Overloaded` (full) or `Stopped` (closed) at once."""
        if self.closed:
            raise Stopped
        weight = self.weight + envelope.weight
        if weight > self.capacity:
            raise Overloaded
        envelope.queued = True
        self._waiting.append(envelope)
        self.weight = weight
        if weight > self.peak:
            self.peak = weight
        if self._wanted != NO_MORE and self._holds(self._wanted):
            self._wanted = NO_MORE
            self._arrival.unpark()

    async def take(self, limit: int, least: Callable[[], float] = lambda: 1) -> list[Envelope[M, R]]:
        """Wait until the weight `least` is queued, then take everything, oldest first, up to the weight `limit`. A first
        message heavier than `limit` is returned alone. An empty list means closed and drained, or `NO_MORE`.

        `least` is called again at each arrival and each `wake`. A closed mailbox does not wait for more.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        while (wanted := least()) != NO_MORE and not self.closed and not self._holds(wanted):
            self._wanted = wanted
            await self._arrival.park()
        self._wanted = 1
        if wanted == NO_MORE:
            return []
        taken: list[Envelope[M, R]] = []
        room = limit
        while self._waiting and (not taken or self._waiting[0].weight <= room):
            envelope = self._waiting.popleft()
            envelope.queued = False
            room -= envelope.weight
            self.weight -= envelope.weight
            taken.append(envelope)
        if self._waiting:
            # Another taker may have parked while there was less.
            self._arrival.unpark()
        return taken

    def _holds(self, wanted: float) -> bool:
        return bool(self._waiting) and (self.weight >= wanted or wanted <= 1)

    def wake(self) -> None:
        """Let every taker ask again how much it waits for."""
        self._arrival.unpark_all()

    def remove(self, envelope: Envelope[M, R]) -> None:
        """Remove a queued envelope, because its caller got an error. Does not search the batch in progress:
        while the store hangs, thousands of callers may time out at once."""
        if envelope.queued:
            envelope.queued = False
            self._waiting.remove(envelope)
            self.weight -= envelope.weight

    def close(self) -> None:
        """Reject further messages. Queued ones can still be taken."""
        self.closed = True
        self._arrival.unpark_all()

    def fail_all(self, error: BaseException) -> None:
        """Answer every queued message with `error`."""
        while self._waiting:
            envelope = self._waiting.popleft()
            envelope.queued = False
            self.weight -= envelope.weight
            envelope.fail(copy_of(error))

    def __len__(self) -> int:
        return len(self._waiting)

    def __repr__(self) -> str:
        return f"<Mailbox {self.weight}/{self.capacity}{' closed' if self.closed else ''}>"
