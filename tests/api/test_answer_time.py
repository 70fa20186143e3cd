"""Every request gets a response within `http.answer_seconds`; work that was started continues."""

from collections.abc import Awaitable
from typing import Any

import pytest
import trio

from actors.kernel.actor import Actor
from actors.values import Tier
from service.api.deadlines import answer_seconds
from service.api.operations import OPERATIONS
from service.config.loading import load
from service.config.user_errors import ConfigError
from tests.api.asgi import Response
from tests.api.sponsors import API, Person, add_slot, administrator, sponsor
from tests.api.world import World, open_world
from tests.snapshots.rows import booking, slot

ANSWER_SECONDS, ACTOR_SECONDS = 4.75, 4.5
BOTS = "/api/v1/bots"
VISITOR = "3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a54"
FOR_EVER = 3_600.0


def slow(actor: Actor[Any, Any], *seconds: float) -> None:
    """Delay the next batches of an actor by these seconds each. Later batches are not delayed."""
    rest, commit = iter(seconds), actor.commit

    async def late(batch_id: Any, messages: Any) -> Any:
        await trio.sleep(next(rest, 0.0))
        return await commit(batch_id, messages)

    setattr(actor, "commit", late)  # noqa: B010


async def forever(*_: object, **__: object) -> Any:
    """Replaces a read of a store."""
    await trio.sleep(FOR_EVER)


async def timed(asked: Awaitable[Response]) -> tuple[Response, float]:
    """The response, and the seconds until it came."""
    began = trio.current_time()
    return await asked, trio.current_time() - began


def refused_for_now(response: Response) -> bool:
    return response.words == "503 service_unavailable" and response.header("retry-after") == "1"


async def test_two_slow_steps_of_a_hot_operation_are_one_wait(world: World) -> None:
    """The key lookup takes three seconds, so the charge has only the rest."""
    slow(world.services.key_cache, 3.0)
    slow(world.services.quota, FOR_EVER)
    response, seconds = await timed(world.client.get(BOTS, world.key()))
    assert refused_for_now(response)
    assert seconds == pytest.approx(ANSWER_SECONDS)


async def test_a_slow_actor_is_given_up_by_itself_before(world: World) -> None:
    slow(world.services.keys, FOR_EVER)
    response, seconds = await timed(world.client.post("/api/v1/auth/agent"))
    assert refused_for_now(response)
    assert seconds == pytest.approx(ACTOR_SECONDS)


async def test_who_is_due_first_is_given_up_first_whoever_asked_first(world: World) -> None:
    """A request that waited elsewhere has an earlier deadline than one that has waited longer here."""
    late, fresh = world.key(), world.key()
    await world.client.get(BOTS, fresh)
    slow(world.services.key_cache, 3.0)
    slow(world.services.quota, FOR_EVER)
    waited: list[float] = []

    async def ask(key: str, after: float) -> None:
        await trio.sleep(after)
        response, seconds = await timed(world.client.get(BOTS, key))
        assert refused_for_now(response)
        waited.append(seconds)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, late, 0.0)
        nursery.start_soon(ask, fresh, 2.9)
    assert waited == pytest.approx([ANSWER_SECONDS, ACTOR_SECONDS])


async def test_a_charge_that_is_kept_after_the_answer_is_given_back(world: World) -> None:
    key = world.key()
    slow(world.services.key_cache, 3.0)
    slow(world.services.quota, 2.0)
    assert refused_for_now(await world.client.get(BOTS, key))
    await trio.sleep(1)
    assert world.tenant_of(key).lifetime_used == 1, "it was in a batch that could not be stopped any more"
    await world.client.get(BOTS, world.key())
    assert world.tenant_of(key).lifetime_used == 0, "given back with the next batch"


async def test_a_refund_is_sent_and_not_waited_for_once_the_answer_is_due(world: World) -> None:
    key = world.key(tier=Tier.CLAIMED, email="ann@example.com")
    slow(world.services.quota, 0.9, 2.0)
    world.searching.before = forever
    response, seconds = await timed(world.client.get(f"{BOTS}?q=a", key))
    assert refused_for_now(response)
    assert seconds == pytest.approx(ANSWER_SECONDS)
    assert world.tenant_of(key).lifetime_used == 1
    await trio.sleep(3)
    assert world.tenant_of(key).lifetime_used == 0


