"""Three real nodes on one Postgres behave as one, under load on the same rows while each is killed and restarted.

`CATALOG_TEST_SEED` repeats a run: the requests, their nodes, and the kills.
"""

# ruff: noqa: ASYNC110 - a condition in another process sets no event

import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
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
from tests.acceptance.clients import Ask, Crowd, Reply, Tally, at_once
from tests.acceptance.fleet import Fleet, Kill, Kills, deadlocks
from tests.acceptance.people import Person
from tests.acceptance.postgres import PostgresServer
from tests.acceptance.processes import SECRET, Service, Settings
from tests.acceptance.races import CLIENTS, Race, accounts, bookings_of, judge
from tests.acceptance.relays import Campaign
from tests.acceptance.smtp import MailServer, SmtpServer
from tests.chaos.judge import broken_counts
from tests.chaos.stored import read_stored

SEED = int(os.environ.get("CATALOG_TEST_SEED") or random.SystemRandom().randrange(10**6))
NODES = 3
DAILY, LIFETIME = 1_500, 3_000
CONNECTIONS = 16
"""Clients per node that spend a key."""
WEEKS, ATTEMPTS = 20, 20
GROUPS, ROUNDS = 8, 60
GUESSES, ALLOWED = 60, 20
"""Simultaneous guesses at one code, and the number of them that are compared."""
RACES, REVOCATIONS = 8, 6
SEEN_SECONDS = 1.0
"""Every node sees a revocation within these seconds."""
PLENTY = 1_000_000

OUR_PAGE = {"sec-fetch-site": "same-origin"}
BOT = "/api/v1/bots/invoice-chaser"
SETTINGS: Settings = {
    "server.secret": SECRET,
    "log.level": "warning",
    "tiers.anonymous.lifetime": LIFETIME,
    "tiers.anonymous.daily": LIFETIME,
    "tiers.anonymous.per_minute": PLENTY,
    "tiers.claimed.daily": 100_000,
    "tiers.claimed.per_minute": PLENTY,
    "tiers.upgraded.daily": DAILY,
    "tiers.upgraded.per_minute": PLENTY,
    "claim.code_attempts": ALLOWED,
    "claim.guesses_per_email": PLENTY,
    "sessions.starts_per_hour": PLENTY,
    "sessions.completions_per_hour": PLENTY,
    "device.wrong_codes": ALLOWED,
    "device.interval_seconds": 1,
    "device.starts_per_hour": PLENTY,
    "bookings.open_holds": 1_000,
    "bookings.holds_per_day": 1_000,
    "events.per_minute": PLENTY,
    "pages.per_minute": PLENTY,
}


@dataclass(frozen=True, slots=True)
class World:
    """The nodes and their surroundings."""

    fleet: Fleet
    postgres: PostgresServer
    database: str
    mail_server: MailServer

    def ask(self, statement: str) -> list[int]:
        """The numbers in the first row of a query's result."""
        return [int(value) for value in self.postgres.ask(statement, database=self.database)[0].values()]

    def person(self) -> Person:
        return Person(self.postgres, self.database)


@pytest.fixture(scope="module")
def world(external: PostgresServer, playground: Path) -> Iterator[World]:
    mail_server, database = MailServer(), external.fresh_database()
    places = [playground / f"one-of-three-{number}" for number in range(NODES)]
    with SmtpServer(mail_server) as smtp, ExitStack() as services:
        settings = {**SETTINGS, "database.url": external.url(database), "mail.smtp_url": smtp.url}
        yield World(Fleet(services, places, settings), external, database, mail_server)


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


async def test_one_hot_key_is_admitted_by_three_nodes_as_often_as_its_cap_has_it(world: World) -> None:
    first, *_ = world.fleet.nodes
    key = await trio.to_thread.run_sync(lambda: first.command("issue-key", "--email", "hot@example.com").strip())
    await trio.to_thread.run_sync(first.command, "set-tier", "--email", "hot@example.com", "--tier", "upgraded")
    tallies = await spend(world.fleet, key, Kills(world.fleet))
    outcomes = sum((tally.outcomes for tally in tallies), Counter[str]())
    assert outcomes["200"] == DAILY, outcomes
    assert set(outcomes) == {"200", "429 rate_limited"}
    assert [tally.lost for tally in tallies] == [0] * NODES
    assert all(tally.yes > 0 for tally in tallies), "every node let some through"
    assert charged(world, key) == [DAILY, DAILY]


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
    before, first_day = read_stored(world.postgres, world.database, campaign.answers), day_of(SystemClock().now_ms())
    await kills.during(partial(campaign.run, GROUPS, ROUNDS, chance.randrange(10**6)))
    after, days = (
        read_stored(world.postgres, world.database, campaign.answers),
        range(first_day, day_of(SystemClock().now_ms()) + 1),
    )
    answers = campaign.answers
    say(f"events: {len(answers.events)} sent, {len(campaign.doubtful)} in doubt over {kills.done} kills")
    assert campaign.violations(len(days)) == []
    assert [*broken_counts(answers, before, after, VisitorHasher(derived(SECRET.encode(), "visitors")), days)] == []
    assert len(answers.events) <= len(after.rows) <= len(answers.events) * len(days)
    told = await trio.to_thread.run_sync(delivered, world.fleet, campaign.bookings)
    counted = {
        booking: {
            kind: sum(count for (of, _, its), count in after.counts.items() if (of, its) == (booking, kind))
            for kind in Kind
        }
        for booking in campaign.bookings
    }
    assert told == [counted] * NODES


