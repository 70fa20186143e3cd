"""Nobody is locked out by strangers: wrong guesses and requests for codes cost the owner of an email nothing (ADR 0056)."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack

import pytest

from actors.clock import DAY_MS
from tests.api.browsers import COMPLETE, Browser
from tests.api.callers import OUR_PAGE
from tests.api.world import World, open_world
from tests.doubles.tables import Memory
from tests.fakes import HandClock

ANN = "ann@example.com"
GUESSES = 2_400
"""Forty times as many as the 6-digit codes of one email allow in a day."""

AN_HOUR = 60
"""Guesses that one address may make in an hour, with any email."""


def address(number: int) -> str:
    """An address in a /24 of its own."""
    return f"198.{51 + number // 200}.{number % 200}.1"


async def guess(world: World, number: int, count: int = AN_HOUR) -> Counter[str]:
    """Wrong guesses from one address: without a cookie, and with the cookie of a browser that asked for nothing."""
    words: Counter[str] = Counter()
    for turn in range(count):
        cookie = {"Cookie": f"__Host-sign-in=brw_{turn:043d}"} if turn % 2 else {}
        body = {"email": ANN, "code": f"{turn:06d}"}
        answer = await world.client.post(COMPLETE, headers=OUR_PAGE | cookie, json=body, address=address(number))
        words[answer.words] += 1
    return words


async def signs_in(world: World, browser: Browser) -> str:
    """Sign in with the last code that was mailed; returns the outcome."""
    return (await browser.complete(ANN, await world.emailed_code(ANN))).words


async def test_sixty_guesses_without_a_code_do_not_lock_the_owner_out(world: World) -> None:
    assert await guess(world, 1) == {"400 invalid_code": 60}
    assert (world.memory.sign_ins, world.memory.letters) == ({}, {}), "the database holds nothing of it"
    ann = Browser(world.client)
    assert (await ann.start(ANN)).words == "200"
    assert await signs_in(world, ann) == "200"


async def test_thousands_of_guesses_do_not_touch_a_live_code(world: World) -> None:
    ann = Browser(world.client)
    await ann.start(ANN)
    before = dict(world.memory.sign_ins)
    words = sum([await guess(world, number) for number in range(1, GUESSES // AN_HOUR + 1)], Counter())
    assert words == {"400 invalid_code": GUESSES}
    assert world.memory.sign_ins == before
    assert await signs_in(world, ann) == "200"


async def test_starts_by_strangers_neither_replace_nor_delay_nor_use_up_the_owners_codes(world: World) -> None:
    ann = Browser(world.client)
    assert (await ann.start(ANN)).words == "200"
    first = await world.emailed_code(ANN)
    outcomes: Counter[str] = Counter()
    for number in range(1, 31):
        stranger = Browser(world.client, address(number))
        for _ in range(6):
            outcomes[(await stranger.start(ANN)).words] += 1
            await stranger.complete(ANN, "000000")
    assert outcomes == {"200": 30, "429 rate_limited": 150}, "each network gets a letter, and then has to wait"
    assert (await ann.complete(ANN, first)).words == "200"
    await world.pass_seconds(60)
    again = Browser(world.client)
    assert (await again.start(ANN)).words == "200", "the network of the owner is known"
    assert await signs_in(world, again) == "200"


async def test_strangers_behind_the_owners_address_do_not_use_up_the_owners_day(world: World) -> None:
    ann = Browser(world.client)
    await ann.start(ANN)
    assert await signs_in(world, ann) == "200"
    for _ in range(6):
        await world.pass_seconds(61)
        assert (await Browser(world.client).start(ANN)).words == "200"
    await world.pass_seconds(61)
    again = Browser(world.client)
    assert (await again.start(ANN)).words == "200"
    code = await world.emailed_code(ANN)
    assert len(code) == 12
    assert (await again.complete(ANN, code)).words == "200"


async def test_the_addresses_of_one_ipv6_network_share_its_letters(world: World) -> None:
    asked = [(await Browser(world.client, f"2001:db8::{at:x}").start(ANN)).status for at in range(1, 8)]
    assert asked == [200] + [429] * 6
    assert (await Browser(world.client, "2001:db8:0:1::1").start(ANN)).status == 200


async def test_the_owner_in_a_new_network_gets_a_letter_after_the_total_of_the_day(world: World) -> None:
    for number in range(1, 101):
        await Browser(world.client, address(number)).start(ANN)
    elsewhere = Browser(world.client, "2001:db8::7")
    assert (await elsewhere.start(ANN)).words == "200"
    code = await world.emailed_code(ANN)
    assert len(code) == 12
    assert (await elsewhere.complete(ANN, code)).words == "200"


@pytest.mark.parametrize(
    "network",
    ["2001:db8:7:{:x}::1", "203.0.113.{}", "::ffff:203.0.113.{}"],
    ids=["an IPv6 /48", "an IPv4 /24", "mapped"],
)
async def test_one_large_network_does_not_use_up_the_letters_of_the_others(network: str) -> None:
    async with open_world() as world:
        for number in range(230):
            await Browser(world.client, network.format(number)).start(ANN)
        assert len(world.memory.messages) == 20
        for elsewhere in ("2001:db8:8::7", "192.0.2.7"):
            browser = Browser(world.client, elsewhere)
            assert (await browser.start(ANN)).words == "200"
            assert (await browser.start(ANN)).words == "429 rate_limited"


async def test_a_large_network_whose_letters_began_beyond_the_limit_gets_one(world: World) -> None:
    for number in range(20):
        await Browser(world.client, f"198.51.{number}.1").start(ANN)
    asked = [(await Browser(world.client, f"2001:db8:7:{at:x}::1").start(ANN)).status for at in range(1, 8)]
    assert asked == [200] + [429] * 6


async def test_letters_to_one_mailbox_are_bounded(world: World) -> None:
    """200 large networks can fill the day of a mailbox for networks that are new to it, but not for known ones."""
    ann = Browser(world.client)
    await ann.start(ANN)
    assert await signs_in(world, ann) == "200"
    statuses = [(await Browser(world.client, address(number)).start(ANN)).status for number in range(1, 251)]
    assert statuses == [200] * 199 + [429] * 51
    await world.pass_seconds(60)
    assert (await ann.start(ANN)).words == "200"
    assert (await Browser(world.client, "2001:db8::7").start(ANN)).words == "429 rate_limited"
    world.clock.at_ms += DAY_MS
    assert (await Browser(world.client, "2001:db8::7").start(ANN)).words == "200"


async def test_a_stranger_cannot_use_the_owners_code(world: World) -> None:
    ann, stranger = Browser(world.client), Browser(world.client, address(1))
    await stranger.start(ANN)
    await ann.start(ANN)
    code = await world.emailed_code(ANN)
    assert (await stranger.complete(ANN, code)).words == "400 invalid_code"
    assert (await ann.complete(ANN, code)).words == "200"


async def test_the_refusals_do_not_tell_whether_a_code_is_live(world: World) -> None:
    stranger = Browser(world.client, address(1))
    await stranger.start("somebody@example.com")
    before = await stranger.complete(ANN, "000000")
    await Browser(world.client).start(ANN)
    assert (await stranger.complete(ANN, "000000")).json == before.json


# Two nodes over one database, and a restart.


@pytest.fixture
async def nodes() -> AsyncIterator[Sequence[World]]:
    memory, clock = Memory(), HandClock(1_790_000_000_000)
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(open_world(memory, number, clock)) for number in (1, 2)]


async def test_guesses_and_letters_count_the_same_on_two_nodes(nodes: Sequence[World]) -> None:
    one, two = nodes
    for number, node in enumerate([one, two] * 2):
        assert await guess(node, number, 30) == {"400 invalid_code": 30}
    ann = Browser(one.client)
    await ann.start(ANN)
    ann.client = two.client
    assert (await ann.start(ANN)).words == "429 rate_limited", "the pause holds on every node"
    wrong = [(await ann.complete(ANN, "000000")).words for ann.client in (one.client, two.client) * 2]
    assert wrong == ["400 invalid_code"] * 4
    assert [row.attempts for row in one.memory.sign_ins.values()] == [4]
    ann.client = two.client
    assert (await ann.complete(ANN, await emailed(nodes))).words == "200"


async def test_no_node_adds_guesses_at_a_code(nodes: Sequence[World]) -> None:
    ann = Browser(nodes[0].client)
    await ann.start(ANN)
    for world in (*nodes, *nodes, *nodes):
        ann.client = world.client
        assert (await ann.complete(ANN, "000000")).words == "400 invalid_code"
    assert (await ann.complete(ANN, await emailed(nodes))).words == "400 invalid_code"


async def emailed(nodes: Sequence[World]) -> str:
    """The code in the last mail, whichever node sent it."""
    for world in nodes:
        await world.settled()
        if world.postbox.mails:
            return await world.emailed_code(ANN)
    raise AssertionError("no mail was sent")


async def test_a_restart_changes_no_limit_and_loses_no_code() -> None:
    memory, clock = Memory(), HandClock(1_790_000_000_000)
    async with open_world(memory, 1, clock) as world:
        await guess(world, 1)
        ann = Browser(world.client)
        await ann.start(ANN)
        assert (await ann.complete(ANN, "000000")).words == "400 invalid_code"
        code = await world.emailed_code(ANN)
    async with open_world(memory, 2, clock) as world:
        ann.client = world.client
        assert (await ann.start(ANN)).words == "429 rate_limited", "the pause outlives the process"
        assert [row.attempts for row in memory.sign_ins.values()] == [1]
        assert (await ann.complete(ANN, code)).words == "200"
