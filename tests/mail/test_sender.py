"""The mail sender in virtual time: prompt, at least once, never twice within a lease, never for ever.

The webhook sender works in the same way; `tests/webhooks` tests what is its own."""

import logging

import pytest
import trio

from actors.clock import DAY_MS
from actors.kernel.statistics import State
from actors.mail.actor import MailLimits
from actors.mail.messages import Mail, MailFailed, MailRefused, QueuedMessage
from actors.values import Contended, OutcomeUnknown, StorageUnavailable
from tests.doubles.tables import Memory
from tests.fakes import Script, Step
from tests.mail.outgoing import CODE, Outgoing, Transport

FAILS: list[Step] = [MailFailed("451 try later")] * 1_000


async def test_a_mail_goes_out_at_once_when_the_sender_is_woken() -> None:
    outgoing = Outgoing()
    sender = outgoing.sender()
    async with outgoing.open(sender):
        await trio.sleep(2.5)
        outgoing.post()
        sender.wake()
        await trio.sleep(0.01)
        assert outgoing.transport.sent == [(2.5, "let_1")]
        assert outgoing.since_ms((await outgoing.message()).sent_ms) == 2.5


async def test_a_mail_without_a_wake_goes_out_at_the_next_poll() -> None:
    outgoing = Outgoing()
    async with outgoing.open(outgoing.sender()):
        await trio.sleep(2.5)
        outgoing.post()
        await trio.sleep(5)
    assert outgoing.transport.sent == [(5.0, "let_1")]


async def test_a_mail_that_comes_while_the_store_is_read_is_sent_at_once() -> None:
    outgoing = Outgoing(memory=Memory(after=Script([1.0])))
    sender = outgoing.sender()
    async with outgoing.open(sender):
        await trio.sleep(0.5)
        outgoing.post()
        sender.wake()
        await trio.sleep(1)
    assert [message_id for _, message_id in outgoing.transport.sent] == ["let_1"]


async def test_the_sender_tells_how_many_mails_waited_at_its_last_poll_and_since_when() -> None:
    outgoing = Outgoing(*FAILS)
    sender = outgoing.sender()
    async with outgoing.open(sender):
        assert (sender.backlog.waiting, sender.oldest_seconds()) == (0, 0.0)
        await trio.sleep(2)
        outgoing.post("let_1")
        await trio.sleep(2)
        outgoing.post("let_2")
        await trio.sleep(2)
        assert (sender.backlog.waiting, sender.oldest_seconds()) == (2, 4.0)
    outgoing.transport = Transport()
    relieved = outgoing.sender()
    async with outgoing.open(relieved):
        await trio.sleep(70)
        assert (relieved.backlog.waiting, relieved.oldest_seconds()) == (0, 0.0)


LEASE, PRUNE = None, None
AWAY, LOST = StorageUnavailable("away"), OutcomeUnknown("lost")
TRIED: dict[str, tuple[list[Step], list[Step], list[Step], list[float], str | None]] = {
    "failed: after one second, then two, then four": (FAILS[:4], [], [], [0, 1, 3, 7, 15], "451 try later"),
    "refused: never again": ([MailRefused("550 no such user")], [], [], [0], "550 no such user"),
    "never ended: cut off and tried again": ([1_000.0], [], [], [0, 16], "not sent within 15 s"),
    "store away: when it is back": ([], [AWAY] * 5, [], [5], None),
    "store contended: at the next poll": ([], [Contended("met")] * 5, [], [5], None),
    "leases unknown: at the next poll": ([], [LOST] * 5, [], [5], None),
    "answer to the lease lost: when it ends": ([], [], [LOST], [60], None),
    "lease late: when it ends": ([], [], [50.0], [60], None),
    "store away after the mail: once": ([], [LEASE, PRUNE, *[AWAY] * 30], [], [0], None),
    "outcome of the mark unknown: once": ([], [], [LEASE, PRUNE, LOST], [0], None),
}
"""What the server does, what the store does before and after each call, when the mail is tried, and its last error."""


@pytest.mark.parametrize("name", TRIED)
async def test_a_mail_is_tried_until_it_is_sent_or_refused(name: str) -> None:
    steps, before, later, tried, error = TRIED[name]
    outgoing = Outgoing(*steps, memory=Memory(before=Script(before), after=Script(later)))
    outgoing.post()
    sender = outgoing.sender()
    async with outgoing.open(sender):
        await trio.sleep(120)
        statistics = sender.statistics()
    assert outgoing.transport.begun == tried
    message = await outgoing.message()
    assert message.last_error == error
    refused = error is not None and error.startswith("550")
    assert (message.sent_ms is None, outgoing.since_ms(message.failed_ms)) == (refused, 0 if refused else None)
    assert (statistics.waiting, statistics.restarts) == (0, 0)
    assert statistics.settled == [*before, *later].count(LOST)


async def test_a_recipient_that_is_no_plain_address_is_refused_before_any_transport_sees_it() -> None:
    outgoing = Outgoing()
    outgoing.post(recipient="anna@example.com, eve@example.com")
    async with outgoing.open(outgoing.sender()):
        await trio.sleep(1)
    assert outgoing.transport.begun == []
    assert (await outgoing.message()).last_error == "the recipient is not a plain address"