def delivered(fleet: Fleet, bookings: Sequence[str]) -> list[dict[str, dict[Kind, int]]]:
    """Delivery of each booking according to each node, requested by the demo sponsor who owns it."""
    emails = ("demo-sponsor@example.com", "demo-sponsor-2@example.com")
    keys = [fleet.nodes[0].command("issue-key", "--email", email).strip() for email in emails]

    def total(node: Service, booking: str) -> dict[Kind, int]:
        answers = [node.get(f"/api/v1/sponsors/bookings/{booking}/delivery", key) for key in keys]
        [answer] = [answer.json() for answer in answers if answer.status_code == 200]
        return {Kind.IMPRESSION: answer["impressions"], Kind.CLICK: answer["clicks"]}

    return [{booking: total(node, booking) for booking in bookings} for node in fleet.nodes]


# Codes.


@dataclass(frozen=True, slots=True)
class Claiming:
    """Claims a key with an emailed code."""

    world: World
    email: str
    token: str

    @classmethod
    def begin(cls, world: World, email: str) -> "Claiming":
        """A key minted by one node and a code sent by another."""
        token = world.fleet.nodes[0].mint()["claimToken"]
        sent = world.fleet.nodes[1].post("/api/v1/auth/claim", {"claimToken": token, "email": email})
        assert sent.status_code == 200, sent.text
        return cls(world, email, token)

    def guess(self, url: str, code: str) -> Ask:
        body = {"claimToken": self.token, "email": self.email, "code": code}
        return Ask(url, "/api/v1/auth/claim/complete", body)

    @property
    def charged(self) -> int:
        return self.world.ask(f"select attempts from claims where email = '{self.email}'")[0]


@dataclass(frozen=True, slots=True)
class SigningIn:
    """Signs in with an emailed code."""

    world: World
    email: str
    cookie: str

    @classmethod
    def begin(cls, world: World, email: str) -> "SigningIn":
        sent = world.fleet.nodes[1].http.post("/api/v1/auth/session", json={"email": email}, headers=OUR_PAGE)
        assert sent.status_code == 200, sent.text
        return cls(world, email, sent.headers["set-cookie"].partition(";")[0])

    def guess(self, url: str, code: str) -> Ask:
        body = {"email": self.email, "code": code}
        return Ask(url, "/api/v1/auth/session/complete", body, OUR_PAGE | {"cookie": self.cookie})

    @property
    def charged(self) -> int:
        return self.world.ask(f"select attempts from sign_in_codes where email = '{self.email}'")[0]


Beginning = Callable[[World, str], Claiming | SigningIn]
WAYS: dict[str, Beginning] = {"claim": Claiming.begin, "sign-in": SigningIn.begin}


def outcomes_of(replies: list[Reply | None]) -> Counter[str]:
    return Counter("lost" if reply is None else f"{reply.status} {reply.error}".strip() for reply in replies)


def wrong_codes(chance: random.Random, count: int, right: str) -> list[str]:
    codes = [f"{number:06d}" for number in chance.sample(range(1_000_000), count + 1)]
    return [code for code in codes if code != right][:count]


def spread(world: World, count: int) -> list[str]:
    """Addresses of all nodes in rotation."""
    return [world.fleet.urls[number % NODES] for number in range(count)]


