"""Three real nodes on one Postgres behave as one, under load on the same rows while each is killed and restarted.

`CATALOG_TEST_SEED` repeats a run: the requests, their nodes, and the kills.
"""

import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import trio

from actors.clock import SystemClock, day_of
from actors.events.messages import Kind
from actors.events.state import VisitorHasher
from actors.times import WEEK_MS, week_of
from service.running.server_secret import derived
from tests.acceptance.clients import Crowd, Tally
from tests.acceptance.fleet import Fleet, Kills, deadlocks
from tests.acceptance.postgres import PostgresServer
from tests.acceptance.processes import SECRET, Service, Settings
from tests.acceptance.races import CLIENTS, Race, accounts, bookings_of, judge
from tests.acceptance.relays import Campaign
from tests.chaos.judge import broken_counts
from tests.chaos.stored import read_stored
from tests.chaos.websites import COUNTING

SEED = int(os.environ.get("CATALOG_TEST_SEED") or random.SystemRandom().randrange(10**6))
NODES = 3
LIFETIME = 3_000
CONNECTIONS = 16
"""Clients per node that spend a key."""
WEEKS, ATTEMPTS = 20, 20
GROUPS, ROUNDS = 8, 60
PLENTY = 1_000_000

BOT = "/api/v1/bots/invoice-chaser"
SETTINGS: Settings = {
    "server.secret": SECRET,
    "log.level": "warning",
    "tiers.anonymous.lifetime": LIFETIME,
    "tiers.anonymous.daily": LIFETIME,
    "tiers.anonymous.per_minute": PLENTY,
    "tiers.claimed.daily": 100_000,
    "tiers.claimed.per_minute": PLENTY,
    "bookings.open_holds": 1_000,
    "bookings.holds_per_day": 1_000,
    "events.per_minute": PLENTY,
    "pages.per_minute": PLENTY,
    **COUNTING,
}


@dataclass(frozen=True, slots=True)
class World:
    """The nodes and their surroundings."""

    fleet: Fleet
    postgres: PostgresServer
    database: str

    def ask(self, statement: str) -> list[int]:
        """The numbers in the first row of a query's result."""
        return [int(value) for value in self.postgres.ask(statement, database=self.database)[0].values()]


@pytest.fixture(scope="module")
def world(external: PostgresServer, playground: Path) -> Iterator[World]:
    database = external.fresh_database()
    places = [playground / f"one-of-three-{number}" for number in range(NODES)]
    with ExitStack() as services:
        settings = {**SETTINGS, "database.url": external.url(database)}
        yield World(Fleet(services, places, settings), external, database)


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Each test has its own source of randomness, so that it runs the same alone and among others."""
    say(f"seed {SEED}")
    return random.Random(f"{SEED} {request.node.name}")


def say(words: str) -> None:
    sys.stdout.write(f"three nodes: {words}\n")


# Quota.


async def spend(fleet: Fleet, key: str, kills: Kills) -> list[Tally]:
    """Spend one key on all nodes until each has refused. Returns the responses of each node."""
    stop, tallies = trio.Event(), [Tally() for _ in fleet.nodes]

    def note(_: Tally) -> None:
        kills.note()
        if all(tally.answered > tally.yes for tally in tallies):
            stop.set()

    async def load() -> None:
        async with trio.open_nursery() as nursery:
            for url, tally in zip(fleet.urls, tallies, strict=True):
                nursery.start_soon(Crowd(url, BOT, key, stop=stop, tally=tally, on_answer=note).run, CONNECTIONS)

    await kills.during(load)
    return tallies


def charged(world: World, key: str) -> list[int]:
    """Charges of a key's tenant in Postgres: the lifetime count and the sum of all days."""
    tenant = f"select tenant_id from api_keys where prefix = '{key[:12]}'"
    days = f"select coalesce(sum(used), 0) from usage_days where tenant_id = ({tenant})"
    return world.ask(f"select lifetime_used, ({days}) from tenants where id = ({tenant})")


async def test_one_hot_key_never_gets_more_than_its_cap_while_each_node_is_killed(
    world: World, chance: random.Random
) -> None:
    key = world.fleet.nodes[0].mint()["apiKey"]
    kills = Kills.of_each_node(world.fleet, chance, LIFETIME)
    tallies = await spend(world.fleet, key, kills)
    outcomes = sum((tally.outcomes for tally in tallies), Counter[str]())
    lost = sum(tally.lost for tally in tallies)
    say(f"{outcomes['200']} of {LIFETIME} answered over {kills.done} kills, {lost} answers lost")
    assert set(outcomes) == {"200", "403 quota_exhausted"}
    assert charged(world, key) == [LIFETIME, LIFETIME]
    assert 0 <= LIFETIME - outcomes["200"] <= lost, "only what got no answer may have been charged unseen"
    assert lost > 0
    assert kills.done == NODES