async def test_a_template_of_a_newer_node_waits_for_that_node() -> None:
    outgoing = Outgoing()
    outgoing.post(template="of_tomorrow")
    async with outgoing.open(outgoing.sender()):
        await trio.sleep(10)
    message = await outgoing.message()
    assert message.done_ms is None
    assert message.attempts == 4


async def test_one_hanging_mail_does_not_keep_the_others_waiting() -> None:
    outgoing = Outgoing(1_000.0)
    for number in range(9):
        outgoing.post(f"let_{number}")
    async with outgoing.open(outgoing.sender()):
        await trio.sleep(1)
        assert len(outgoing.transport.sent) == 8


async def test_sends_at_once_are_bounded_and_all_mails_go_out_without_a_poll_between() -> None:
    outgoing = Outgoing(*[place / 100 for place in range(1, 21)])
    for number in range(20):
        outgoing.post(f"let_{number:02}")
    sender = outgoing.sender()
    async with outgoing.open(sender):
        await trio.sleep(1)
    assert len(outgoing.transport.sent) == 20
    assert outgoing.transport.busiest == outgoing.limits.sends == sender.statistics().peak


async def test_a_bug_with_one_mail_stops_neither_the_sender_nor_the_others(caplog: pytest.LogCaptureFixture) -> None:
    outgoing = Outgoing(RuntimeError(f"cannot send {CODE}"))
    outgoing.post("let_1")
    sender = outgoing.sender()
    async with outgoing.open(sender):
        await trio.sleep(0.5)
        outgoing.post("let_2")
        sender.wake()
        await trio.sleep(0.1)
        assert [message_id for _, message_id in outgoing.transport.sent] == ["let_2"]
        assert (await outgoing.message("let_1")).last_error == "RuntimeError"
        await trio.sleep(1)
    assert len(outgoing.transport.sent) == 2
    assert sender.statistics().restarts == 0
    assert "RuntimeError" in caplog.text
    assert CODE not in caplog.text


async def test_a_mail_that_is_out_while_others_are_marked_is_marked_next() -> None:
    lease, prune, mark = None, None, 1.0
    outgoing = Outgoing(0.1, 0.5, memory=Memory(before=Script([lease, prune, mark])))
    outgoing.post("let_1")
    outgoing.post("let_2")
    async with outgoing.open(outgoing.sender()):
        await trio.sleep(120)
    assert len(outgoing.transport.sent) == 2
    assert [message.attempts for message in await outgoing.store.recent(2)] == [1, 1]


async def test_on_closing_the_sends_in_flight_are_finished_and_the_rest_stays() -> None:
    outgoing = Outgoing(5.0, 5.0, limits=MailLimits(sends=2))
    for number in range(5):
        outgoing.post(f"let_{number}")
    sender = outgoing.sender()
    async with outgoing.open(sender):
        await trio.sleep(1)
    assert trio.current_time() == 5
    assert sorted(message_id for _, message_id in outgoing.transport.sent) == ["let_0", "let_1"]
    done = [message.id for message in await outgoing.store.recent(10) if message.done_ms is not None]
    assert sorted(done) == ["let_0", "let_1"]
    assert sender.state is State.STOPPED


async def test_on_closing_a_send_that_hangs_is_cut_off_and_its_mail_is_sent_when_the_lease_ends() -> None:
    outgoing = Outgoing(1_000.0)
    outgoing.post()
    async with outgoing.open(outgoing.sender()):
        await trio.sleep(1)
    assert trio.current_time() == 1 + outgoing.limits.close_seconds
    assert (await outgoing.message()).done_ms is None
    async with outgoing.open(outgoing.sender()):
        await trio.sleep(100)
    assert outgoing.transport.sent == [(60.0, "let_1")]


async def test_on_closing_with_the_store_away_the_sender_ends_in_time() -> None:
    lease, prune = None, None
    outgoing = Outgoing(0.5, memory=Memory(before=Script([lease, prune, *[StorageUnavailable("away")] * 100])))
    outgoing.post()
    async with outgoing.open(outgoing.sender()):
        await trio.sleep(1)
    assert trio.current_time() <= 1 + outgoing.limits.close_seconds


async def test_an_idle_sender_closes_at_once() -> None:
    outgoing = Outgoing()
    async with outgoing.open(outgoing.sender()):
        await trio.sleep(1)
    assert trio.current_time() == 1


async def test_a_node_killed_between_sending_and_marking_sends_again_after_the_lease() -> None:
    outgoing = Outgoing()
    outgoing.post()
    async with outgoing.open(outgoing.sender()) as supervisor:
        outgoing.transport.on_sent = supervisor.kill
        await trio.sleep(1)
    outgoing.transport.on_sent = lambda: None
    assert (await outgoing.message()).sent_ms is None
    async with outgoing.open(outgoing.sender()):
        await trio.sleep(100)
    assert outgoing.transport.sent == [(0.0, "let_1"), (60.0, "let_1")]
    assert (await outgoing.message()).sent_ms is not None


