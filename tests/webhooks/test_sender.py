"""The webhook sender in virtual time: prompt, at least once, in order, and slow receivers cost the others nothing."""

import json
import logging
from itertools import pairwise

import pytest
import trio
from trio.testing import MockClock

from actors.clock import DAY_MS, HOUR_MS, MINUTE_MS
from actors.webhooks.messages import DeliveryStatus, Task, WebhookStatus
from actors.webhooks.sender import SenderLimits
from actors.webhooks.sending import Retries
from actors.webhooks.store import DeliveryFailed
from tests.webhooks.exchange import NEVER, World

HOST = "host-1.example.com"


async def test_an_event_is_posted_at_once_when_the_sender_is_woken(autojump_clock: MockClock) -> None:
    world = World()
    world.add(1, 1)
    sender = world.sender()
    async with world.open(sender):
        await trio.sleep(2.5)
        await world.tell()
        sender.wake()
        await trio.sleep(0.1)
        assert world.begun == [(2.5, f"{HOST}:443", "evt_1")]
    assert (await world.post.log())[0].status is DeliveryStatus.DELIVERED


async def test_an_event_without_a_wake_is_posted_at_the_next_poll(autojump_clock: MockClock) -> None:
    world = World()
    world.add(1, 1)
    async with world.open(world.sender()):
        await trio.sleep(2.5)
        await world.tell()
        await trio.sleep(5)
    assert [at for at, _, _ in world.begun] == [5.0]


async def test_a_failed_delivery_is_retried_with_the_same_body_until_it_succeeds(autojump_clock: MockClock) -> None:
    world = World(replies={HOST: lambda task: 503 if task.delivery.attempts < 5 else 204})
    world.add(1, 1)
    await world.tell()
    async with world.open(world.sender()):
        await trio.sleep(200)
    pauses = [round(later[0] - sooner[0]) for sooner, later in zip(world.begun, world.begun[1:], strict=False)]
    assert pauses == [5, 10, 20, 40]
    assert len(set(world.bodies)) == 1
    [done] = await world.post.log()
    assert (done.status, done.attempts, done.answered) == (DeliveryStatus.DELIVERED, 5, 204)


async def test_a_receiver_is_left_alone_for_as_long_as_it_asks_up_to_the_longest_pause(
    autojump_clock: MockClock,
) -> None:
    asked = [120_000, 1_000, 10**12]

    def reply(task: Task) -> float | int | Exception:
        number = task.delivery.attempts
        return DeliveryFailed("status 503", 503, asked[number - 1]) if number <= len(asked) else 204

    world = World(replies={HOST: reply}, limits=SenderLimits(poll_seconds=600.0))
    world.add(1, 1)
    await world.tell()
    async with world.open(world.sender()):
        await trio.sleep(5 * HOUR_MS / 1_000)
    assert [round(later[0] - sooner[0]) for sooner, later in pairwise(world.begun)] == [120, 10, 4 * 3_600]


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (DeliveryFailed("the connection was refused"), "the connection was refused"),
        (DeliveryFailed("the TLS handshake failed"), "the TLS handshake failed"),
        (DeliveryFailed("the host has an address that is not public"), "the host has an address that is not public"),
        (NEVER, "no answer within 10 s"),
        (RuntimeError("a bug of this test"), "RuntimeError"),
    ],
)
async def test_what_is_not_http_is_one_error_for_accounts_and_its_cause_for_the_log(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, reply: float | Exception, cause: str
) -> None:
    """A webhook can name any host and port, so its errors would map the ports of others."""
    caplog.set_level(logging.INFO)
    world = World(replies={HOST: lambda _: reply}, limits=SenderLimits(poll_seconds=600.0))
    await world.post.open()
    world.add(1, 1)
    await world.tell()
    async with world.open(world.sender()):
        await trio.sleep(3.1 * DAY_MS / 1_000)
    [waiting] = await world.post.log()
    assert (waiting.last_error, waiting.answered) == ("no HTTP response", None)
    [mail] = await world.post.mails()
    assert json.loads(mail.facts)["error"] == "no HTTP response"
    [off] = world.memory.webhooks.values()
    assert off.disabled_reason == "No delivery succeeded for 3 days. Last error: no HTTP response."
    assert f"failed on attempt 1: {cause}" in caplog.text


async def test_pauses_end_at_four_hours_and_after_three_days_the_webhook_is_off(autojump_clock: MockClock) -> None:
    world = World(replies={HOST: lambda _: 500}, limits=SenderLimits(poll_seconds=600.0))
    await world.post.open()
    world.add(1, 1)
    await world.tell(3, subject="bok_1")
    async with world.open(world.sender()):
        await trio.sleep(4 * DAY_MS / 1_000)
    pauses = [later[0] - sooner[0] for sooner, later in zip(world.begun, world.begun[1:], strict=False)]
    assert round(max(pauses)) == 4 * HOUR_MS / 1_000
    assert 3 * 86_400 <= world.begun[-1][0] < 3 * 86_400 + 4 * 3_600 + 600
    assert await world.post.status() is WebhookStatus.DISABLED
    assert [each.status for each in await world.post.log()] == [DeliveryStatus.WAITING] * 3
    assert [mail.template for mail in await world.post.mails()] == ["webhook_off"]


