"""The actor: a mailbox, a loop, and one commit per batch.

An actor takes everything that waits, commits it in one transaction, and only then answers each caller with its own
result. While a commit is under way the next batch gathers by itself. Knows nothing of what its messages mean.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from functools import partial
from math import inf
from typing import Generic, TypeVar

import trio

from actors.mailbox import Envelope, Mailbox, answer_due, request_id, twin
from actors.values import ActorFailed, BatchId, Contended, OutcomeUnknown, Overloaded, Stopped, StorageUnavailable
from actors.waiting import WaitingCallers

M = TypeVar("M")
R = TypeVar("R")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ActorLimits:
    """Bounds of one actor, in messages, or in what `Actor.weigh` counts. A mailbox that is full refuses; an answer that is
    late is given up by its caller."""

    mailbox: int = 4_096
    batch: int = 512
    answer_seconds: float = 10.0
    settle_attempts: int = 8
    settle_pause_seconds: float = 0.05
    settle_pause_max_seconds: float = 1.0

    def __post_init__(self) -> None:
        assert 0 < self.batch <= self.mailbox, "a batch must fit the mailbox"
        assert self.settle_attempts > 0
        assert 0 < self.settle_pause_seconds <= self.settle_pause_max_seconds


class State(Enum):
    """Where an actor is in its life."""

    NEW = "new"
    RUNNING = "running"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class ActorStatistics:
    """A picture of one actor; counts are since the process began.

    The mailbox, `messages` and `last_batch` are in what `Actor.weigh` counts; `refused` and `unavailable` are callers.
    """

    name: str
    state: State
    accepting: bool
    waiting: int
    capacity: int
    peak: int
    batches: int
    messages: int
    refused: int
    unavailable: int
    settled: int
    restarts: int
    commit_seconds: float
    last_batch: int


class Actor(Generic[M, R]):
    """Base of all actors. A concern subclasses it with intents (public methods that `ask`) and `commit`."""

    def __init__(self, name: str, node: str, limits: ActorLimits) -> None:
        self.name = name
        self.limits = limits
        self.state = State.NEW
        self.observer: Callable[[int, float], None] | None = None
        """Told the size (in what `weigh` counts) and the commit time in seconds of each batch: metrics hook in here."""
        self._owner = f"{node}/{name}"
        self._mailbox: Mailbox[M, R] = Mailbox(limits.mailbox)
        self._waiting: WaitingCallers[M, R] = WaitingCallers()
        self._turns = 0
        self._batches = self._messages = self._refused = self._unavailable = self._settled = self._restarts = 0
        self._last_batch = 0
        self._commit_seconds = 0.0

    # What a concern provides.

    async def load(self) -> None:
        """Bring the actor's memory up from the store; called at each start, before the first batch."""

    async def commit(self, turn: BatchId, messages: Sequence[M]) -> Sequence[R]:
        """Commit one batch and return one answer for each message, in order.

        Raises `StorageUnavailable` (callers are refused), `Contended` or `OutcomeUnknown` (called again with the same
        turn and the same messages); anything else is a bug, fails the batch and restarts the actor.
        """
        raise NotImplementedError

    def weigh(self, message: M) -> int:
        """How much of a batch, and of the mailbox, a message takes: 1 unless it carries many things."""
        return 1

    def undo(self, message: M, answer: R) -> None:
        """A message was kept after its caller had been refused for lateness; an actor that can make up for it does."""

    # What callers and the troupe use.

    async def ask(self, message: M, *, in_any_case: bool = False) -> R:
        """Post a message and wait for its answer.

        Raises `Overloaded`, `Stopped`, `StorageUnavailable` or `ActorFailed`. A caller that leaves changes nothing:
        the work is done all the same. It is given up after `answer_seconds`, or when its request has to be answered; but
        not `in_any_case`, where the caller bounds his wait himself.
        """
        due = inf if in_any_case else min(trio.current_time() + self.limits.answer_seconds, answer_due.get())
        envelope: Envelope[M, R] = Envelope(message, self.weigh(message), due, request_id=request_id.get())
        try:
            self._mailbox.post(envelope)
        except (Overloaded, Stopped):
            self._refused += 1
            raise
        if not in_any_case:
            self._waiting.add(envelope)
        return await envelope.reply.wait()

    def tell(self, message: M) -> bool:
        """Post a message whose answer nobody waits for; False where the mailbox takes none now, and the message is lost."""
        try:
            self._mailbox.post(Envelope(message, self.weigh(message), request_id=request_id.get()))
        except (Overloaded, Stopped):
            self._refused += 1
            return False
        return True

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve batches until the mailbox is closed and drained. An error that leaves here is a bug."""
        try:
            async with _beside(partial(self._waiting.fail_expired, self._give_up)):
                await self.load()
                self.state = State.RUNNING
                task_status.started()
                while envelopes := await self._mailbox.take(self.limits.batch):
                    await self._serve(envelopes)
                    self._waiting.forget_answered()
            self.state = State.STOPPED
        except Exception:
            self.state = State.FAILED
            self._restarts += 1
            raise

    def close(self) -> None:
        """Refuse new messages; `run` ends once those that wait are answered."""
        self._mailbox.close()

    def abandon(self) -> None:
        """Nobody will run this actor again: refuse what waits and what comes."""
        self._mailbox.close()
        self._mailbox.fail_all(Stopped())
        self.state = State.STOPPED

    @property
    def accepting(self) -> bool:
        return (
            self.state is State.RUNNING and not self._mailbox.closed and self._mailbox.weight < self._mailbox.capacity
        )

    def statistics(self) -> ActorStatistics:
        return ActorStatistics(
            name=self.name,
            state=self.state,
            accepting=self.accepting,
            waiting=self._mailbox.weight,
            capacity=self._mailbox.capacity,
            peak=self._mailbox.peak,
            batches=self._batches,
            messages=self._messages,
            refused=self._refused,
            unavailable=self._unavailable,
            settled=self._settled,
            restarts=self._restarts,
            commit_seconds=self._commit_seconds,
            last_batch=self._last_batch,
        )

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.name!r} {self.state.value} {self._mailbox!r} after {self._batches} batches>"
        )

    def _give_up(self, envelope: Envelope[M, R]) -> None:
        """Fail a caller whose deadline has passed."""
        # A failed request must not be carried out later. One that is in a batch already may still commit: see `undo`.
        self._mailbox.withdraw(envelope)
        envelope.given_up = True
        envelope.reply.fail(StorageUnavailable(f"{self.name} gave no answer in time"))

    # One batch.

    async def _serve(self, envelopes: list[Envelope[M, R]]) -> None:
        started, size = trio.current_time(), sum(envelope.weight for envelope in envelopes)
        try:
            answers = await self._settle([envelope.message for envelope in envelopes])
        except StorageUnavailable as error:
            self._unavailable += len(envelopes)
            _fail(envelopes, error)
        except BaseException as error:
            _fail(envelopes, ActorFailed(self.name))
            if isinstance(error, Exception):
                ids = ", ".join(sorted({envelope.request_id for envelope in envelopes if envelope.request_id}))
                log.exception("%s failed on a batch of %d; requests: %s", self.name, len(envelopes), ids or "none")
            raise
        else:
            now = trio.current_time()
            for envelope, answer in zip(envelopes, answers, strict=True):
                envelope.reply.answer(answer)
                # Its sender may have been cut off in the moment in which it was to be given up.
                if envelope.given_up or (envelope.reply.left and envelope.due <= now):
                    self.undo(envelope.message, answer)
        finally:
            self._batches += 1
            self._messages += size
            self._last_batch = size
            self._commit_seconds += trio.current_time() - started
            if self.observer is not None:
                self.observer(size, trio.current_time() - started)

    async def _settle(self, messages: Sequence[M]) -> Sequence[R]:
        """Commit under one turn until the outcome is known: running a turn again is harmless."""
        self._turns += 1
        turn = BatchId(self._owner, self._turns)
        pause = self.limits.settle_pause_seconds
        in_doubt = False
        for attempt in range(self.limits.settle_attempts):
            if attempt:
                await trio.sleep(pause)
                pause = min(pause * 2, self.limits.settle_pause_max_seconds)
            try:
                answers = await self.commit(turn, messages)
            except OutcomeUnknown:
                in_doubt = True
                self._settled += 1
            except Contended:
                pass
            except StorageUnavailable:
                # Refusing is the truth only while no attempt may have committed; afterwards it has to be found out.
                if not in_doubt:
                    raise
            else:
                assert len(answers) == len(messages), f"{self.name} gave {len(answers)} answers to {len(messages)}"
                return answers
        raise StorageUnavailable(f"{self.name} could not settle a batch in {self.limits.settle_attempts} attempts")


@asynccontextmanager
async def _beside(work: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Run `work` for as long as the block runs. An error of the block leaves as it is, and not within a group."""
    failed: Exception | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(work)
        try:
            yield
        except Exception as error:
            failed = error
        nursery.cancel_scope.cancel()
    if failed is not None:
        raise failed


def _fail(envelopes: Sequence[Envelope[M, R]], error: BaseException) -> None:
    for envelope in envelopes:
        envelope.reply.fail(twin(error))
