"""Tabs that are unloaded and restored, as phones do while a visitor reads a mail: the browser sends the request of the page
again. That repeats nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from actors.values import Tier
from tests.api.world import World
from tests.web.browser import Browser

ANN = "ann@example.com"
CLAIM_TOKEN = "CLAIM TOKEN"


@dataclass(frozen=True, slots=True)
class Mailed:
    """A form that mails a code: its page, the values of its button and of the one on the next page, and what is typed."""

    path: str
    button: str
    again: str
    last: str
    done: str
    typed: Mapping[str, str] = field(default_factory=dict)
    signed_in: bool = False


MAILED = {
    "sign-in": Mailed("/sign-in?next=%2Fusecases", "send", "send", "complete", "You are signed in.", {"email": ANN}),
    "claim": Mailed(
        "/claim", "start", "again", "complete", "The key is claimed", {"email": ANN, "claimToken": CLAIM_TOKEN}
    ),
    "deletion": Mailed("/account/delete", "start", "start", "confirm", "The deletion is confirmed.", signed_in=True),
}


async def _opened(world: World, form: Mailed) -> tuple[Browser, dict[str, str]]:
    token = (await world.services.keys.mint()).claim_token
    browser = Browser(world, world.session(ANN) if form.signed_in else None)
    world.key(tier=Tier.CLAIMED, email=ANN)
    await browser.open(form.path)
    return browser, {name: token if value == CLAIM_TOKEN else value for name, value in form.typed.items()}


async def _mails(world: World) -> int:
    await world.settled()
    return len(world.postbox.mails)


@pytest.mark.parametrize("name", MAILED)
async def test_a_restored_tab_asks_for_the_code_that_was_mailed_and_mails_no_other(world: World, name: str) -> None:
    form = MAILED[name]
    browser, typed = await _opened(world, form)
    await browser.press(form.button, **typed)
    assert "ann" not in browser.at, "the address does not name the email"
    code = await world.emailed_code(ANN)
    for _ in range(2):
        await world.pass_seconds(70)
        await browser.restore()
        assert (browser.status, await _mails(world)) == (200, 1)
        assert f"We sent a code to {ANN}" in browser.text
    await browser.press(form.last, code=code)
    assert form.done in browser.text


@pytest.mark.parametrize("name", MAILED)
async def test_a_form_that_is_sent_twice_keeps_the_first_code_in_a_restored_tab(world: World, name: str) -> None:
    form = MAILED[name]
    browser, typed = await _opened(world, form)
    first = browser.form_with(form.button)
    await browser.send(first, form.button, **typed)
    code = await world.emailed_code(ANN)
    await browser.send(first, form.button, **typed)
    await world.pass_seconds(70)
    await browser.restore()
    assert "We sent no new code" in browser.text
    assert await _mails(world) == 1
    await browser.press(form.last, code=code)
    assert form.done in browser.text


@pytest.mark.parametrize("name", [name for name in MAILED if not MAILED[name].signed_in])
async def test_the_form_for_a_code_ends_with_the_code(world: World, name: str) -> None:
    form = MAILED[name]
    browser, typed = await _opened(world, form)
    await browser.press(form.button, **typed)
    await browser.press(form.again)
    at = browser.at
    await browser.press(form.last, code=await world.emailed_code(ANN))
    browser.cookies = {cookie: value for cookie, value in browser.cookies.items() if "session" not in cookie}
    await browser.open(at)
    assert "this browser did not keep the form" in browser.text
    assert browser.form_with(form.button)


@pytest.mark.parametrize(
    ("path", "button", "typed", "count"),
    [
        ("/dashboard", "create-key", {"name": "robot", "kind": "full"}, lambda world: len(world.memory.keys)),
        (
            "/sponsor/webhooks",
            "create",
            {"url": "https://hooks.example.com/a", "event booking.paid": "on"},
            lambda world: len(world.memory.webhooks),
        ),
    ],
)
async def test_a_restored_tab_creates_nothing_twice(
    world: World, path: str, button: str, typed: Mapping[str, str], count: Callable[[World], int]
) -> None:
    world.key(tier=Tier.CLAIMED, email=ANN)
    browser = Browser(world, world.session(ANN))
    await browser.open(path)
    await browser.press(button, **typed)
    made = count(world)
    assert browser.status == 200
    await browser.restore()
    assert count(world) == made
