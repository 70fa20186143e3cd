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


async def test_the_addresses_of_one_ipv6_network_share_its_letters(world: World) -> None:
    asked = [(await Browser(world.client, f"2001:db8::{at:x}").start(ANN)).status for at in range(1, 8)]
    assert asked == [200] + [429] * 6
    assert (await Browser(world.client, "2001:db8:0:1::1").start(ANN)).status == 200


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
