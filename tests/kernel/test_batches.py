"""One actor at work: natural batches, group commit, refusals, and cancelled callers."""

import pytest
import trio

from actors.kernel.actor import Actor, ActorLimits
from actors.kernel.mailbox import TraceContext, answer_due, trace_context
from actors.kernel.statistics import ActorStatistics, ServedBatch, State
from actors.kernel.supervision import running
from actors.values import BatchId, OutcomeUnknown, Overloaded, Stopped, StorageUnavailable
from tests.fakes import after, kinds, now, together
from tests.kernel.notebook import Notebook


async def test_while_a_commit_is_under_way_the_next_batch_gathers_and_each_caller_gets_its_own_answer() -> None:
    book = Notebook(before=[1.0])
    async with running([book]):
        answers = await together(now(book.ask, "a"), after(0.1, book.ask, "b"), after(0.2, book.ask, "c"))
    assert answers == ["0: a", "1: b", "2: c"]
    assert book.batches == [["a"], ["b", "c"]]


async def test_what_is_only_told_is_committed_with_the_batch_and_drained() -> None:
    book = Notebook(before=[1.0])
    async with running([book]):
        assert book.tell("a")
        await trio.sleep(0.5)
        assert book.tell("b")
        answers = await together(now(book.ask, "c"))
        assert book.tell("d")
    assert answers == ["2: c"]
    assert book.batches == [["a"], ["b", "c"], ["d"]]
    assert not book.tell("e"), "it has stopped"


async def test_what_is_told_to_a_full_mailbox_is_lost_and_counted() -> None:
    book = Notebook(before=[1.0], limits=ActorLimits(mailbox=1, batch=1))
    async with running([book]):
        assert book.tell("a")
        await trio.sleep(0.5)
        assert [book.tell("b"), book.tell("c")] == [True, False]
    assert book.lines == ["a", "b"]
    assert book.statistics().refused == 1


async def test_what_is_told_to_a_store_that_is_away_is_lost_and_hurts_nobody() -> None:
    book = Notebook(before=[StorageUnavailable("away")])
    async with running([book]):
        assert book.tell("a")
        await trio.sleep(0.5)
        assert await book.ask("b") == "0: b"


async def test_a_batch_is_bounded_and_the_rest_is_the_next_one() -> None:
    book = Notebook(before=[1.0], limits=ActorLimits(batch=2))
    async with running([book]):
        await together(*[after(place / 10, book.ask, line) for place, line in enumerate("abcde")])
    assert book.batches == [["a"], ["b", "c"], ["d", "e"]]


async def test_order_stays_over_many_batches() -> None:
    lines = [str(number) for number in range(100)]
    book = Notebook(before=[0.007] * 100, limits=ActorLimits(batch=7))
    async with running([book]):
        await together(*[after(place / 1_000, book.ask, line) for place, line in enumerate(lines)])
    assert book.lines == lines


async def test_an_idle_actor_commits_nothing() -> None:
    book = Notebook()
    async with running([book]):
        await trio.sleep(3_600)
    assert book.attempts == []


async def test_nobody_is_answered_before_the_commit_has_ended() -> None:
    book = Notebook(after=[5.0])
    async with running([book]), trio.open_nursery() as nursery:
        answered: list[float] = []

        async def ask() -> None:
            await book.ask("a")
            answered.append(trio.current_time())

        nursery.start_soon(ask)
        await trio.sleep(4.9)
        assert book.lines == ["a"]
        assert answered == []
        await trio.sleep(0.2)
        assert answered == [5]


async def test_a_full_mailbox_refuses_at_once_and_the_others_are_served() -> None:
    book = Notebook(before=[5.0], limits=ActorLimits(mailbox=2, batch=2))
    async with running([book]):

        async def refused() -> float:
            with pytest.raises(Overloaded):
                await book.ask("d")
            return trio.current_time()

        answers = await together(
            now(book.ask, "a"), after(0.1, book.ask, "b"), after(0.2, book.ask, "c"), after(0.3, refused)
        )
    assert answers == ["0: a", "1: b", "2: c", 0.3]


async def test_the_work_of_a_caller_who_left_while_it_was_committed_is_done() -> None:
    book = Notebook(before=[2.0])
    async with running([book]):
        with trio.move_on_after(1):
            await book.ask("a")
        assert await book.ask("b") == "1: b"
    assert book.lines == ["a", "b"]


