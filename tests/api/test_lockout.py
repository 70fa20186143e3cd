"""Nobody is locked out by strangers: wrong guesses and requests for codes cost the owner of an email nothing (ADR 0056)."""

from collections import Counter

from tests.api.browsers import COMPLETE, Browser
from tests.api.callers import OUR_PAGE
from tests.api.world import World

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


async def test_the_refusals_do_not_tell_whether_a_code_is_live(world: World) -> None:
    stranger = Browser(world.client, address(1))
    await stranger.start("somebody@example.com")
    before = await stranger.complete(ANN, "000000")
    await Browser(world.client).start(ANN)
    assert (await stranger.complete(ANN, "000000")).json == before.json
