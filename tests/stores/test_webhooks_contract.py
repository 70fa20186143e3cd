"""The contract of the webhook store, in memory and over Postgres."""

import json
from dataclasses import replace

import pytest

from actors.times import DAY_MS, HOUR_MS, SECOND_MS
from actors.values import BatchId, Code, Done, Refused
from actors.webhooks.messages import (
    Backlog,
    CreateWebhook,
    Delivery,
    DeliveryStatus,
    EventType,
    Queued,
    WebhookSaved,
    WebhookStatus,
)
from tests.doubles.tables import Memory
from tests.stores.conftest import Stores
from tests.stores.webhooks import LEASE_MS, NOW, Post, audit, refused, room, taken, tenant, told, webhook


@pytest.fixture
async def post(stores: Stores) -> Post:
    opened = Post(stores.webhooks, stores.below)
    await opened.open()
    return opened


def events(log: list[Delivery], status: DeliveryStatus = DeliveryStatus.WAITING) -> list[str]:
    return [each.event_id for each in log if each.status is status]


# Endpoints.


async def test_webhooks_are_kept_as_created_and_listed_by_account(post: Post) -> None:
    first, second = replace(webhook(1), slow=True), webhook(2, events=[EventType.BOOKING_PAID])
    others = webhook(3, owner=2)
    await post.add(first, second, others)
    assert await post.store.webhooks(tenant(1)) == [first, second]
    assert await post.store.webhook(tenant(2), "whk_3") == others
    assert await post.store.webhook(tenant(1), "whk_3") is None


async def test_an_account_has_a_bounded_number_of_webhooks(post: Post) -> None:
    answers = await post.send(*(CreateWebhook(webhook(n), False, audit(f"{n}")) for n in range(1, 6)))
    assert [type(each) for each in answers] == [WebhookSaved] * 3 + [Refused] * 2
    [again] = await post.send(CreateWebhook(webhook(9), False, audit("9")))
    assert isinstance(again, Refused)
    assert again.code is Code.WEBHOOK_LIMIT
    assert len(await post.store.webhooks(tenant(1))) == 3


async def test_an_account_has_one_webhook_for_a_url(post: Post) -> None:
    same = replace(webhook(2), url=webhook(1).url)
    answers = await post.send(CreateWebhook(webhook(1), False, audit("1")), CreateWebhook(same, False, audit("2")))
    assert isinstance(answers[1], Refused)
    assert answers[1].code is Code.INVALID_STATE
    await post.add(replace(same, id="whk_3", tenant_id=tenant(2)))
    assert len(await post.store.webhooks(tenant(2))) == 1


async def test_a_batch_that_is_repeated_creates_once(post: Post) -> None:
    batch_id, message = BatchId("node/webhooks", 1), CreateWebhook(webhook(1), False, audit("1"))
    first = await post.send(message, batch_id=batch_id)
    assert await post.send(message, batch_id=batch_id) == first
    assert await post.store.webhooks(tenant(1)) == [webhook(1)]


async def test_a_keyed_creation_that_is_repeated_returns_the_webhook(post: Post) -> None:
    first = CreateWebhook(webhook(1), True, audit("1"))
    later = CreateWebhook(replace(webhook(1), created_ms=NOW + 9), True, audit("2"))
    other = CreateWebhook(replace(webhook(1), url="https://other.example.com/"), True, audit("3"))
    answers = await post.send(first, later, other)
    assert answers[:2] == [WebhookSaved(webhook(1))] * 2
    assert isinstance(answers[2], Refused)
    assert answers[2].code is Code.IDEMPOTENCY_CONFLICT


async def test_a_deleted_webhook_is_gone_with_its_deliveries(post: Post) -> None:
    await post.add(webhook(1), webhook(2))
    await post.publish(told(1))
    assert await post.delete(1) == Done()
    assert isinstance(await post.delete(1), Refused)
    assert isinstance(await post.delete(2, owner=2), Refused)
    assert await post.log(1) == []
    assert await post.deliver_all() == ["evt_1"]


# Events.


async def test_an_event_is_told_to_the_enabled_webhooks_of_its_account_that_want_it(post: Post) -> None:
    await post.add(webhook(1), webhook(2, events=[EventType.CAMPAIGN_APPROVED]), webhook(3, owner=2))
    await post.publish(told(1), told(2, "cmp_1", kind=EventType.CAMPAIGN_APPROVED), told(3, "bok_9", owner=2))
    assert [events(await post.log(n)) for n in (1, 2, 3)] == [["evt_1", "evt_2"], ["evt_2"], ["evt_3"]]
    [first, _] = await post.log(1)
    assert json.loads(first.body) == {
        "type": "booking.paid",
        "timestamp": "2026-09-21T14:13:20.000Z",
        "data": {"number": 1},
    }