async def test_the_work_of_a_caller_who_left_while_it_waited_is_done() -> None:
    book = Notebook(before=[2.0])
    async with running([book]), trio.open_nursery() as nursery:
        nursery.start_soon(book.ask, "a")
        await trio.sleep(0.1)
        with trio.move_on_after(1):
            await book.ask("b")
    assert book.lines == ["a", "b"]


async def test_a_caller_who_left_does_not_hurt_the_others_of_its_batch() -> None:
    book = Notebook(before=[1.0, 1.0])

    async def leave() -> None:
        with trio.move_on_after(1):
            await book.ask("b")

    async with running([book]):
        answers = await together(
            now(book.ask, "a"), after(0.1, book.ask, "x"), after(0.2, leave), after(0.3, book.ask, "c")
        )
    assert answers == ["0: a", "1: x", None, "3: c"]


async def test_a_late_answer_is_given_up_and_the_work_is_done() -> None:
    book = Notebook(before=[30.0], limits=ActorLimits(answer_seconds=10))
    async with running([book], drain_seconds=60):
        with pytest.raises(StorageUnavailable, match="notebook did not answer in time"):
            await book.ask("a")
        assert trio.current_time() == 10
    assert book.lines == ["a"]


async def test_a_message_that_waited_too_long_for_its_batch_is_withdrawn() -> None:
    """Its caller was told that it failed, so it must not be carried out later."""
    book = Notebook(before=[30.0, 1.0], limits=ActorLimits(answer_seconds=10))
    async with running([book], drain_seconds=60):
        answers = await together(now(book.ask, "a"), after(1, book.ask, "b"), after(25, book.ask, "c"))
    assert kinds(answers) == [StorageUnavailable, StorageUnavailable, str]
    assert book.lines == ["a", "c"]


async def test_a_caller_may_come_before_the_actor_runs() -> None:
    book = Notebook(loads=[3.0])
    async with trio.open_nursery() as nursery:
        answers: list[str] = []

        async def ask() -> None:
            answers.append(await book.ask("a"))

        nursery.start_soon(ask)
        async with running([book]):
            assert trio.current_time() == 3
    assert answers == ["0: a"]


async def test_a_closed_actor_refuses() -> None:
    book = Notebook()
    async with running([book]):
        book.close()
        assert kinds(await together(now(book.ask, "a"))) == [Stopped]


# Statistics.


async def test_statistics_count_what_happened() -> None:
    book = Notebook(before=[1.0, StorageUnavailable("away")], limits=ActorLimits(mailbox=2, batch=2))
    async with running([book]):
        await together(*[after(place / 10, book.ask, line) for place, line in enumerate("abcd")])
        assert book.statistics() == ActorStatistics(
            name="notebook",
            state=State.RUNNING,
            accepting=True,
            waiting=0,
            capacity=2,
            peak=2,
            batches=2,
            messages=3,
            refused=1,
            unavailable=2,
            settled=0,
            restarts=0,
            commit_seconds=1.0,
            last_batch=2,
        )


async def test_an_actor_reads_well_through_its_life() -> None:
    book = Notebook()
    assert repr(book) == "<Notebook 'notebook' new <Mailbox 0/4096> after 0 batches>"
    async with running([book]):
        await book.ask("a")
        assert repr(book) == "<Notebook 'notebook' running <Mailbox 0/4096> after 1 batches>"
    assert repr(book) == "<Notebook 'notebook' stopped <Mailbox 0/4096 closed> after 1 batches>"


def test_a_batch_id_begins_undecided_and_has_a_readable_repr() -> None:
    batch_id = BatchId("node/quota", 7)
    assert (batch_id.decided, repr(batch_id)) == (None, "<BatchId node/quota #7>")


async def test_an_actor_accepts_only_while_it_runs_and_has_room() -> None:
    book = Notebook(before=[5.0], limits=ActorLimits(mailbox=1, batch=1))
    seen = [book.accepting]
    async with running([book]), trio.open_nursery() as nursery:
        seen.append(book.accepting)
        nursery.start_soon(book.ask, "a")
        await trio.sleep(1)
        nursery.start_soon(book.ask, "b")
        await trio.sleep(1)
        seen.append(book.accepting)
        await trio.sleep(5)
        seen.append(book.accepting)
        book.close()
        seen.append(book.accepting)
    assert seen == [False, True, False, True, False]


async def test_each_batch_is_observed_with_its_size_and_its_time() -> None:
    observed: list[tuple[int, float]] = []
    book = Notebook(before=[1.0, StorageUnavailable("away")])
    book.observer = lambda batch: observed.append((batch.size, batch.seconds))
    async with running([book]):
        await together(now(book.ask, "a"), after(0.1, book.ask, "b"), after(0.2, book.ask, "c"))
    assert observed == [(1, 1.0), (2, 0.0)]


