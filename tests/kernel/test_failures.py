"""Bugs: the batch fails, the actor restarts, and too many failures in a minute end the process."""

from collections.abc import Sequence

import pytest
import trio

from actors.kernel.actor import ActorLimits
from actors.kernel.mailbox import request_id
from actors.kernel.statistics import State
from actors.kernel.supervision import ActorSupervisor, Intensity, IntensityExceeded, running
from actors.values import ActorFailed, BatchId, OutcomeUnknown, Stopped, StorageUnavailable
from tests.fakes import HANGS_SECONDS, after, kinds, now, together
from tests.kernel.notebook import Notebook


async def fail(book: Notebook) -> None:
    with pytest.raises(ActorFailed, match=book.name):
        await book.ask("bug")


async def ask_as(book: Notebook, request: str, line: str) -> str:
    request_id.set(request)
    return await book.ask(line)


# One bug.


async def test_a_bug_fails_its_whole_batch_and_nothing_of_it_is_stored() -> None:
    book = Notebook(before=[1.0], limits=ActorLimits())
    async with running([book]):
        results = await together(
            now(book.ask, "a"), after(0.1, book.ask, "b"), after(0.2, book.ask, "bug"), after(0.3, book.ask, "c")
        )
    assert kinds(results) == [str, ActorFailed, ActorFailed, ActorFailed]
    assert book.lines == ["a"]


async def test_after_a_bug_the_actor_has_loaded_again_and_serves_under_new_batch_ids() -> None:
    book = Notebook()
    async with running([book]):
        await book.ask("a")
        await fail(book)
        assert await book.ask("b") == "1: b"
    assert book.loads.calls == 2
    assert book.loaded == ["a"]
    assert book.attempts == [(1, ["a"]), (2, ["bug"]), (3, ["b"])]


async def test_failures_of_batches_and_of_starts_are_counted_once_each() -> None:
    book = Notebook(loads=[None, RuntimeError("a bug"), RuntimeError("a bug")])
    async with running([book]):
        await fail(book)
        await trio.sleep(1)
        assert book.failures == 3
        await fail(book)
        assert book.failures == 4


