"""Shutdown: mailboxes close, queued messages are served, time is bounded, and every caller gets an answer."""

import pytest
import trio

from actors.kernel.actor import ActorLimits
from actors.kernel.statistics import State
from actors.kernel.supervision import running
from actors.values import ActorFailed, Overloaded, Stopped
from tests.fakes import HANGS_SECONDS, after, kinds, now, together
from tests.kernel.notebook import Notebook


async def test_leaving_serves_what_waits() -> None:
    book = Notebook(before=[2.0] * 3, limits=ActorLimits(batch=1))

    async def body() -> None:
        async with running([book]):
            await trio.sleep(1)

    results = await together(*[after(place / 10, book.ask, line) for place, line in enumerate("abc")], body)
    assert results == ["0: a", "1: b", "2: c", None]
    assert trio.current_time() == 6


async def test_an_actor_that_has_served_all_is_stopped() -> None:
    book = Notebook()
    async with trio.open_nursery() as nursery:
        await nursery.start(book.run)
        book.close()
    assert book.state is State.STOPPED


async def test_who_comes_after_the_end_began_is_refused() -> None:
    book = Notebook(before=[2.0])

    async def body() -> None:
        async with running([book]):
            await trio.sleep(1)

    results = await together(now(book.ask, "a"), after(1.5, book.ask, "b"), body)
    assert kinds(results[:2]) == [str, Stopped]


async def test_under_load_everyone_gets_an_answer_or_is_refused_and_all_answers_are_true() -> None:
    book = Notebook(before=[0.013] * 1_000, limits=ActorLimits(mailbox=40, batch=16))
    answers: list[str] = []
    ends: list[type] = []

    async def client(number: int) -> None:
        while True:
            try:
                answers.append(await book.ask(f"{number}/{len(answers)}"))
            except Overloaded:
                await trio.sleep(0.001 * (number % 5 + 1))
            except Stopped as end:
                ends.append(type(end))
                break

    with trio.fail_after(HANGS_SECONDS):
        async with trio.open_nursery() as clients, running([book]):
            for number in range(64):
                clients.start_soon(client, number)
            await trio.sleep(2)
    assert ends == [Stopped] * 64
    assert sorted(answers) == sorted(f"{place}: {line}" for place, line in enumerate(book.lines))
    assert book.statistics().refused > 64


async def test_a_commit_that_hangs_is_cut_off_when_the_time_is_up(caplog: pytest.LogCaptureFixture) -> None:
    book = Notebook(before=[3_600.0], limits=ActorLimits(batch=1, answer_seconds=60))

    async def body() -> None:
        async with running([book], drain_seconds=10):
            await trio.sleep(1)
        assert trio.current_time() == 11

    results = await together(now(book.ask, "a"), after(0.1, book.ask, "b"), body)
    assert kinds(results) == [ActorFailed, Stopped, type(None)]
    assert book.lines == []
    # Formatted as when it was logged: the text names the actor that hangs and its queue.
    assert "of notebook, some did not end within 10 s (actors.drain_seconds)" in caplog.text


async def test_one_that_hangs_does_not_keep_the_others_from_draining() -> None:
    patient = ActorLimits(batch=1, answer_seconds=60)
    hangs, well = (
        Notebook("hangs", before=[3_600.0], limits=patient),
        Notebook("well", before=[1.0] * 3, limits=patient),
    )

    async def body() -> None:
        async with running([hangs, well]):
            await trio.sleep(0.5)

    results = await together(
        now(hangs.ask, "x"), *[after(place / 10, well.ask, line) for place, line in enumerate("abc")], body
    )
    assert kinds(results[:-1]) == [ActorFailed, str, str, str]


async def test_a_bug_during_the_drain_restarts_the_actor_which_serves_the_rest() -> None:
    book = Notebook(before=[2.0] * 3, limits=ActorLimits(batch=1))

    async def body() -> None:
        async with running([book]):
            await trio.sleep(1)

    results = await together(*[after(place / 10, book.ask, line) for place, line in enumerate(["bug", "b", "c"])], body)
    assert kinds(results[:-1]) == [ActorFailed, str, str]
    assert book.lines == ["b", "c"]