@pytest.mark.parametrize("way", WAYS)
async def test_three_nodes_share_the_attempts_at_one_emailed_code(
    world: World, chance: random.Random, way: str
) -> None:
    guessing = await trio.to_thread.run_sync(WAYS[way], world, f"guessed-{way}@example.com")
    right = await trio.to_thread.run_sync(world.mail_server.code_for, guessing.email)
    wrong = wrong_codes(chance, GUESSES, right)
    asks = [guessing.guess(url, code) for url, code in zip(spread(world, GUESSES), wrong, strict=True)]
    kill = Kill.drawn(chance, range(1, GUESSES // 2), chance.randrange(NODES))
    kills, outcomes = Kills(world.fleet, [kill]), Counter[str]()

    async def load() -> None:
        outcomes.update(outcomes_of(await at_once(asks, kills.note)))

    await kills.during(load)
    say(f"{way}: {dict(outcomes)}, {guessing.charged} attempts charged")
    assert set(outcomes) <= {"400 invalid_code", "lost"}
    assert guessing.charged == ALLOWED
    late = [guessing.guess(url, right) for url in world.fleet.urls]
    assert outcomes_of(await at_once(late)) == {"400 invalid_code": NODES}
    assert guessing.charged == ALLOWED


# Devices.


def poll(url: str, device_code: str) -> Ask:
    return Ask(url, "/api/v1/auth/device/token", {"device_code": device_code})


async def test_a_device_login_goes_from_node_to_node_and_simultaneous_polls_get_one_key(world: World) -> None:
    """Each step on another node: started on one, approved on the next, and polled on all at once."""
    person, nodes = world.person(), world.fleet.nodes
    devices = []
    for turn in range(RACES):
        device = nodes[turn % NODES].post("/api/v1/auth/device").json()
        [pending] = await at_once([poll(nodes[(turn + 2) % NODES].url, device["device_code"])])
        assert pending is not None
        assert pending.error == "authorization_pending"
        person.decides(nodes[(turn + 1) % NODES], device["user_code"])
        devices.append(device)
    replies = await at_once([poll(node.url, device["device_code"]) for device in devices for node in nodes])
    for turn in range(RACES):
        asked = replies[turn * NODES : (turn + 1) * NODES]
        assert outcomes_of(asked) == {"200": 1, "400 invalid_code": NODES - 1}
        [key] = [reply.json()["apiKey"] for reply in asked if reply is not None and reply.status == 200]
        assert [node.get("/api/v1/usage", key).json()["email"] for node in nodes] == [person.email] * NODES
    assert world.ask(f"select count(*) from api_keys where tenant_id = '{person.tenant}'") == [RACES]


# Revocation.


async def seconds_until_refused(urls: list[str], headers: dict[str, str], path: str) -> list[float]:
    """Seconds for which each node still answers a request that should be refused from now on."""
    began, seconds = time.monotonic(), dict.fromkeys(urls, 0.0)

    async def wait_at(url: str) -> None:
        with trio.fail_after(20):
            while (await asked(url)).status != 401:
                await trio.sleep(0.002)
        seconds[url] = time.monotonic() - began

    async def asked(url: str) -> Reply:
        [reply] = await at_once([Ask(url, path, headers=headers)])
        assert reply is not None
        assert reply.status in (200, 401)
        return reply

    async with trio.open_nursery() as nursery:
        for url in urls:
            nursery.start_soon(wait_at, url)
    assert [(await asked(url)).status for url in urls] == [401] * len(urls), "once refused, never let in again"
    return list(seconds.values())


async def test_a_key_that_is_revoked_on_one_node_is_refused_by_the_others_within_a_second(world: World) -> None:
    person, seconds = world.person(), []
    for turn in range(REVOCATIONS):
        here, *others = [world.fleet.nodes[(turn + step) % NODES] for step in range(NODES)]
        key, key_id = person.issues(here)
        assert [node.get("/api/v1/usage", key).status_code for node in world.fleet.nodes] == [200] * NODES
        person.revokes(here, key_id)
        headers = {"authorization": f"Bearer {key}"}
        seconds += await seconds_until_refused([node.url for node in others], headers, "/api/v1/usage")
        assert here.get("/api/v1/usage", key).status_code == 401
    say(f"a revoked key was refused elsewhere after {max(seconds) * 1_000:.0f} ms at most")
    assert max(seconds) < SEEN_SECONDS


async def test_a_session_that_is_ended_on_one_node_is_refused_by_the_others_within_a_second(world: World) -> None:
    seconds, path = [], "/api/v1/auth/sessions"
    for turn in range(REVOCATIONS):
        person = world.person()
        here, *others = [world.fleet.nodes[(turn + step) % NODES] for step in range(NODES)]
        shown = await at_once([Ask(url, path, headers=person.headers) for url in world.fleet.urls])
        assert outcomes_of(shown) == {"200": NODES}
        person.signs_out(here)
        seconds += await seconds_until_refused([node.url for node in others], person.headers, path)
    say(f"an ended session was refused elsewhere after {max(seconds) * 1_000:.0f} ms at most")
    assert max(seconds) < SEEN_SECONDS


# The end. This test is last, because it stops the nodes.


def test_nothing_of_all_this_has_met_a_deadlock_or_is_an_error_in_a_log(world: World) -> None:
    world.fleet.stop()
    met, complaints = deadlocks(world.postgres, world.database), world.fleet.complaints()
    say(f"{len(world.fleet.lives) - NODES} kills in all, {met} deadlocks")
    assert met == 0
    assert complaints == []