async def test_an_event_that_is_told_again_adds_nothing(post: Post) -> None:
    await post.add(webhook(1))
    await post.publish(told(1))
    await post.publish(told(1), told(2))
    assert events(await post.log()) == ["evt_1", "evt_2"]
    assert [await post.store.count_deliveries("whk_1", most) for most in (10, 1)] == [2, 1]
    await post.publish()


async def test_a_disabled_webhook_is_told_nothing(post: Post) -> None:
    await post.add(webhook(1))
    await turn_off(post)
    await post.publish(told(2))
    assert [each.event_id for each in await post.log()] == ["evt_1"]


async def turn_off(post: Post, *waiting: int) -> None:
    """Let the receiver of the first webhook say that it wants no more, while the events of `waiting` wait."""
    await post.publish(told(1), *(told(n, "bok_1" if n < 5 else f"bok_{n}") for n in waiting))
    [task, *_] = (await post.lease(of=room(1))).tasks
    assert await post.settle(refused(task, NOW + 5, answered=410)) == ["whk_1"]


# The sender.


async def test_a_lease_counts_an_attempt_and_hides_the_delivery_until_it_ends(post: Post) -> None:
    await post.add(webhook(1))
    await post.publish(told(1))
    [task] = (await post.lease()).tasks
    assert (task.delivery.attempts, task.delivery.due_ms, task.delivery.first_ms) == (1, NOW + LEASE_MS, NOW)
    assert task.webhook == webhook(1)
    lease = await post.lease(NOW + LEASE_MS - 1)
    assert (lease.tasks, lease.next_due_ms) == ((), NOW + LEASE_MS)
    [again] = (await post.lease(NOW + LEASE_MS)).tasks
    assert (again.delivery.attempts, again.delivery.first_ms) == (2, NOW)


async def test_the_events_of_a_subject_are_delivered_in_order_and_others_beside_them(post: Post) -> None:
    await post.add(webhook(1))
    await post.publish(told(1), told(2), told(3, "bok_2"))
    await post.publish(told(4))
    lease = await post.lease()
    assert [task.delivery.event_id for task in lease.tasks] == ["evt_1", "evt_3"]
    await post.settle(refused(lease.tasks[0]), taken(lease.tasks[1]))
    assert (await post.lease()).tasks == ()
    later_ms = NOW + 5 * SECOND_MS
    for event in ("evt_1", "evt_2", "evt_4"):
        [task] = (await post.lease(later_ms)).tasks
        assert task.delivery.event_id == event
        await post.settle(taken(task, later_ms))


async def test_a_lease_takes_two_of_a_receiver_and_four_of_an_account(post: Post) -> None:
    await post.add(*(webhook(n, host="one.example.com" if n < 3 else "") for n in (1, 2, 3)))
    await post.publish(*(told(n, f"bok_{n}") for n in range(1, 6)))
    first = await post.lease()
    assert [task.webhook.id for task in first.tasks].count("whk_3") == 2
    assert len(first.tasks) == 4
    full = room(accounts={tenant(1): 4}, hosts={})
    assert (await post.lease(of=full)).tasks == ()


async def test_a_full_receiver_does_not_hide_another(post: Post) -> None:
    await post.add(webhook(1), webhook(2))
    await post.publish(*(told(n, f"bok_{n}") for n in range(1, 40)))
    busy = room(1, hosts={"host-1.example.com:443": 2})
    assert [task.webhook.id for task in (await post.lease(of=busy)).tasks] == ["whk_2"]


async def test_a_slow_webhook_gets_one_attempt_at_a_time_and_none_without_room(post: Post) -> None:
    await post.add(webhook(1))
    await post.publish(told(1, "bok_1"), told(2, "bok_2"), told(3, "bok_3"))
    [task, other] = (await post.lease()).tasks
    await post.settle(taken(task, took_ms=9_000), taken(other, took_ms=9_000))
    assert (await post.one()).slow
    await post.publish(told(4, "bok_4"))
    assert (await post.lease(of=room(slow_free=0))).tasks == ()
    [only] = (await post.lease()).tasks
    assert (await post.lease()).tasks == ()
    await post.publish(told(5, "bok_5"))
    assert (await post.lease()).tasks == ()
    await post.settle(taken(only))
    assert not (await post.one()).slow
    assert len((await post.lease()).tasks) == 2