@pytest.mark.parametrize(("error", "words"), [(StorageUnavailable("away"), "away"), (KeyError("x"), "KeyError('x')")])
async def test_a_restart_is_logged_with_an_expected_error_in_words_and_a_bug_by_its_class(
    error: Exception, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    book = Notebook(loads=[None, error])
    async with running([book]):
        await fail(book)
        await trio.sleep(1)
    restarts = [each for each in caplog.messages if "restarts" in each]
    assert restarts[1] == f"notebook restarts after a failure: {words}"


async def test_what_waited_in_the_mailbox_or_came_during_the_restart_is_served_after_it() -> None:
    book = Notebook(before=[1.0], loads=[None, 5.0], limits=ActorLimits())
    async with running([book]):
        results = await together(now(book.ask, "bug"), after(0.1, book.ask, "b"), after(3, book.ask, "c"))
    assert kinds(results) == [ActorFailed, str, str]
    assert book.lines == ["b", "c"]


async def test_while_it_restarts_an_actor_does_not_accept() -> None:
    book = Notebook(loads=[None, 5.0])
    async with running([book]):
        await fail(book)
        await trio.sleep(1)
        assert (book.state, book.accepting) == (State.FAILED, False)
        await trio.sleep(5)
        assert (book.state, book.accepting) == (State.RUNNING, True)
        assert book.statistics().restarts == 1


async def test_the_traceback_is_logged_with_the_requests_that_it_hit(caplog: pytest.LogCaptureFixture) -> None:
    book = Notebook(before=[1.0])
    async with running([book]):
        await together(
            after(0.0, ask_as, book, "req-1", "a"),
            after(0.1, ask_as, book, "req-3", "bug"),
            after(0.2, ask_as, book, "req-2", "c"),
        )
    first, second = caplog.records
    assert first.getMessage() == "notebook failed on a batch of 2; requests: req-2, req-3"
    assert first.exc_text is not None
    assert "a line that nobody expected" in first.exc_text
    assert second.getMessage() == "notebook restarts after a failure: RuntimeError('a line that nobody expected')"


@pytest.mark.parametrize("asked_by", ["", "req-7"])
async def test_a_bug_in_what_was_only_told_is_logged_with_its_request(
    asked_by: str, caplog: pytest.LogCaptureFixture
) -> None:
    book = Notebook()
    async with running([book]):
        request_id.set(asked_by)
        assert book.tell("bug")
        await trio.sleep(1)
    assert caplog.records[0].getMessage() == f"notebook failed on a batch of 1; requests: {asked_by or 'none'}"


async def test_a_bug_while_an_outcome_is_settled_fails_the_batch() -> None:
    class Forgetful(Notebook):
        async def commit(self, batch_id: BatchId, messages: Sequence[str]) -> Sequence[str]:
            if self.attempts:
                raise KeyError("forgotten")
            return await super().commit(batch_id, messages)

    book = Forgetful(after=[OutcomeUnknown()])
    async with running([book]):
        assert kinds(await together(now(book.ask, "a"))) == [ActorFailed]


@pytest.mark.parametrize("answers", [[], ["one", "two"]])
async def test_a_wrong_number_of_answers_is_a_bug(answers: list[str], caplog: pytest.LogCaptureFixture) -> None:
    class Miscounting(Notebook):
        async def commit(self, batch_id: BatchId, messages: Sequence[str]) -> Sequence[str]:
            return answers

    book = Miscounting()
    async with running([book]):
        assert kinds(await together(now(book.ask, "a"))) == [ActorFailed]
    assert f"notebook gave {len(answers)} answers to 1" in caplog.text


async def test_a_bug_of_one_actor_is_not_felt_by_another() -> None:
    one, other = Notebook("one"), Notebook("other")
    async with running([one, other]):
        results = await together(now(one.ask, "bug"), now(other.ask, "a"))
    assert kinds(results) == [ActorFailed, str]
    assert other.loads.calls == 1


# Too many bugs.


async def test_the_fifth_failure_within_a_minute_ends_the_process_and_cancels_the_body() -> None:
    book, words = Notebook(), r"notebook failed 5 times: RuntimeError\('a line that nobody expected'\)"
    with pytest.RaisesGroup(pytest.RaisesExc(IntensityExceeded, match=words)) as caught:
        async with running([book]):
            for _ in range(5):
                await fail(book)
            await trio.sleep(HANGS_SECONDS)
    assert book.loads.calls == 5
    assert isinstance(caught.value.exceptions[0].__cause__, RuntimeError)


async def test_four_failures_within_a_minute_are_survived() -> None:
    book = Notebook()
    async with running([book]):
        for _ in range(4):
            await fail(book)
        assert await book.ask("a") == "0: a"
    assert book.statistics().restarts == 4


@pytest.mark.parametrize(("pause", "survives"), [(15, False), (16, True)])
async def test_only_failures_within_one_window_add_up(pause: float, survives: bool) -> None:
    book = Notebook()

    async def fail_now_and_then(times: int) -> None:
        async with running([book]):
            for _ in range(times):
                await fail(book)
                await trio.sleep(pause)

    if survives:
        await fail_now_and_then(20)
    else:
        with pytest.RaisesGroup(IntensityExceeded):
            await fail_now_and_then(5)
        assert trio.current_time() == 60


async def test_a_burst_of_failures_ends_the_process_also_after_failures_long_ago() -> None:
    book = Notebook()
    with pytest.RaisesGroup(IntensityExceeded):
        async with running([book]):
            for pause in [100] * 7 + [1] * 4:
                await fail(book)
                await trio.sleep(pause)
            await fail(book)
            await trio.sleep(HANGS_SECONDS)
    assert trio.current_time() == 704


async def test_failures_of_different_actors_do_not_add_up() -> None:
    books = [Notebook("one"), Notebook("other")]
    async with running(books):
        for book in books * 4:
            await fail(book)
        assert await together(*[now(book.ask, "a") for book in books]) == ["0: a", "0: a"]


async def test_when_one_actor_ends_the_process_the_others_are_drained() -> None:
    book, other = Notebook("book"), Notebook("other", before=[1.0, 1.0])

    async def body() -> None:
        with pytest.RaisesGroup(IntensityExceeded):
            async with running([book, other], intensity=Intensity(failures=1)):
                await trio.sleep(HANGS_SECONDS)

    results = await together(
        body, now(other.ask, "a"), after(0.1, other.ask, "b"), after(0.5, book.ask, "bug"), after(0.6, other.ask, "c")
    )
    assert kinds(results) == [type(None), str, str, ActorFailed, Stopped]


class Stubborn:
    """A member that does not end, one of whose tasks fails as it is cancelled."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._fail_at_the_end)
            task_status.started()
            await trio.sleep_forever()

    async def _fail_at_the_end(self) -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise KeyError("a bug")

    def close(self) -> None: ...
    def abandon(self) -> None: ...


async def test_a_member_that_fails_while_it_is_ended_ends_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    async with running([Stubborn("one"), Stubborn("two")], drain_seconds=1.0):
        pass
    first, *others = caplog.messages
    assert first == "of one, two, some did not end within 1 s (actors.drain_seconds), and are ended now"
    error = "ExceptionGroup('Exceptions from Trio nursery', [KeyError('a bug')])"
    assert sorted(others) == [f"{name} failed while it was ended: {error}" for name in ("one", "two")]


async def test_callers_of_an_actor_that_is_not_restarted_get_an_error() -> None:
    book = Notebook(before=[1.0])

    async def body() -> None:
        with pytest.RaisesGroup(IntensityExceeded):
            async with running([book], intensity=Intensity(failures=1)):
                await trio.sleep(HANGS_SECONDS)

    results = await together(body, now(book.ask, "bug"), after(0.1, book.ask, "b"), after(2, book.ask, "c"))
    assert kinds(results) == [type(None), ActorFailed, Stopped, Stopped]


# Loading.


async def test_a_failure_of_the_first_load_comes_out_of_running_and_the_block_is_not_entered() -> None:
    book = Notebook(loads=[StorageUnavailable("away")])
    with pytest.RaisesGroup(pytest.RaisesExc(IntensityExceeded, match="notebook failed 1 times: .*away")):
        async with running([book]):
            pytest.fail("the block was entered")
    assert book.loads.calls == 1


async def test_a_failed_start_does_not_wait_for_the_actors_that_have_not_begun() -> None:
    first, broken, third = Notebook("first"), Notebook("broken", loads=[ValueError("no")]), Notebook("third")
    with pytest.RaisesGroup(IntensityExceeded):
        async with running([first, broken, third]):
            pytest.fail("the block was entered")
    assert trio.current_time() == 0
    assert [book.state for book in (first, broken, third)] == [State.STOPPED, State.STOPPED, State.NEW]


async def test_a_load_that_fails_after_a_restart_is_tried_again() -> None:
    book = Notebook(loads=[None, StorageUnavailable("away"), StorageUnavailable("away"), None])
    async with running([book]):
        await fail(book)
        assert await book.ask("a") == "0: a"
    assert book.loads.calls == 4


async def test_a_load_that_keeps_failing_after_a_restart_ends_the_process() -> None:
    book = Notebook(loads=[None] + [StorageUnavailable("away")] * 4)
    with pytest.RaisesGroup(pytest.RaisesExc(IntensityExceeded, match="notebook failed 5 times")):
        async with running([book]):
            await fail(book)
            await trio.sleep(HANGS_SECONDS)


async def test_the_block_begins_when_all_have_loaded() -> None:
    books = [Notebook(str(number), loads=[2.0]) for number in range(3)]
    async with running(books) as supervisor:
        assert trio.current_time() == 6
        assert isinstance(supervisor, ActorSupervisor)
        assert supervisor.members == books
        assert all(book.accepting for book in books)
