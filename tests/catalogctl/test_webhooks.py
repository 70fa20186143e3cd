"""The commands of webhooks against the real application."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.world import open_world
from tests.catalogctl.stage import Stage
from tests.catalogctl.test_commands import Desk, cells, column

URL = "https://tools.example.com/hook"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_world() as world:
        yield Desk(Stage(tmp_path / "config"), world)


async def created(desk: Desk) -> str:
    return str((await desk.json("webhooks", "create", URL, "--events", "booking.paid"))["webhook"]["id"])


async def test_a_webhook_is_created_with_its_secret_shown_once(desk: Desk) -> None:
    assert "No webhooks." in await desk.out("webhooks", "list")
    out = await desk.out("webhooks", "create", URL, "--events", "booking.paid, campaign.approved")
    [webhook_id] = desk.world.memory.webhooks
    assert desk.world.services.webhook_signer.secret(webhook_id) in out
    assert "shown only once" in desk.stage.err
    listed = await desk.out("webhooks", "list")
    assert column(listed) == [webhook_id]
    assert "whsec_" not in listed
    assert URL in await desk.out("webhooks", "show", webhook_id)


async def test_a_test_is_sent_listed_and_sent_again(desk: Desk) -> None:
    webhook_id = await created(desk)
    assert "Nothing was sent yet." in await desk.out("webhooks", "deliveries", webhook_id)
    assert "webhook.test" in await desk.out("webhooks", "test", webhook_id)
    await desk.world.settled()
    row = (await desk.out("webhooks", "deliveries", webhook_id)).splitlines()[1]
    assert cells(row)[1] == "webhook.test"
    assert cells(row)[3:] == ["delivered", "1", "200"]
    await desk.out("webhooks", "resend", webhook_id, cells(row)[0])
    await desk.world.settled()
    assert len(desk.world.endpoints.tasks) == 2


async def test_a_webhook_that_is_off_is_turned_on_and_deleted(desk: Desk) -> None:
    webhook_id = await created(desk)
    desk.world.endpoints.status = 410
    await desk.out("webhooks", "test", webhook_id)
    await desk.world.settled()
    assert "The receiver answered 410 Gone." in await desk.out("webhooks", "show", webhook_id)
    assert "is off" in await desk.refused("webhooks", "test", webhook_id)
    assert "enabled" in await desk.out("webhooks", "enable", webhook_id)
    assert f"{webhook_id} is deleted." in await desk.out("webhooks", "delete", webhook_id)
    assert "no such webhook" in await desk.refused("webhooks", "show", webhook_id, code=4)


async def test_a_webhook_that_cannot_be_is_refused_in_one_line(desk: Desk) -> None:
    line = await desk.refused("webhooks", "create", "http://tools.example.com/", "--events", "booking.paid")
    assert "must begin with https://" in line
