"""Webhooks through the API: creation, its limits and secret, tests, the log, and the events of bookings and campaigns."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from actors.clock import DAY_MS
from tests.api.sponsors import ADMIN, API, Person, add_slot, administrator, sponsor
from tests.api.world import SECRETS, World, open_world

HOOKS = f"{API}/webhooks"
ALL = [
    *("booking.reserved", "booking.paid", "booking.cancelled", "booking.refunded", "booking.expired"),
    *("campaign.approved", "campaign.rejected", "delivery.day"),
]


def body(number: int = 1, *events: str) -> dict[str, Any]:
    return {"url": f"https://tools.example.com/hook/{number}", "events": list(events or ALL)}


async def hooked(person: Person, number: int = 1, *events: str) -> str:
    """The id of a new webhook."""
    made = await person.post(HOOKS, body(number, *events))
    assert made.words == "200", made.body
    return str(made.json["webhook"]["id"])


async def delivered(world: World) -> list[str]:
    """The types of the events that receivers got."""
    world.services.webhook_sender.wake()
    await world.settled()
    return [task.delivery.type for task in world.endpoints.tasks]


async def test_a_webhook_is_created_with_a_secret_and_listed_without_it(world: World) -> None:
    person = sponsor(world)
    made = (await person.post(HOOKS, body(1, "booking.paid", "campaign.approved"))).json
    assert made["secret"].startswith("whsec_")
    assert len(base64.b64decode(made["secret"].removeprefix("whsec_"))) == 32
    assert made["webhook"] == {
        "id": made["webhook"]["id"],
        "url": "https://tools.example.com/hook/1",
        "events": ["booking.paid", "campaign.approved"],
        "status": "enabled",
        "createdAt": world.now_ms,
    }
    listed = await person.get(HOOKS)
    assert listed.json == {"items": [made["webhook"]]}
    assert (await person.get(f"{HOOKS}/{made['webhook']['id']}")).json == {"webhook": made["webhook"]}
    assert b"whsec_" not in listed.body
    stored = repr(world.memory.webhooks) + repr(world.memory.audits)
    assert made["secret"] not in stored
    assert SECRETS.webhooks.hex() not in stored


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"url": "http://tools.example.com/"}, "url: must begin with https://"),
        ({"url": "https://127.0.0.1/"}, "url: must not lead to a private network"),
        ({"url": "https://169.254.169.254/latest"}, "url: must not lead to a private network"),
        ({"url": "https://localhost/"}, "url: must have a public host name"),
        ({"url": "https://[::1]/"}, "url: must have a host name or an IPv4 address, not an IPv6 address"),
        ({"url": "https://2130706433/"}, "url: must have a valid host name"),
        ({"url": "https://a:b@tools.example.com/"}, "url: must not contain credentials"),
        ({"url": "https://tools.example.com:0/"}, "url: must have a port from 1 to 65535"),
        ({"url": "ftp://tools.example.com/"}, "url: must begin with"),
        ({"events": []}, "events: must have at least 1"),
        ({"events": ["booking.paid", "booking.paid"]}, "events: must name each event once"),
        ({"events": ["webhook.test"]}, "events.0: must be"),
        ({"events": ["everything"]}, "events.0: must be"),
        ({"secret": "mine"}, "secret: is not a known property"),
    ],
)
async def test_a_webhook_that_cannot_be_is_refused(world: World, changes: dict[str, Any], words: str) -> None:
    refused = await sponsor(world).post(HOOKS, body() | changes)
    assert refused.words == "400 invalid_request"
    assert words in refused.json["message"]
    assert world.memory.webhooks == {}


async def test_changes_are_audited_without_the_address(world: World) -> None:
    person = sponsor(world)
    webhook_id = await hooked(person)
    await person.post(f"{HOOKS}/{webhook_id}/test")
    await delivered(world)
    [delivery] = (await person.get(f"{HOOKS}/{webhook_id}/deliveries")).json["items"]
    await person.post(f"{HOOKS}/{webhook_id}/deliveries/{delivery['id']}/resend")
    await person.delete(f"{HOOKS}/{webhook_id}")
    actions = [record.action for record in world.memory.audits if record.target_id == webhook_id]
    assert actions == ["webhook.created", "webhook.tested", "webhook.resent", "webhook.deleted"]
    assert "tools.example.com" not in repr(world.memory.audits)


async def test_a_test_is_sent_at_once_and_seen_in_the_log(world: World) -> None:
    person = sponsor(world)
    webhook_id = await hooked(person, 1, "booking.paid")
    queued = (await person.post(f"{HOOKS}/{webhook_id}/test")).json["delivery"]
    assert (queued["type"], queued["status"], queued["attempts"]) == ("webhook.test", "waiting", 0)
    assert await delivered(world) == ["webhook.test"]
    [task] = world.endpoints.tasks
    assert json.loads(task.delivery.body)["data"] == {"webhookId": webhook_id}
    log = (await person.get(f"{HOOKS}/{webhook_id}/deliveries")).json
    [shown] = log["items"]
    assert (shown["id"], shown["status"], shown["responseStatus"], shown["attempts"]) == (
        queued["id"],
        "delivered",
        200,
        1,
    )


async def test_a_booking_and_a_review_are_told_in_order(world: World) -> None:
    world.sponsorship_store.keep(add_slot(world))
    person = sponsor(world)
    await person.profile()
    await hooked(person)
    campaign_id = await person.campaign()
    booking = await person.booking(campaign_id)
    await person.pay(booking["id"])
    await administrator(world).post(f"{ADMIN}/campaigns/{campaign_id}/review", {"decision": "approve"})
    await delivered(world)
    await delivered(world)
    types = await delivered(world)
    assert [each for each in types if each.startswith("booking")] == ["booking.reserved", "booking.paid"]
    assert "campaign.approved" in types
    paid = next(task for task in world.endpoints.tasks if task.delivery.type == "booking.paid")
    sent = json.loads(paid.delivery.body)
    assert sent["data"]["bookingId"] == booking["id"]
    assert sent["data"]["status"] == "paid"
    assert sent["timestamp"] == "2026-11-18T12:00:00.000Z"


@pytest.fixture
async def inside() -> AsyncIterator[World]:
    async with open_world(WEBHOOKS__ALLOW_NETWORKS='["10.0.0.0/8"]') as opened:
        yield opened


async def test_an_operator_can_allow_private_networks(inside: World) -> None:
    person = sponsor(inside)
    for url in ("http://10.1.2.3:8080/hook", "http://hooks.corp/", "https://hooks.corp/"):
        assert (await person.post(HOOKS, body() | {"url": url})).words == "200"
    for url in ("http://192.168.1.1/", "https://127.0.0.1/", "http://8.8.8.8/"):
        assert (await person.post(HOOKS, body() | {"url": url})).words == "400 invalid_request"


async def test_what_waits_is_in_the_export(world: World) -> None:
    person = sponsor(world)
    webhook_id = await hooked(person)
    world.endpoints.status = 500
    await person.post(f"{HOOKS}/{webhook_id}/test")
    await delivered(world)
    rows = (await person.get("/api/v1/account/export?limit=1000")).json
    assert "https://tools.example.com/hook/1" in json.dumps(rows)


async def test_a_new_webhook_counts_as_slow_until_its_first_success(world: World) -> None:
    person = sponsor(world)
    hook = await hooked(person)
    assert world.memory.webhooks[hook].slow
    await person.post(f"{HOOKS}/{hook}/test")
    assert await delivered(world) == ["webhook.test"]
    assert not world.memory.webhooks[hook].slow


# The feed.

FEED = f"{API}/webhook-events"


async def test_the_feed_has_what_webhooks_get_and_goes_on_after_its_cursor(world: World) -> None:
    """Without a webhook, too: the first account has one, and the second has none."""
    owner, other = sponsor(world), sponsor(world, "other@example.com")
    await hooked(owner)
    await owner.buys()
    await delivered(world)
    sent = [(task.delivery.event_id, json.loads(task.delivery.body)) for task in world.endpoints.tasks]
    page = (await owner.get(FEED)).json
    assert [(each.pop("id"), each) for each in page["items"]] == sent
    assert [event["type"] for _, event in sent] == ["booking.reserved", "booking.paid"]
    assert page["hasMore"] is False
    assert (await owner.get(f"{FEED}?cursor={page['cursor']}")).json["items"] == []

    empty = (await other.get(FEED)).json
    assert empty["items"] == []
    await other.buys("right-top")
    told = (await other.get(f"{FEED}?cursor={empty['cursor']}")).json["items"]
    assert [each["type"] for each in told] == ["booking.reserved", "booking.paid"]
    assert (await owner.get(f"{FEED}?cursor={empty['cursor']}")).words == "400 invalid_request"


async def test_the_feed_is_read_in_pages_and_from_a_time_on(world: World) -> None:
    person = sponsor(world)
    await person.buys()
    first = await person.get(f"{FEED}?limit=1")
    assert first.json["hasMore"] is True
    assert f"cursor={first.json['cursor']}" in (first.header("link") or "")
    second = (await person.get(f"{FEED}?limit=1&cursor={first.json['cursor']}")).json
    assert [each["type"] for each in (*first.json["items"], *second["items"])] == ["booking.reserved", "booking.paid"]
    assert second["hasMore"] is False
    now = (await person.get(f"{FEED}?since={world.now_ms + 1}")).json
    assert now["items"] == []
    await person.buys("right-top")
    later = (await person.get(f"{FEED}?cursor={now['cursor']}")).json["items"]
    assert [each["type"] for each in later] == ["booking.reserved", "booking.paid"]
    assert (await person.get(f"{FEED}?since=-1")).words == "400 invalid_request"


async def test_a_cursor_that_may_have_missed_an_event_is_refused(world: World) -> None:
    """One of an empty page is as old as its request, one of a full page as its last event."""
    person = sponsor(world)
    await person.buys()
    middle, end = [(await person.get(f"{FEED}?limit={limit}")).json["cursor"] for limit in (1, 50)]
    world.clock.at_ms += 29 * DAY_MS
    assert [(await person.get(f"{FEED}?cursor={each}")).status for each in (middle, end)] == [200, 200]
    fresh = (await person.get(f"{FEED}?cursor={end}")).json["cursor"]
    world.clock.at_ms += DAY_MS
    words = [(await person.get(f"{FEED}?cursor={each}")).words for each in (middle, end, fresh)]
    assert words == ["410 cursor_expired", "410 cursor_expired", "200"]
    log = world.services.catalog.snapshot.changes
    log.revision = log.revision._replace(epoch=log.revision.epoch + 1)  # as after a restore of the database
    assert (await person.get(f"{FEED}?cursor={fresh}")).words == "410 cursor_expired"