async def test_a_webhook_that_is_turned_on_gets_what_waited_in_order(autojump_clock: MockClock) -> None:
    world = World(replies={HOST: lambda _: 410})
    world.add(1, 1)
    events = await world.tell(3, subject="bok_1")
    async with world.open(world.sender()):
        await trio.sleep(1)
        assert await world.post.status() is WebhookStatus.DISABLED
        world.replies.clear()
        await world.post.enable(now_ms=world.clock.now_ms())
        await trio.sleep(20)
    assert world.got("whk_1") == events


async def test_a_later_event_of_a_booking_waits_for_the_earlier_and_others_do_not(autojump_clock: MockClock) -> None:
    world = World(
        replies={HOST: lambda task: 500 if task.delivery.attempts == 1 and "1" in task.delivery.event_id else 200}
    )
    world.add(1, 1)
    await world.tell(2, subject="bok_a")
    await world.tell(1, subject="bok_b")
    async with world.open(world.sender()):
        await trio.sleep(60)
    got = world.got("whk_1")
    assert sorted(got) == ["evt_1", "evt_2", "evt_3"]
    assert got.index("evt_1") < got.index("evt_2")


@pytest.mark.parametrize("reply", [lambda _: NEVER, lambda _: 500, lambda _: 9.9], ids=["hangs", "fails", "is slow"])
async def test_a_bad_receiver_costs_twenty_good_ones_nothing(autojump_clock: MockClock, reply: object) -> None:
    """One account has ten webhooks on one bad host, and a hundred accounts have one there each."""
    world = World(replies={"bad.example.com": reply})  # type: ignore[dict-item]
    for number in range(100):
        world.add(1_000 + number, 1_000 + number, host="bad.example.com")
    for number in range(10):
        world.add(2_000 + number, 2_000, host="bad.example.com")
    for number in range(1, 21):
        world.add(number, number)
    sender = world.sender()
    async with world.open(sender):
        for _ in range(6):
            for owner in (*range(1_000, 1_100), 2_000, *range(1, 21)):
                await world.tell(owner=owner)
            sender.wake()
            began = trio.current_time()
            await trio.sleep(1.0)
            fresh = [each for each in world.received if each.at >= began and int(each.webhook_id[4:]) < 1_000]
            assert len(fresh) == 20, "each good receiver has its event"
            assert max(each.at for each in fresh) - began < 0.5
            await trio.sleep(9.0)
    assert world.busiest["bad.example.com:443"] <= 2


async def test_many_slow_hosts_together_leave_half_of_the_attempts_to_others(autojump_clock: MockClock) -> None:
    world = World(limits=SenderLimits(sends=8))
    for number in range(100, 150):
        world.add(number, number)
        world.replies[f"host-{number}.example.com"] = lambda _: NEVER
    world.add(1, 1)
    sender = world.sender()
    async with world.open(sender):
        for owner in range(100, 150):
            await world.tell(owner=owner)
        # All are known to be slow after their first attempt.
        await trio.sleep(120)
        for _ in range(50):
            await world.tell()
            sender.wake()
            await trio.sleep(1.0)
            assert len(world.received) == world._told - 50
            assert sum(busy for host, busy in world.busy.items() if host != f"{HOST}:443") <= 4


async def test_new_webhooks_that_hang_leave_half_of_the_attempts_to_others(autojump_clock: MockClock) -> None:
    world = World(limits=SenderLimits(sends=8))
    for number in range(100, 150):
        world.add(number, number, slow=True)
        world.replies[f"host-{number}.example.com"] = lambda _: NEVER
    world.add(1, 1)
    async with world.open(world.sender()):
        for owner in range(100, 150):
            await world.tell(owner=owner)
        await world.tell()
        await trio.sleep(5.1)
        assert [each.webhook_id for each in world.received] == ["whk_1"]
        assert sum(world.busy.values()) == 4


async def test_two_nodes_post_each_delivery_once(autojump_clock: MockClock) -> None:
    world = World(replies={HOST: lambda _: 0.5})
    world.add(1, 1)
    async with world.open(world.sender(), world.sender()):
        await world.tell(20)
        await trio.sleep(60)
    assert sorted(world.got("whk_1")) == sorted({event for _, _, event in world.begun})
    assert len(world.begun) == 20


async def test_an_event_that_is_too_old_is_given_up_unsent(autojump_clock: MockClock) -> None:
    minutes = Retries(pause_ms=1_000, pause_max_ms=2_000, give_up_ms=MINUTE_MS, keep_ms=2 * MINUTE_MS)
    world = World(limits=SenderLimits(retries=minutes))
    world.add(1, 1)
    await world.tell()
    await trio.sleep(121)
    async with world.open(world.sender()):
        await trio.sleep(5)
    assert world.begun == []
    [old] = await world.post.log()
    assert (old.status, old.last_error) == (DeliveryStatus.FAILED, "not delivered in time")


async def test_the_sender_tells_what_waits_and_what_it_did(autojump_clock: MockClock) -> None:
    world = World(replies={HOST: lambda _: 500})
    world.add(1, 1)
    world.add(2, 2)
    await world.tell()
    await world.tell(owner=2)
    sender = world.sender()
    async with world.open(sender):
        await trio.sleep(11)
        assert sender.backlog.waiting == 1
        assert 9 <= sender.oldest_seconds() <= 12
        assert sender.late_seconds() == 0
        assert (sender.sent, sender.refused, sender.disabled) == (1, 2, 0)
        assert "on their way" in repr(sender)
        assert sender.statistics().messages == 1
