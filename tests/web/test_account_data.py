"""The page that deletes an account, and what the dashboard and the settings say about it."""

import pytest

from actors.values import Tier
from tests.api.world import World
from tests.web.visitors import Seen, Visitor

ANN = "ann@example.com"
PAGE = "/account/delete"


@pytest.fixture
def ann(world: World) -> Visitor:
    world.key(tier=Tier.CLAIMED, email=ANN)
    return Visitor(world, world.session(ANN), ANN)


async def ask(visitor: Visitor) -> str:
    """Ask for a code; returns it."""
    sent = await visitor.led(PAGE, do="start")
    assert "We sent a code to ann@example.com" in sent.text
    return await visitor.world.emailed_code(ANN)


async def test_the_settings_lead_to_the_download_and_to_the_deletion(ann: Visitor) -> None:
    seen = await ann.look("/dashboard/settings")
    downloads = [link for link in seen.all("a") if link.get("download")]
    assert [link["href"] for link in downloads] == ["/api/v1/account/export"]
    assert PAGE in seen.links
    assert "will be deleted" not in seen.text
    assert (await ann.get("/api/v1/account/export")).json["email"] == ANN


async def test_the_page_says_what_goes_and_what_stays_before_it_sends_a_code(ann: Visitor) -> None:
    text = (await ann.look(PAGE)).text
    for words in ("7 days", "keys and sessions end", "Paid bookings stay", "Download your data"):
        assert words in text


async def test_a_visitor_deletes_the_account_and_changes_their_mind(ann: Visitor) -> None:
    seen = await ann.led(PAGE, do="confirm", code=await ask(ann))
    assert "The deletion is confirmed" in seen.text
    assert "Keep this account" in seen.text
    dashboard, settings = await ann.look("/dashboard"), await ann.look("/dashboard/settings")
    assert "This account will be deleted after 25 November, 12:00" in dashboard.text
    assert "It will be deleted after 25 November, 12:00" in settings.text
    assert [PAGE in each.links for each in (dashboard, settings)] == [True, True]
    kept = await ann.led(PAGE, do="keep")
    assert "Your account is kept." in kept.text
    assert "will be deleted" not in kept.text


async def test_a_wrong_code_is_asked_for_again(ann: Visitor) -> None:
    code = await ask(ann)
    again = Seen.of(await ann.send(PAGE, do="confirm", code=f"{(int(code) + 1) % 1_000_000:06}"))
    assert "The code is wrong" in again.text
    assert any(each.get("name") == "code" for each in again.all("input"))
    assert ann.world.memory.accounts[ANN]


async def test_a_refusal_is_shown_where_it_was_asked_for(world: World) -> None:
    visitor = Visitor(world, world.session(ANN, admin=True), ANN)
    assert "You are the last administrator" in Seen.of(await visitor.send(PAGE, do="start")).text