async def test_two_senders_on_one_store_do_not_send_a_mail_twice() -> None:
    steps: list[Step] = [0.3, 2.0, 14.0, MailFailed("451 later")]
    outgoing = Outgoing(*steps * 10)
    one, other = outgoing.sender(), outgoing.sender()
    async with outgoing.open(one, other):
        for number in range(40):
            outgoing.post(f"let_{number:02}")
            one.wake()
            other.wake()
            await trio.sleep(0.1)
        await trio.sleep(300)
    sent = [message_id for _, message_id in outgoing.transport.sent]
    assert sorted(sent) == [f"let_{number:02}" for number in range(40)]
    assert one.statistics().messages > 0 < other.statistics().messages


async def test_an_idle_sender_looks_once_a_poll_and_deletes_once_an_hour() -> None:
    store = Script()
    outgoing = Outgoing(memory=Memory(before=store))
    async with outgoing.open(outgoing.sender()):
        await trio.sleep(3_599)
        looks, deletions = 3_600 // 5, 1
        assert store.calls == looks + deletions
        await trio.sleep(2)
        assert store.calls == looks + deletions + 2


async def test_mails_done_long_ago_are_deleted_in_batches() -> None:
    outgoing = Outgoing(limits=MailLimits(prune_rows=10, poll_seconds=300))
    for number in range(35):
        outgoing.post(f"let_{number:02}")
    async with outgoing.open(outgoing.sender()):
        await trio.sleep(DAY_MS * 6 // 1_000)
        assert len(outgoing.memory.messages) == 35
        await trio.sleep(DAY_MS * 2 // 1_000)
    assert (outgoing.memory.messages, outgoing.memory.outbox) == ({}, {})


async def test_logs_mask_the_recipient_and_never_hold_the_code(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    outgoing = Outgoing(MailFailed(f"451 <anna@example.com> said {CODE}\r\nand more"), None, MailRefused("550 no"))
    outgoing.post()
    sender = outgoing.sender()
    async with outgoing.open(sender):
        await trio.sleep(2)
        outgoing.post("let_2")
        sender.wake()
        await trio.sleep(1)
    assert caplog.text.count("a***@example.com") >= 3
    assert "anna" not in caplog.text
    assert CODE not in caplog.text
    assert (await outgoing.message()).last_error == "451 <a***@example.com> said ###### and more"


async def test_recent_mails_are_shown_in_words_newest_first() -> None:
    outgoing = Outgoing()
    sender = outgoing.sender()
    outgoing.post("let_1")
    await trio.sleep(1)
    outgoing.post("let_2", template="of_tomorrow")
    newest, oldest = await sender.recent(10)
    assert (newest.message.id, newest.mail) == ("let_2", None)
    assert oldest.mail is not None
    assert CODE in oldest.mail.text
    assert [shown.message.id for shown in await sender.recent(1)] == ["let_2"]


async def test_statistics_count_what_was_sent_and_given_up() -> None:
    outgoing = Outgoing(None, MailRefused("550 no"))
    sender = outgoing.sender()
    async with outgoing.open(sender):
        for message_id in ("let_1", "let_2"):
            outgoing.post(message_id)
            sender.wake()
            await trio.sleep(1)
        statistics = sender.statistics()
        assert (statistics.state, statistics.accepting) == (State.RUNNING, True)
    assert (statistics.batches, statistics.messages, statistics.refused) == (2, 1, 1)
    assert repr(sender) == "<MailSender stopped 0/4 on their way, 1 sent>"
    assert not sender.statistics().accepting


async def test_a_sender_that_failed_can_be_run_again() -> None:
    class Broken(Exception):
        pass

    outgoing = Outgoing(memory=Memory(before=Script([Broken()])))
    outgoing.post()
    sender = outgoing.sender()
    async with outgoing.open(sender):
        await trio.sleep(1)
    assert len(outgoing.transport.sent) == 1
    assert sender.statistics().restarts == 1


async def test_a_renderer_with_a_bug_fails_its_mail_only() -> None:
    def write(message: QueuedMessage) -> Mail:
        raise KeyError(message.id)

    outgoing = Outgoing()
    outgoing.post()
    sender = outgoing.sender(write)
    async with outgoing.open(sender):
        await trio.sleep(1)
        assert sender.state is State.RUNNING
    assert (await outgoing.message()).last_error == "KeyError"


async def test_catching_up_sends_and_records_all_that_is_due_and_waits_for_no_retry() -> None:
    outgoing = Outgoing(*[1.0] * 8, MailFailed("451 try later"))
    sender = outgoing.sender()
    async with outgoing.open(sender):
        await trio.sleep(1)
        for number in range(10):
            outgoing.post(f"let_{number}")
        await sender.catch_up()
        assert trio.current_time() == 3
        states = [await outgoing.message(f"let_{number}") for number in range(10)]
        assert sum(each.sent_ms is not None for each in states) == 9
        assert [each.due_ms > each.created_ms for each in states if each.sent_ms is None] == [True]