async def test_a_body_that_raises_is_drained_and_its_error_comes_out_in_a_group() -> None:
    book = Notebook(before=[2.0, 2.0])

    async def body() -> None:
        with pytest.RaisesGroup(pytest.RaisesExc(ValueError, match="the server broke")):
            async with running([book]):
                await trio.sleep(1)
                raise ValueError("the server broke")

    results = await together(now(book.ask, "a"), after(0.1, book.ask, "b"), body)
    assert results == ["0: a", "1: b", None]


async def test_a_body_that_is_cancelled_from_outside_is_drained_in_peace() -> None:
    book = Notebook(before=[2.0, 2.0])

    async def body() -> None:
        with trio.move_on_after(1) as bound:
            async with running([book]):
                await trio.sleep(HANGS_SECONDS)
        assert bound.cancelled_caught
        assert trio.current_time() == 4

    results = await together(now(book.ask, "a"), after(0.1, book.ask, "b"), body)
    assert results == ["0: a", "1: b", None]


async def test_the_drain_of_a_cancelled_body_is_bounded_too() -> None:
    book = Notebook(before=[3_600.0], limits=ActorLimits(answer_seconds=60))

    async def body() -> None:
        with trio.move_on_after(1):
            async with running([book], drain_seconds=5):
                await trio.sleep(HANGS_SECONDS)
        assert trio.current_time() == 6

    assert kinds(await together(now(book.ask, "a"), body)) == [ActorFailed, type(None)]


@pytest.mark.parametrize("names", [("one", "other"), ()])
async def test_an_idle_or_empty_supervisor_ends_at_once(names: tuple[str, ...]) -> None:
    async with running([Notebook(name) for name in names]):
        pass
    assert trio.current_time() == 0


async def test_a_block_that_is_cancelled_already_starts_nobody() -> None:
    book = Notebook(loads=[3_600.0])
    with trio.CancelScope() as scope:
        scope.cancel()
        async with running([book]):
            pytest.fail("the block was entered")
    assert scope.cancelled_caught
    assert (trio.current_time(), book.loads.calls) == (0, 0)


async def test_cancelled_while_a_member_loads_it_ends_when_the_load_has() -> None:
    book, next_one = Notebook("book", loads=[2.0]), Notebook("next")
    with trio.move_on_after(1):
        async with running([book, next_one]):
            pytest.fail("the block was entered")
    assert trio.current_time() == 2
    assert (book.state, next_one.state) == (State.STOPPED, State.NEW)


async def test_cancelled_while_a_load_hangs_it_is_cut_off_when_the_time_is_up() -> None:
    book = Notebook(loads=[3_600.0])
    with trio.move_on_after(1):
        async with running([book], drain_seconds=5):
            pytest.fail("the block was entered")
    assert trio.current_time() == 6
    assert book.state is State.STOPPED


# Killed.


async def test_killed_actors_stop_where_they_stand() -> None:
    book = Notebook(before=[5.0], limits=ActorLimits(batch=1))

    async def body() -> None:
        async with running([book]) as supervisor:
            await trio.sleep(1)
            supervisor.kill()
            await trio.sleep(1)
            with pytest.raises(Stopped):
                await book.ask("c")
        assert trio.current_time() == 2

    results = await together(now(book.ask, "a"), after(0.1, book.ask, "b"), body)
    assert kinds(results) == [ActorFailed, Stopped, type(None)]
    assert book.lines == []
    assert book.state is State.STOPPED


async def test_a_kill_after_the_commit_loses_the_answer_and_not_the_line_and_is_no_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    book = Notebook(after=[5.0])

    async def body() -> None:
        async with running([book]) as supervisor:
            await trio.sleep(1)
            supervisor.kill()

    assert kinds(await together(now(book.ask, "a"), body)) == [ActorFailed, type(None)]
    assert book.lines == ["a"]
    assert caplog.records == []
    assert book.statistics().restarts == 0


async def test_a_member_that_ends_by_itself_is_not_started_again() -> None:
    book, other = Notebook("book"), Notebook("other")
    async with running([book, other]):
        book.close()
        await trio.sleep(1)
        assert book.state is State.STOPPED
        assert await other.ask("a") == "0: a"
    assert book.loads.calls == 1


async def test_the_mailbox_closes_for_everyone_before_anyone_is_waited_for() -> None:
    slow, quick = Notebook("slow", before=[5.0]), Notebook("quick")

    async def body() -> None:
        async with running([slow, quick]):
            await trio.sleep(1)

    results = await together(now(slow.ask, "a"), after(2, quick.ask, "b"), body)
    assert kinds(results[:2]) == [str, Stopped]
