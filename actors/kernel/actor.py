"""The actor: a mailbox, a loop, and one commit per batch.

An actor takes all queued messages, commits them in one transaction, then replies to each caller. The next batch
accumulates while the commit is in flight. An actor with several lanes begins another batch meanwhile, if enough has
gathered or if the first is large. Knows nothing of what its messages mean.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Generic, TypeVar

import trio

from actors.kernel.mailbox import NO_MORE, Envelope, Mailbox, answer_due, copy_of
from actors.kernel.statistics import ActorStatistics, Observer, ServedBatch, State
from actors.kernel.supervision import background_nursery
from actors.kernel.waiting_callers import WaitingCallers
from actors.values import ActorFailed, BatchId, Contended, OutcomeUnknown, Overloaded, Stopped, StorageUnavailable

M = TypeVar("M")
R = TypeVar("R")
K = TypeVar("K")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ActorLimits:
    """Bounds of one actor, in messages, or in what `Actor.weigh` counts. A full mailbox rejects new messages; a caller
    gives up after `answer_seconds`."""

    mailbox: int = 4_096
    batch: int = 512
    answer_seconds: float = 10.0
    settle_attempts: int = 8
    settle_pause_seconds: float = 0.05
    settle_pause_max_seconds: float = 1.0
    lanes: int = 1
    """Most batches under way at once. Each lane has its own batch ids, and settles its own batch."""
    gather: int = 500
    """How much has to be queued before another batch begins while a smaller one is under way, so that batches stay large.
    Beside so much under way, which takes long, anything begins another."""

    def __post_init__(self) -> None:
        assert 0 < self.batch <= self.mailbox, "a batch must fit the mailbox"
        assert self.settle_attempts > 0
        assert self.lanes > 0
        assert self.gather > 0
        assert 0 < self.settle_pause_seconds <= self.settle_pause_max_seconds


class Actor(Generic[M, R]):
    """Base class of all actors. A subclass adds intents (public methods that `ask`) and `commit`."""

    def __init__(self, name: str, node: str, limits: ActorLimits) -> None:
        self.name = name
        self.limits = limits
        self.state = State.NEW
        self.observer: Observer | None = None
        """Called after each batch."""
        self._owner = f"{node}/{name}"
        self._mailbox: Mailbox[M, R] = Mailbox(limits.mailbox)
        self._waiting: WaitingCallers[M, R] = WaitingCallers()
        # Of each lane. They outlive a restart: a batch id is never used twice.
        self._batch_numbers = [0] * limits.lanes
        self._free_lanes = set(range(limits.lanes))
        self._under_way = 0  # the weight of all batches that are being served
        self._failure: Exception | None = None
        self.failures = 0
        """How often a batch or a start met a bug. Several lanes may fail before one restart."""
        self._batches = self._messages = self._refused = self._unavailable = self._settled = self._restarts = 0
        self._last_batch = 0
        self._commit_seconds = 0.0

    # Provided by the subclass.

    async def load(self) -> None:
        """Load the actor's memory from the store. Called at each start, before the first batch."""

    async def commit(self, batch_id: BatchId, messages: Sequence[M]) -> Sequence[R]:
        """Commit one batch and return one answer for each message, in order.

        Raises `StorageUnavailable` (the callers are told to retry), `Contended` or `OutcomeUnknown` (called again with
        the same batch id and messages). Any other error is a bug: it fails the batch and restarts the actor.
        """
        raise NotImplementedError

    def weigh(self, message: M) -> int:
        """How much of a batch, and of the mailbox, a message takes: 1 unless it carries several items."""
        return 1

    def compensate(self, message: M, answer: R) -> None:
        """Compensation hook: called when a message commits after its caller got an error."""

    # Used by callers and the supervisor.

    async def ask(self, message: M, *, no_timeout: bool = False) -> R:
        """Post a message and wait for its answer.

        Raises `Overloaded`, `Stopped`, `StorageUnavailable` or `ActorFailed`. Cancelling the caller does not cancel the
        work. The call times out after `answer_seconds` or when its request is due, unless `no_timeout` is set and the
        caller bounds the wait itself.
        """
        due = inf if no_timeout else min(trio.current_time() + self.limits.answer_seconds, answer_due.get())
        envelope: Envelope[M, R] = Envelope(message, self.weigh(message), due)
        try:
            self._mailbox.post(envelope)
        except (Overloaded, Stopped):
            self._refused += 1
            raise
        if not no_timeout:
            self._waiting.add(envelope)
        return await envelope.wait()

    async def ask_for(self, message: M, *kinds: type[K]) -> K:
        """`ask`, for a message whose answer is one of `kinds`."""
        answer = await self.ask(message)
        assert isinstance(answer, kinds)
        return answer

    def tell(self, message: M) -> bool:
        """Post a message without waiting for its answer. Returns False if the mailbox rejected it: it is then lost."""
        try:
            self._mailbox.post(Envelope(message, self.weigh(message)))
        except (Overloaded, Stopped):
            self._refused += 1
            return False
        return True

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve batches until the mailbox is closed and drained. Raises only on a bug."""
        self._failure = None
        try:
            async with background_nursery() as nursery:
                nursery.start_soon(self._waiting.fail_expired, self._give_up)
                await self.load()
                self.state = State.RUNNING
                task_status.started()
                await self._serve_all()
            self.state = State.STOPPED
        except Exception:
            self.state = State.FAILED
            self._restarts += 1
            self.failures += self._failure is None
            raise

    def close(self) -> None:
        """Reject new messages. `run` ends once the queued ones are answered."""
        self._mailbox.close()

    def abandon(self) -> None:
        """Reject queued and new messages: the supervisor does not run this actor again."""
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
        # A failed request must not be carried out later. One that is in a batch already may still commit: see `compensate`.
        self._mailbox.remove(envelope)
        envelope.given_up = True
        envelope.fail(StorageUnavailable(f"{self.name} did not answer in time"))

    # The batches.

    async def _serve_all(self) -> None:
        """Serve batches in all lanes until the mailbox is closed and drained, or a lane fails."""
        if self.limits.lanes == 1:
            await self._serve_batches()
        else:
            async with trio.open_nursery() as nursery:
                for _ in range(self.limits.lanes):
                    nursery.start_soon(self._serve_batches)
        if self._failure is not None:
            raise self._failure

    async def _serve_batches(self) -> None:
        """Serve one batch after the other, in the first lane that is free. After a failure the other lanes finish their
        batches, whose callers get their answers; what is queued waits for the restart."""
        while envelopes := await self._mailbox.take(self.limits.batch, self._least):
            lane = min(self._free_lanes)
            self._free_lanes.remove(lane)
            try:
                await self._serve(envelopes, lane)
            except Exception as error:
                self.failures += 1
                self._failure = self._failure or error
                self._mailbox.wake()
            finally:
                self._free_lanes.add(lane)
            self._waiting.forget_answered()

    def _least(self) -> float:
        """How much must be queued for another batch to begin."""
        if self._failure is not None:
            return NO_MORE
        return self.limits.gather if 0 < self._under_way < self.limits.gather else 1

    # One batch.

    async def _serve(self, envelopes: list[Envelope[M, R]], lane: int) -> None:
        batch = ServedBatch(self.name, envelopes, sum(each.weight for each in envelopes), trio.current_time())
        self._under_way += batch.size
        try:
            answers = await self._settle(batch, lane)
        except StorageUnavailable as error:
            self._unavailable += len(envelopes)
            batch.error = type(error).__name__
            _fail(envelopes, error)
        except BaseException as error:
            batch.error = type(error).__name__
            _fail(envelopes, ActorFailed(self.name))
            if isinstance(error, Exception):
                ids = ", ".join(sorted({envelope.request_id for envelope in envelopes if envelope.request_id}))
                log.exception("%s failed on a batch of %d; requests: %s", self.name, len(envelopes), ids or "none")
            raise
        else:
            batch.committed = trio.current_time()
            for envelope, answer in zip(envelopes, answers, strict=True):
                envelope.answer(answer)
                # The caller may have been cancelled just as its deadline expired.
                if envelope.given_up or (envelope.left and envelope.due <= batch.committed):
                    self.compensate(envelope.message, answer)
        finally:
            batch.ended = trio.current_time()
            self._under_way -= batch.size
            self._batches += 1
            self._messages += batch.size
            self._last_batch = batch.size
            self._commit_seconds += batch.seconds
            if self.observer is not None:
                self.observer(batch)

    def _owner_of(self, lane: int) -> str:
        """The owner of the lane's batch ids. Lanes never share one, because a journal keeps an owner's newest number."""
        return f"{self._owner}-lane-{lane}" if lane else self._owner

    async def _settle(self, batch: ServedBatch, lane: int) -> Sequence[R]:
        """Commit under one batch id until the outcome is known. The batch id makes retries safe."""
        messages: list[M] = [envelope.message for envelope in batch.envelopes]
        self._batch_numbers[lane] += 1
        batch_id = BatchId(self._owner_of(lane), self._batch_numbers[lane])
        pause = self.limits.settle_pause_seconds
        in_doubt = False
        for attempt in range(self.limits.settle_attempts):
            if attempt:
                await trio.sleep(pause)
                pause = min(pause * 2, self.limits.settle_pause_max_seconds)
            batch.attempts += 1
            try:
                answers = await self.commit(batch_id, messages)
            except OutcomeUnknown:
                in_doubt = True
                self._settled += 1
            except Contended:
                pass
            except StorageUnavailable:
                # Once an attempt may have committed, we can no longer report failure: keep retrying until the outcome
                # is known.
                if not in_doubt:
                    raise
            else:
                assert len(answers) == len(messages), f"{self.name} gave {len(answers)} answers to {len(messages)}"
                return answers
        raise StorageUnavailable(
            f"{self.name} could not learn the outcome of a batch in {self.limits.settle_attempts} attempts"
        )


def _fail(envelopes: Sequence[Envelope[M, R]], error: BaseException) -> None:
    for envelope in envelopes:
        envelope.fail(copy_of(error))
