"""The mails of sponsors and administrators, from a request to the mail, and topics that they turned off."""

import re

import pytest

from actors.clock import DAY_MS
from actors.mail.messages import Mail
from actors.mail.template_files import TEMPLATES
from tests.api.sponsors import ADMIN, Person, add_slot, administrator, sponsor
from tests.api.world import World

ANN = "ann@example.com"
UNTIL_OVER = 40
"""Days until a booking of the next week is over and settled."""


async def told(world: World, email: str = ANN) -> dict[str, Mail]:
    """The mails to an email by template, oldest first."""
    found = [each for each in await world.services.mail.recent(200) if each.message.recipient == email]
    assert all(each.mail is not None for each in found), "every mail of the rules can be rendered"
    return {each.message.template: each.mail for each in reversed(found) if each.mail is not None}


@pytest.fixture
async def ann(world: World) -> Person:
    world.sponsorship_store.keep(add_slot(world))
    person = sponsor(world, ANN)
    await person.profile()
    return person


async def journey(world: World, ann: Person) -> None:
    """Book, pay, be approved, and let the weeks pass."""
    campaign_id = await ann.campaign()
    await ann.pay((await ann.booking(campaign_id))["id"])
    admin = administrator(world)
    approved = await admin.post(f"{ADMIN}/campaigns/{campaign_id}/review", {"decision": "approve"})
    assert approved.status == 200
    for _ in range(UNTIL_OVER):
        world.clock.at_ms += DAY_MS
        world.services.sweeper.wake()
        await world.settled()


JOURNEY = {"booking_reserved", "booking_receipt", "campaign_approved", "week_begins", "week_ended", "refund_made"}
"""Some are of the same millisecond."""


async def test_a_sponsor_is_mailed_each_step_of_a_booking(world: World, ann: Person) -> None:
    await journey(world, ann)
    mails = await told(world)
    assert mails.keys() == JOURNEY
    assert re.fullmatch(r"Test receipt: USD \d+\.\d\d for .+, \d+ (\w+ )?to \d+ \w+", mails["booking_receipt"].subject)
    assert "was not shown in the week. We refund USD" in " ".join(mails["week_ended"].text.split())
    assert "Your ad is shown in" in mails["week_begins"].subject


async def test_who_turned_all_topics_off_is_told_of_money_and_nothing_else(world: World, ann: Person) -> None:
    """So the rule that posts a mail and the template agree on its topic."""
    choices = dict.fromkeys(("reviews", "bookings", "reports"), False)
    assert (await ann.patch("/api/v1/account/notifications", choices)).status == 200
    await journey(world, ann)
    assert (await told(world)).keys() == {name for name in JOURNEY if TEMPLATES[name].topic is None}


@pytest.mark.parametrize("name", sorted(name for name in JOURNEY if TEMPLATES[name].topic is not None))
async def test_what_a_mail_offers_to_turn_off_is_what_it_is_sent_as(world: World, ann: Person, name: str) -> None:
    topic = TEMPLATES[name].topic
    assert topic is not None
    path = world.services.links.stop_url(ANN, topic).removeprefix(world.services.base_url)
    assert (await world.client.post(path, body=b"List-Unsubscribe=One-Click")).status == 200
    await journey(world, ann)
    assert (await told(world)).keys() == {each for each in JOURNEY if TEMPLATES[each].topic is not topic}