async def test_after_a_failure_the_webhook_pauses_and_the_pause_doubles(post: Post) -> None:
    await post.add(webhook(1))
    await post.publish(told(1, "bok_1"), told(2, "bok_2"))
    now_ms, pauses = NOW, []
    for _ in range(4):
        [task, *_] = (await post.lease(now_ms)).tasks
        await post.settle(refused(task, now_ms))
        following = (await post.lease(now_ms)).next_due_ms
        assert following is not None
        pauses.append((following - now_ms) // SECOND_MS)
        now_ms = following
    assert pauses == [5, 10, 20, 40]
    [task] = (await post.lease(now_ms)).tasks
    await post.settle(taken(task, now_ms))
    assert (await post.one()).failures == 0


async def test_an_outcome_that_was_written_before_changes_nothing(post: Post) -> None:
    await post.add(webhook(1))
    await post.publish(told(1))
    [task] = (await post.lease()).tasks
    [again] = (await post.lease(NOW + LEASE_MS)).tasks
    await post.settle(refused(task))
    assert (await post.log())[0].due_ms == NOW + 2 * LEASE_MS
    await post.settle(taken(again))
    before = await post.log(), await post.one()
    await post.settle(taken(again), refused(again))
    await post.settle(replace(taken(again), delivery_id="dlv_unknown"), replace(taken(again), webhook_id="whk_9"))
    assert (await post.log(), await post.one()) == before


async def test_a_late_success_counts_although_the_delivery_was_leased_again(post: Post) -> None:
    await post.add(webhook(1))
    await post.publish(told(1), told(2))
    [task] = (await post.lease()).tasks
    await post.lease(NOW + LEASE_MS)
    await post.settle(taken(task))
    assert [each.status for each in await post.log()] == [DeliveryStatus.DELIVERED, DeliveryStatus.WAITING]
    assert await post.deliver_all() == ["evt_2"]


# Turning off and on.


async def test_a_webhook_whose_receiver_is_gone_is_turned_off_with_one_mail(post: Post) -> None:
    await post.add(webhook(1), webhook(2))
    await turn_off(post, 2)
    off = await post.one()
    assert (off.status, off.disabled_ms) == (WebhookStatus.DISABLED, NOW + 5)
    assert off.disabled_reason == "The receiver answered 410 Gone. Last error: status 410."
    [mail] = await post.mails()
    assert (mail.recipient, mail.template) == ("ten_1@example.com", "webhook_off")
    assert json.loads(mail.facts) == {"url": off.url, "error": "status 410", "since_ms": str(NOW + 5)}
    assert {task.webhook.id for task in (await post.lease(NOW + DAY_MS)).tasks} == {"whk_2"}


async def test_a_webhook_that_fails_for_three_days_is_turned_off(post: Post) -> None:
    await post.add(webhook(1))
    await post.publish(told(1))
    [task] = (await post.lease()).tasks
    assert await post.settle(refused(task)) == []
    [task] = (await post.lease(NOW + 3 * DAY_MS)).tasks
    assert await post.settle(refused(task, NOW + 3 * DAY_MS)) == ["whk_1"]
    assert (await post.one()).disabled_reason == "No delivery succeeded for 3 days. Last error: status 500."
    assert len(await post.mails()) == 1


async def test_what_a_working_receiver_refuses_for_three_days_is_given_up_and_the_next_follows(post: Post) -> None:
    await post.add(webhook(1))
    await post.publish(told(1), told(2), told(3, "bok_2", at_ms=NOW + DAY_MS))
    now_ms = NOW
    while (await post.log())[0].status is DeliveryStatus.WAITING:
        for task in (await post.lease(now_ms)).tasks:
            bad = task.delivery.event_id == "evt_1"
            await post.settle(refused(task, now_ms) if bad else taken(task, now_ms))
        now_ms += HOUR_MS
    assert now_ms - NOW >= 3 * DAY_MS
    assert await post.status() is WebhookStatus.ENABLED
    assert await post.deliver_all(now_ms + 4 * HOUR_MS) == ["evt_2"]
    assert events(await post.log(), DeliveryStatus.FAILED) == ["evt_1"]


async def test_a_webhook_that_is_turned_on_again_gets_what_waited_in_order(post: Post) -> None:
    await post.add(webhook(1))
    await turn_off(post, 2, 3, 7, 8)
    assert (await post.lease(NOW + DAY_MS)).tasks == ()
    later_ms = NOW + 10 * DAY_MS
    kept = await post.enable(now_ms=later_ms)
    assert isinstance(kept, WebhookSaved)
    assert (kept.webhook.status, kept.webhook.failures, kept.webhook.disabled_reason) == (
        WebhookStatus.ENABLED,
        0,
        None,
    )
    assert await post.enable(now_ms=later_ms) == kept
    delivered = await post.deliver_all(later_ms)
    assert sorted(delivered) == ["evt_1", "evt_2", "evt_3", "evt_7", "evt_8"]
    assert [each for each in delivered if each in ("evt_1", "evt_2", "evt_3")] == ["evt_1", "evt_2", "evt_3"]


async def test_another_account_cannot_turn_a_webhook_on(post: Post) -> None:
    await post.add(webhook(1))
    await turn_off(post)
    assert isinstance(await post.enable(owner=2), Refused)
    assert await post.status() is WebhookStatus.DISABLED


# Tests, and sending again.


async def test_one_test_waits_at_a_time_and_is_sent_whatever_the_webhook_wants(post: Post) -> None:
    await post.add(webhook(1, events=[EventType.BOOKING_PAID]))
    first = await post.test(event="evt_a")
    second = await post.test(event="evt_b")
    assert isinstance(first, Queued)
    assert isinstance(second, Queued)
    assert second.delivery.id == first.delivery.id
    assert await post.deliver_all() == ["evt_a"]
    await post.test(event="evt_c")
    assert await post.deliver_all() == ["evt_c"]


async def test_a_delivery_is_sent_again_with_the_same_event_and_body(post: Post) -> None:
    await post.add(webhook(1))
    await post.publish(told(1))
    await post.deliver_all()
    [past] = await post.log()
    first = await post.resend(past.id, "dlv_again")
    second = await post.resend(past.id, "dlv_more")
    assert isinstance(first, Queued)
    assert isinstance(second, Queued)
    assert first.delivery.id == second.delivery.id == "dlv_again"
    [task] = (await post.lease()).tasks
    assert (task.delivery.event_id, task.delivery.body) == (past.event_id, past.body)


async def test_a_webhook_that_is_off_sends_no_test_and_nothing_again(post: Post) -> None:
    await post.add(webhook(1))
    await turn_off(post)
    [past] = await post.log()
    for answer in (await post.test(), await post.resend(past.id, "dlv_again")):
        assert isinstance(answer, Refused)
        assert answer.code is Code.INVALID_STATE


async def test_a_delivery_of_another_webhook_is_unknown(post: Post) -> None:
    await post.add(webhook(1), webhook(2))
    await post.publish(told(1))
    [own] = await post.log(1)
    for number, owner, delivery_id in ((2, 1, own.id), (1, 2, own.id), (1, 1, "dlv_unknown")):
        answer = await post.resend(delivery_id, "dlv_again", number, owner)
        assert isinstance(answer, Refused)
        assert answer.code is Code.NOT_FOUND


# Reading.


async def test_the_log_is_read_in_pages_newest_first(post: Post) -> None:
    await post.add(webhook(1))
    await post.publish(*(told(n, f"bok_{n}") for n in range(1, 6)))
    first = await post.store.deliveries("whk_1", None, 3)
    rest = await post.store.deliveries("whk_1", first[-1].seq, 3)
    assert [each.event_id for each in (*first, *rest)] == [f"evt_{n}" for n in (5, 4, 3, 2, 1)]


async def test_the_backlog_counts_what_waits_for_webhooks_that_are_on(post: Post) -> None:
    assert await post.store.backlog(NOW) == Backlog()
    await post.add(webhook(1), webhook(2, owner=2))
    await post.publish(told(1), told(2, at_ms=NOW + 1), told(3, owner=2, at_ms=NOW + 2))
    assert await post.store.backlog(NOW + 2) == Backlog(3, NOW, NOW)
    [task] = (await post.lease(of=room(1))).tasks
    await post.settle(refused(task))
    assert await post.store.backlog(NOW + 60_000) == Backlog(3, NOW, NOW + 2)
    [task] = (await post.lease(NOW + DAY_MS, of=room(1, hosts={"host-2.example.com:443": 2}))).tasks
    await post.settle(refused(task, answered=410))
    assert await post.store.backlog(NOW + DAY_MS) == Backlog(1, NOW + 2, NOW + 2)


async def test_a_mail_about_a_webhook_is_not_written_for_an_account_that_has_ended(post: Post) -> None:
    await post.add(webhook(1))
    if isinstance(post.below, Memory):
        post.below.accounts.clear()
    else:
        await post.below.transact(lambda connection: connection.execute("delete from accounts"))
    await turn_off(post)
    assert await post.mails() == []