async def test_an_ordinary_operation_that_reads_for_ever_is_answered_in_its_family(world: World) -> None:
    person = sponsor(world)
    world.sponsorship_store.bookings = forever  # type: ignore[method-assign]
    response, seconds = await timed(person.get(f"{API}/bookings"))
    assert refused_for_now(response)
    assert response.json.keys() == {"error", "message", "retryAfter"}
    assert seconds == pytest.approx(ANSWER_SECONDS)
    await world.settled()
    assert world.tenant_of(person.key).lifetime_used == 0


async def approved(world: World) -> tuple[Person, str]:
    """A sponsor with a campaign that can be booked."""
    add_slot(world)
    person = sponsor(world)
    await person.profile()
    campaign = await person.campaign()
    reviewed = await administrator(world).post(
        f"/api/v1/admin/sponsorships/campaigns/{campaign}/review", {"decision": "approve"}
    )
    assert reviewed.words == "200", reviewed.body
    return person, campaign


async def test_a_booking_that_was_begun_is_made_and_its_repeat_tells(world: World) -> None:
    person, campaign = await approved(world)
    body = person.booking_body(campaign)
    slow(world.services.ledger, 6.0)
    response, seconds = await timed(person.post(f"{API}/bookings", body))
    assert refused_for_now(response)
    assert seconds <= ANSWER_SECONDS
    await trio.sleep(2)
    again = await person.post(f"{API}/bookings", body)
    assert again.words == "200"
    assert list(world.memory.bookings) == [again.json["booking"]["id"]]


@pytest.mark.parametrize("path", ["/", "/usecases", "/dashboard"])
async def test_a_page_is_answered_however_many_things_it_asks_for(world: World, path: str) -> None:
    token = world.session("somebody@example.com")
    slow(world.services.session_reader, 3.0, FOR_EVER)
    slow(world.services.quota, FOR_EVER)
    world.searching.before = forever
    headers = {"cookie": f"__Host-session={token}", "accept": "text/html"}
    response, seconds = await timed(world.client.get(f"{path}?q=a", headers=headers))
    assert response.status in (200, 503)
    assert 3 <= seconds <= ANSWER_SECONDS + 0.1


async def test_an_event_is_answered_within_its_own_time(world: World) -> None:
    world.sponsorship_store.keep(slot(), booking("bok_live"))
    await trio.sleep(1)
    [deduper] = world.services.events.dedupers
    slow(deduper, FOR_EVER)
    event = {"bookingId": "bok_live", "kind": "impression", "visitorId": VISITOR}
    response, seconds = await timed(world.client.post(f"{API}/events", json=event))
    assert refused_for_now(response)
    assert seconds == pytest.approx(ACTOR_SECONDS)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("ACTORS__ANSWER_SECONDS", "4.75"), ("EVENTS__ANSWER_SECONDS", "5")],
)
def test_what_a_request_waits_for_is_shorter_than_the_request(setting: str, value: str) -> None:
    with pytest.raises(ConfigError, match=r"must be below http\.answer_seconds \(4\.75\)"):
        load(None, {f"CATALOG__{setting}": value})


async def test_only_what_asks_a_processor_elsewhere_may_take_longer() -> None:
    keys = {"BILLING__STRIPE_SECRET_KEY": "sk_live_x", "BILLING__STRIPE_WEBHOOK_SECRET": "whsec_x"}
    async with open_world(BILLING__MODE="live", **keys) as live, open_world() as test:
        seconds = {operation.name: answer_seconds(live.config, operation) for operation in OPERATIONS}
        assert {name for name, most in seconds.items() if most > ANSWER_SECONDS} == {"openCheckout"}
        assert seconds["openCheckout"] == ANSWER_SECONDS + live.config.billing.timeout_seconds
        assert {answer_seconds(test.config, operation) for operation in OPERATIONS} == {ANSWER_SECONDS}
