"""The pages of webhooks, used by links and forms without scripts."""

import pytest

from tests.api.world import World
from tests.web.browser import Browser
from tests.web.test_sponsor import browser

PLACE = "/sponsor/webhooks"
URL = "https://tools.example.com/hook"
PAID = {"event booking.paid": "on"}


async def made(world: World) -> tuple[Browser, str]:
    """A sponsor with a webhook, and the path of its page."""
    person = browser(world)
    await person.open(PLACE)
    await person.press("create", url=URL, **PAID)
    [webhook_id] = world.memory.webhooks
    return person, f"{PLACE}/{webhook_id}"


async def test_the_secret_is_shown_once_after_the_form(world: World) -> None:
    person, path = await made(world)
    [webhook_id] = world.memory.webhooks
    secret = world.services.webhook_signer.secret(webhook_id)
    assert secret in person.html
    assert path in person.page.links
    for page in (PLACE, path):
        await person.open(page)
        assert URL.removeprefix("https://") in person.text
        assert "whsec_" not in person.html


async def test_a_test_is_sent_its_answer_seen_and_the_event_sent_again(world: World) -> None:
    person, path = await made(world)
    await person.open(path)
    assert "Nothing was sent yet" in person.text
    await person.press("test")
    assert "A test is on its way" in person.text
    await world.settled()
    await person.open(path)
    assert "A test webhook.test" in person.text
    assert "Delivered" in person.text
    await person.press("resend")
    await world.settled()
    assert len(world.endpoints.tasks) == 2


async def answered(world: World, status: int) -> Browser:
    """The page of a webhook whose test was answered with a status."""
    person, path = await made(world)
    world.endpoints.status = status
    await person.open(path)
    await person.press("test")
    await world.settled()
    await person.open(path)
    return person


async def test_a_webhook_that_is_off_says_why_and_is_turned_on(world: World) -> None:
    person = await answered(world, 410)
    assert "This webhook is off. The receiver answered 410 Gone." in person.text
    await person.press("enable")
    assert "The webhook is on again" in person.text


async def test_failures_are_told_with_their_reason(world: World) -> None:
    person = await answered(world, 503)
    assert "Deliveries have failed since" in person.text
    assert "Status 503" in person.text
    await person.open(PLACE)
    assert "Failing" in person.text


async def test_a_deleted_webhook_is_gone(world: World) -> None:
    person, path = await made(world)
    await person.open(path)
    await person.press("delete")
    assert "The webhook is deleted." in person.text
    assert "Create your first webhook" in person.text
    await person.open(path)
    assert person.status == 404


@pytest.mark.parametrize("number", [9, 10])
async def test_the_form_is_there_until_the_last_webhook(world: World, number: int) -> None:
    person = browser(world)
    for each in range(number):
        await person.open(PLACE)
        await person.press("create", url=f"{URL}/{each}", **PAID)
    await person.open(PLACE)
    assert ("10 webhooks, the most that an account can have" in person.text) == (number == 10)
