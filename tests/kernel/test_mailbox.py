"""The mailbox and the reply: order, bounds, and replies that never raise when they are filled."""

import pytest
import trio
from trio.testing import assert_checkpoints

from actors.kernel.mailbox import Envelope, Mailbox, Reply, copy_of
from actors.values import Overloaded, Stopped, StorageUnavailable


def filled(*lines: str, capacity: int = 10) -> Mailbox[str, str]:
    mailbox: Mailbox[str, str] = Mailbox(capacity)
    for line in lines:
        mailbox.post(Envelope(line))
    return mailbox


async def taken(mailbox: Mailbox[str, str], limit: int = 10) -> list[str]:
    return [envelope.message for envelope in await mailbox.take(limit)]


# The reply.


async def test_a_reply_wakes_the_reader_who_waits() -> None:
    reply: Reply[str] = Reply()
    async with trio.open_nursery() as nursery:

        async def fill() -> None:
            await trio.sleep(1)
            reply.answer("yes")

        nursery.start_soon(fill)
        assert await reply.wait() == "yes"
        assert trio.current_time() == 1


async def test_the_first_answer_or_failure_stands() -> None:
    answered, failed = Reply[str](), Reply[str]()
    answered.answer("first")
    failed.fail(StorageUnavailable("away"))
    for reply in (answered, failed):
        reply.answer("late")
        reply.fail(Stopped())
    assert await answered.wait() == "first"
    with pytest.raises(StorageUnavailable, match="away"):
        await failed.wait()


async def test_a_reply_whose_reader_left_is_filled_without_harm_and_read_by_a_second_one() -> None:
    reply: Reply[str] = Reply()
    with trio.move_on_after(1) as bound:
        await reply.wait()
    assert bound.cancelled_caught
    reply.answer("yes")
    assert await reply.wait() == "yes"


async def test_a_reply_is_read_once() -> None:
    reply: Reply[str] = Reply()
    reply.answer("yes")
    await reply.wait()
    with pytest.raises(AssertionError, match="read once"):
        await reply.wait()


async def test_two_readers_at_once_are_refused() -> None:
    reply: Reply[str] = Reply()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reply.wait)
        await trio.sleep(1)
        with pytest.raises(AssertionError, match="a reply has one reader"):
            await reply.wait()
        reply.answer("to the first")


async def test_waiting_for_a_full_reply_is_a_checkpoint() -> None:
    reply: Reply[str] = Reply()
    reply.answer("yes")
    with assert_checkpoints():
        await reply.wait()


def test_a_reply_says_what_it_holds() -> None:
    reply: Reply[int] = Reply()
    assert repr(reply) == "<Reply empty>"
    reply.answer(3)
    assert repr(reply) == "<Reply 3>"


# The mailbox.


async def test_messages_come_out_in_the_order_in_which_they_went_in() -> None:
    assert await taken(filled("a", "b", "c")) == ["a", "b", "c"]


async def test_taking_waits_for_the_first_message() -> None:
    mailbox = filled()
    async with trio.open_nursery() as nursery:

        async def post() -> None:
            await trio.sleep(1)
            mailbox.post(Envelope("a"))

        nursery.start_soon(post)
        assert await taken(mailbox) == ["a"]
        assert trio.current_time() == 1


def test_a_full_mailbox_refuses_at_once() -> None:
    mailbox = filled("a", "b", capacity=2)
    with pytest.raises(Overloaded):
        mailbox.post(Envelope("c"))
    assert len(mailbox) == 2


def test_a_closed_mailbox_refuses() -> None:
    mailbox = filled()
    mailbox.close()
    with pytest.raises(Stopped):
        mailbox.post(Envelope("a"))


def test_a_closed_and_full_mailbox_says_that_it_is_closed() -> None:
    mailbox = filled("a", capacity=1)
    mailbox.close()
    with pytest.raises(Stopped):
        mailbox.post(Envelope("b"))


async def test_what_waits_in_a_closed_mailbox_can_be_taken_and_then_comes_nothing() -> None:
    mailbox = filled("a")
    mailbox.close()
    assert await taken(mailbox) == ["a"]
    assert await taken(mailbox) == []


async def test_closing_wakes_the_taker() -> None:
    mailbox = filled()
    async with trio.open_nursery() as nursery:

        async def close() -> None:
            await trio.sleep(1)
            mailbox.close()

        nursery.start_soon(close)
        assert await taken(mailbox) == []


async def test_a_cancelled_taker_loses_no_message() -> None:
    mailbox = filled("a")
    with trio.CancelScope() as scope:
        scope.cancel()
        await mailbox.take(10)
    assert scope.cancelled_caught
    assert await taken(mailbox) == ["a"]


async def test_failing_all_answers_everything_that_waits() -> None:
    envelopes = [Envelope[str, str]("a"), Envelope[str, str]("b")]
    mailbox = filled()
    for envelope in envelopes:
        mailbox.post(envelope)
    mailbox.fail_all(Stopped())
    mailbox.remove(envelopes[0])
    assert (len(mailbox), mailbox.weight) == (0, 0)
    for envelope in envelopes:
        with pytest.raises(Stopped):
            await envelope.wait()


def test_a_twin_tells_where_and_why_it_went_wrong_as_the_error_does() -> None:
    try:
        raise StorageUnavailable("away") from ConnectionError("reset")
    except StorageUnavailable as caught:
        error = caught
    one = copy_of(error)
    assert one is not error
    assert one.args == ("away",)
    assert (one.__cause__, one.__traceback__) == (error.__cause__, error.__traceback__)
    assert one.__traceback__ is not None


async def test_the_peak_is_remembered() -> None:
    mailbox = filled("a", "b", "c")
    await mailbox.take(10)
    assert mailbox.peak == 3


def test_a_mailbox_without_room_is_a_mistake() -> None:
    with pytest.raises(AssertionError):
        Mailbox(0)