async def test_the_observer_learns_when_a_batch_was_committed_after_how_many_attempts_and_how_it_failed() -> None:
    batches: list[ServedBatch] = []
    book = Notebook(before=[1.0, OutcomeUnknown(), None, StorageUnavailable("away"), RuntimeError("a bug")])
    book.observer = batches.append
    async with running([book]):
        for line in "abcd":
            await together(now(book.ask, line))
    assert [(batch.actor, batch.started, batch.committed, batch.attempts, batch.error) for batch in batches] == [
        (book.name, 0.0, 1.0, 1, ""),
        (book.name, 1.0, 1.05, 2, ""),
        (book.name, 1.05, 0.0, 1, "StorageUnavailable"),
        (book.name, 1.05, 0.0, 1, "RuntimeError"),
    ]
    assert [[envelope.message for envelope in batch.envelopes] for batch in batches] == [["a"], ["b"], ["c"], ["d"]]


async def test_a_message_carries_the_trace_of_the_task_that_posts_it() -> None:
    traces: list[TraceContext | None] = []
    book, span = Notebook(), TraceContext("a" * 32, "b" * 16, sampled=True)
    book.observer = lambda batch: traces.extend(envelope.trace for envelope in batch.envelopes)
    async with running([book]):
        await book.ask("untraced")
        trace_context.set(span)
        await book.ask("asked")
        assert book.tell("told")
    assert traces == [None, span, span]


async def test_an_actor_without_a_commit_is_abstract() -> None:
    with pytest.raises(NotImplementedError):
        await Actor[str, str]("bare", "node", ActorLimits()).commit(BatchId("node/bare", 1), ["a"])


async def test_a_new_actor_has_done_nothing_yet() -> None:
    fresh = Notebook().statistics()
    assert (fresh.state, fresh.accepting, fresh.capacity) == (State.NEW, False, ActorLimits().mailbox)
    assert (fresh.waiting, fresh.peak, fresh.batches, fresh.messages, fresh.last_batch) == (0, 0, 0, 0, 0)
    assert (fresh.refused, fresh.unavailable, fresh.settled, fresh.restarts, fresh.commit_seconds) == (0, 0, 0, 0, 0)


async def test_the_least_limits_will_do() -> None:
    least = ActorLimits(1, 1, settle_attempts=1, settle_pause_seconds=0.5, settle_pause_max_seconds=0.5)
    async with running([Notebook(limits=least)]):
        pass


@pytest.mark.parametrize(
    "wrong",
    [
        {"mailbox": 4, "batch": 5},
        {"batch": 0},
        {"settle_attempts": 0},
        {"settle_pause_seconds": 0.0},
        {"settle_pause_seconds": 2.0, "settle_pause_max_seconds": 1.0},
    ],
)
def test_limits_that_contradict_one_another_are_a_mistake(wrong: dict[str, float]) -> None:
    with pytest.raises(AssertionError):
        ActorLimits(**wrong)  # type: ignore[arg-type]


class Undoing(Notebook):
    """Records what it undoes."""

    def __init__(self, **more: object) -> None:
        super().__init__(limits=ActorLimits(answer_seconds=2.0), **more)  # type: ignore[arg-type]
        self.undone: list[str] = []

    def compensate(self, message: str, answer: str) -> None:
        self.undone.append(message)


async def test_whose_request_is_due_earlier_is_given_up_before_those_who_asked_first() -> None:
    book = Undoing(before=[1.5])

    async def hurried() -> str:
        answer_due.set(trio.current_time() + 0.5)
        return await book.ask("hurried")

    async with running([book]):
        began = trio.current_time()
        answers = await together(now(book.ask, "first"), after(0.1, hurried))
        assert trio.current_time() - began < 2.0
    assert kinds(answers) == [str, StorageUnavailable]
    assert book.lines == ["first"]


@pytest.mark.parametrize("no_timeout", [False, True])
async def test_a_caller_cancelled_before_its_deadline_has_nothing_undone(no_timeout: bool) -> None:
    book = Undoing(before=[3.0 if no_timeout else 1.0])
    async with running([book]):
        with trio.move_on_after(0.5):
            await book.ask("left", no_timeout=no_timeout)
        await trio.sleep(4.0)
    assert book.lines == ["left"]
    assert book.undone == []
