"""The page that approves a device: only forms approve, never a link."""

from typing import Any
from urllib.parse import urlencode

import pytest

from tests.api.callers import cookie
from tests.api.world import World
from tests.web.browser import Browser
from tests.web.visitors import Form

ANN = "ann@example.com"


async def send(person: Browser, do: str, code: str) -> str:
    """Send a form of the page; returns the text of the page that follows."""
    return (await person.send(Form("/device", {"user_code": code}), do)).text


@pytest.fixture
def ann(world: World) -> Browser:
    return Browser(world, world.session(ANN))


async def begun(world: World, agent: str = "a-program/1.0") -> Any:
    return (await world.client.post("/api/v1/auth/device", headers={"User-Agent": agent})).json


async def outcome(world: World, device: Any) -> str:
    await world.pass_seconds(5)
    return (await world.client.post("/api/v1/auth/device/token", json={"device_code": device["device_code"]})).words


async def test_a_person_types_the_code_sees_what_is_asked_and_approves(world: World, ann: Browser) -> None:
    device = await begun(world)
    assert "Connect a device" in (await ann.open("/device")).text
    asked = await send(ann, "look", device["user_code"].lower())
    for shown in (device["user_code"], "a-program/1.0", "203.0.113.7", "Today, 12:00", ANN):
        assert shown in asked
    assert await outcome(world, device) == "400 authorization_pending"
    approved = await send(ann, "approve", device["user_code"])
    assert "The device is approved." in approved
    assert "Go back to your device" in approved
    assert 'name="user_code"' not in ann.html
    assert await outcome(world, device) == "200"


async def test_a_person_denies(world: World, ann: Browser) -> None:
    device = await begun(world)
    await send(ann, "look", device["user_code"])
    assert "It gets no key." in await send(ann, "deny", device["user_code"])
    assert await outcome(world, device) == "400 access_denied"


async def test_a_link_with_the_code_fills_it_in_and_does_nothing_else(world: World, ann: Browser) -> None:
    device = await begun(world)
    before = repr(world.memory)
    path = device["verification_uri_complete"].removeprefix("https://catalog.test")
    for site in ("none", "same-origin", "cross-site"):
        response = await world.client.get(path, headers=cookie(ann.token or "") | {"Sec-Fetch-Site": site})
        page = response.body.decode()
        assert f'value="{device["user_code"]}"' in page
        assert 'value="approve"' not in page, "what is asked has to be seen first"
    await ann.open("/device?user_code=WDJB-MJHT")
    assert repr(world.memory) == before, "a wrong code in a link is charged to nobody"


@pytest.mark.parametrize(
    ("fate", "words"),
    [
        ("expired", "has expired. Start again on the device"),
        ("denied", "was denied. The device gets no key."),
        ("approved", "is already approved."),
        ("redeemed", "was already used. The device has its key."),
    ],
)
async def test_a_code_that_has_ended_is_explained(world: World, ann: Browser, fate: str, words: str) -> None:
    device = await begun(world)
    if fate == "expired":
        await world.pass_seconds(900)
    elif fate == "denied":
        await send(ann, "deny", device["user_code"])
    else:
        await send(ann, "approve", device["user_code"])
    if fate == "redeemed":
        assert await outcome(world, device) == "200"
    assert words in await send(ann, "look", device["user_code"])
    assert 'value="approve"' not in ann.html


async def test_a_wrong_code_is_explained_and_stays_in_the_form(world: World, ann: Browser) -> None:
    assert "No device is showing this code." in await send(ann, "look", "WDJB-MJHT")
    assert ann.status == 400
    assert 'value="WDJB-MJHT"' in ann.html
    assert "Write the code that the device shows." in await send(ann, "look", "  ")


async def test_after_five_wrong_codes_the_form_says_how_long_it_is_locked(world: World, ann: Browser) -> None:
    for _ in range(5):
        await send(ann, "look", "WDJB-MJHT")
    device = await begun(world)
    assert "Too many wrong codes. Try again in 15 minutes." in await send(ann, "look", device["user_code"])
    assert ann.status == 429


async def test_an_account_that_is_full_is_told_so(world: World, ann: Browser) -> None:
    for _ in range(9):
        world.key_of(ANN)
    device = await begun(world)
    assert "Revoke one first." in await send(ann, "approve", device["user_code"])
    assert ann.status == 409
    assert await outcome(world, device) == "400 authorization_pending"


async def test_a_program_cannot_write_into_the_page(world: World, ann: Browser) -> None:
    device = await begun(world, agent="<script>alert(1)</script><b>bold</b>")
    asked = await send(ann, "look", device["user_code"])
    assert "<script>alert(1)</script><b>bold</b>" in asked
    page = ann.html
    assert "<script>" not in page
    assert "<b>" not in page
    await ann.open("/device?" + urlencode({"user_code": '"><script>alert(1)</script>'}))
    assert "<script>" not in ann.html