# Weeks.


async def test_no_week_is_sold_twice_by_three_nodes_while_each_is_killed(world: World, chance: random.Random) -> None:
    racing = await trio.to_thread.run_sync(accounts, world.fleet.nodes[0])
    weeks = [week_of(SystemClock().now_ms()) + week * WEEK_MS for week in range(1, WEEKS + 1)]
    race = Race(world.fleet.urls, weeks, racing, ATTEMPTS, chance.randrange(10**6))
    kills = Kills.of_each_node(world.fleet, chance, CLIENTS * ATTEMPTS)
    race.on_answer = kills.note
    await kills.during(race.run)
    lists = [await trio.to_thread.run_sync(bookings_of, url, racing) for url in world.fleet.urls]
    assert lists[0] == lists[1] == lists[2]
    codes = judge(race, lists[0])
    say(f"weeks: {dict(codes)} over {kills.done} kills")
    assert codes["lost"] > 0
    [held, taken] = world.ask(
        "select (select count(*) from bookings join campaigns on campaigns.id = campaign_id where campaigns.name = 'Race'"
        " and bookings.status in ('reserved', 'checkout', 'paid')),"
        " (select count(*) from slot_weeks where slot_id like 'slot-%')"
    )
    assert held == taken == len(lists[0])


# Events.


async def test_no_event_counts_twice_that_three_nodes_are_told_of_at_once_while_each_is_killed(
    world: World, chance: random.Random
) -> None:
    placements = world.fleet.nodes[0].get("/api/v1/sponsors/placements").json()["placements"]
    campaign = Campaign(world.fleet.urls, [each["bookingId"] for each in placements])
    kills = Kills.of_each_node(world.fleet, chance, GROUPS * ROUNDS * NODES)
    campaign.on_answer = kills.note
    before, first_day = read_stored(world.postgres, world.database), day_of(SystemClock().now_ms())
    await kills.during(partial(campaign.run, GROUPS, ROUNDS, chance.randrange(10**6)))
    after = read_stored(world.postgres, world.database)
    days = range(first_day, day_of(SystemClock().now_ms()) + 1)
    answers = campaign.answers
    say(f"events: {len(answers.events)} sent, {len(campaign.doubtful)} in doubt over {kills.done} kills")
    assert campaign.violations(len(days)) == []
    assert [*broken_counts(answers, after, VisitorHasher(derived(SECRET.encode(), "visitors")), days, before)] == []
    assert len(answers.events) <= len(after.rows) <= len(answers.events) * len(days)
    shown = await trio.to_thread.run_sync(delivered, world.fleet, campaign.bookings)
    counted = {
        booking: {
            kind: sum(count for (of, _, its), count in after.counts.items() if (of, its) == (booking, kind))
            for kind in Kind
        }
        for booking in campaign.bookings
    }
    assert shown == [counted] * NODES


def delivered(fleet: Fleet, bookings: Sequence[str]) -> list[dict[str, dict[Kind, int]]]:
    """Delivery of each booking according to each node, requested by the demo sponsor who owns it."""
    emails = ("demo-sponsor@example.com", "demo-sponsor-2@example.com")
    keys = [fleet.nodes[0].command("issue-key", "--email", email).strip() for email in emails]

    def total(node: Service, booking: str) -> dict[Kind, int]:
        answers = [node.get(f"/api/v1/sponsors/bookings/{booking}/delivery", key) for key in keys]
        [answer] = [answer.json() for answer in answers if answer.status_code == 200]
        return {Kind.IMPRESSION: answer["impressions"], Kind.CLICK: answer["clicks"]}

    return [{booking: total(node, booking) for booking in bookings} for node in fleet.nodes]


# The end. This test is last, because it stops the nodes.


def test_nothing_of_all_this_has_met_a_deadlock_or_is_an_error_in_a_log(world: World) -> None:
    world.fleet.stop()
    met, complaints = deadlocks(world.postgres, world.database), world.fleet.complaints()
    say(f"{len(world.fleet.lives) - NODES} kills in all, {met} deadlocks")
    assert met == 0
    assert complaints == []
