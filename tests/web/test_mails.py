"""The pages about mails: the link that turns a topic off, the choices in the settings, and the HTML in the outbox."""

import re

import pytest

from actors.clock import DAY_MS
from actors.shared.announcements import Topic
from actors.values import Tier
from service.web.pages.ops.outbox import MailLinks, acts_of
from service.web.pages.table import PAGES
from tests.api.asgi import Response
from tests.api.callers import OUR_PAGE
from tests.api.world import LOCAL, World, open_world
from tests.mail.outgoing import SITE, WRITER
from tests.mail.samples import samples
from tests.web.markup import faults_of
from tests.web.visitors import Visitor

ANN, BOB = "ann@example.com", "bob@example.com"
ONE_CLICK = b"List-Unsubscribe=One-Click"
MULTIPART = (
    b'--part\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--part--\r\n',
    'multipart/form-data; boundary="part"',
)


def link(world: World, topic: Topic = Topic.REPORTS, email: str = ANN) -> str:
    return world.services.links.stop_url(email, topic).removeprefix(world.services.base_url)


async def choices(world: World, email: str = ANN) -> tuple[bool, bool, bool]:
    chosen = await world.services.accounts.mail_choices(email)
    return chosen.reviews, chosen.bookings, chosen.reports


@pytest.fixture
def ann(world: World) -> Visitor:
    world.key(tier=Tier.CLAIMED, email=ANN)
    return Visitor(world, world.session(ANN), ANN)


# The link.


async def test_opening_the_link_changes_nothing_and_its_button_turns_the_topic_off(world: World, ann: Visitor) -> None:
    stranger = Visitor(world)
    shown = await stranger.get(link(world))
    assert "Turn these mails off" in shown.body.decode()
    assert await choices(world) == (True, True, True)
    done = await stranger.post(link(world), b"List-Unsubscribe=One-Click&do=")
    assert (done.status, faults_of(done.body.decode())) == (200, [])
    assert "ann@example.com gets no more mails about weeks that ended" in done.body.decode()
    assert await choices(world) == (True, True, False)
    assert "are turned off" in (await stranger.get(link(world))).body.decode()


@pytest.mark.parametrize(
    ("body", "content_type"), [(ONE_CLICK, "application/x-www-form-urlencoded"), MULTIPART], ids=["form", "multipart"]
)
async def test_a_mail_program_turns_the_topic_off_in_one_request(
    world: World, ann: Visitor, body: bytes, content_type: str
) -> None:
    for _ in range(2):
        headers = {"Content-Type": content_type, "Origin": "https://mail.example", "Sec-Fetch-Site": "cross-site"}
        done = await world.client.request("POST", link(world, Topic.REVIEWS), headers=headers, body=body)
        assert done.status == 200
        assert done.header("set-cookie") is None
    assert await choices(world) == (False, True, True)
    assert [row.actor_id for row in world.memory.audits if row.action == "account.mails_chosen"] == ["unsubscribe link"]


async def test_a_request_that_does_not_ask_for_it_turns_nothing_off(world: World, ann: Visitor) -> None:
    for body in (b"", b"do=", b"List-Unsubscribe=No"):
        assert (await Visitor(world).post(link(world), body)).status == 400
    assert await choices(world) == (True, True, True)


async def test_a_link_is_for_one_email_and_one_topic_and_lasts(world: World, ann: Visitor) -> None:
    world.key(tier=Tier.CLAIMED, email=BOB)
    address = link(world, Topic.BOOKINGS)
    await world.pass_seconds(400 * DAY_MS / 1_000)
    await world.client.post(address, body=ONE_CLICK)
    assert await choices(world) == (True, False, True)
    assert await choices(world, BOB) == (True, True, True)


async def test_a_token_that_was_not_made_for_this_is_unknown(world: World, ann: Visitor) -> None:
    links = world.services.links
    facts = {"ends": "session", "target": "ses_1", "label": ""}
    other = links.ending_url(facts, ANN, world.now_ms).rpartition("/")[2]
    right = link(world).rpartition("/")[2]
    for token in (other, right[:-1], right + "A", right.replace("lnk_", ""), "x", "lnk_"):
        assert (await Visitor(world).get(f"/unsubscribe/{token}")).status == 404
        assert (await Visitor(world).post(f"/unsubscribe/{token}", ONE_CLICK)).status == 404
    assert (await Visitor(world).get(f"/end/{right}")).status == 404
    assert await choices(world) == (True, True, True)


async def test_the_link_of_an_account_that_is_gone_has_nothing_to_turn_off(world: World) -> None:
    done = await Visitor(world).post(link(world, email="gone@example.com"), ONE_CLICK)
    assert done.status == 200
    assert world.memory.mail_choices == {}


# The settings.


async def test_the_settings_show_the_choices_and_change_them_without_a_script(world: World, ann: Visitor) -> None:
    assert _checked(await ann.get("/dashboard/settings")) == ["mails_reviews", "mails_bookings", "mails_reports"]
    saved = await ann.post("/dashboard/settings", b"do=choose-mails&mails_bookings=on")
    assert (saved.status, saved.header("location")) == (303, "/dashboard/settings?notice=mails_chosen")
    assert await choices(world) == (False, True, False)
    assert _checked(await ann.get("/dashboard/settings")) == ["mails_bookings"]
    assert (await ann.post("/dashboard/settings", b"do=choose-mails")).status == 303
    assert await choices(world) == (False, False, False)


def _checked(response: Response) -> list[str]:
    return re.findall(r'name="(mails_\w+)" value="on" checked', response.body.decode())


# The outbox.


async def test_the_html_of_a_mail_is_a_page_in_a_sandbox_that_loads_nothing() -> None:
    async with open_world(**LOCAL) as world:
        await world.client.post("/api/v1/auth/session", headers=OUR_PAGE, json={"email": ANN})
        [message_id] = world.memory.messages
        outbox = (await world.client.get("/dev/outbox", address="127.0.0.1")).body.decode()
        assert f'href="/dev/outbox/{message_id}"' in outbox
        response = await world.client.get(f"/dev/outbox/{message_id}", address="127.0.0.1")
        policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
        assert response.header("content-security-policy") == policy
        assert response.header("cache-control") == "no-store"
        assert await world.emailed_code(ANN) in response.body.decode()
        assert response.body.startswith(b"<!doctype html>\n<html lang")
        assert (await world.client.get("/dev/outbox/let_other", address="127.0.0.1")).status == 404
        assert (await world.client.get(f"/dev/outbox/{message_id}", address="203.0.113.7")).status == 404


def test_the_outbox_finds_the_code_and_the_links_of_a_mail() -> None:
    text = f"Code of {SITE}:\n\n123456\n\nSee the page:\n{SITE}/end/lnk_a\n\n{SITE}/end/lnk_a\nhttps://other.example/x\n{SITE}\n"
    assert acts_of(text, SITE) == MailLinks("123456", ("/end/lnk_a",))
    assert acts_of(f"{SITE}//other.example/x\n{SITE}/\\other.example/x", SITE) == MailLinks("", ())
    assert acts_of("Order 123456 of today", SITE) == acts_of(None, SITE) == MailLinks("", ())


# Where mails lead.


def test_each_mail_leads_to_pages_that_there_are() -> None:
    patterns = [re.compile(re.sub(r"\{\w+\}", "[^/]+", page.path)) for page in PAGES]
    for name, message in samples():
        paths = re.findall(rf"^{SITE}(/[^#?\s]*)", WRITER.write(message).text, re.MULTILINE)
        for path in paths:
            assert any(pattern.fullmatch(path) for pattern in patterns), f"{name} leads to {path}"


async def test_the_outbox_is_neither_stored_nor_compressed() -> None:
    async with open_world(**LOCAL) as world:
        response = await world.client.get("/dev/outbox", headers={"Accept-Encoding": "br"}, address="127.0.0.1")
        assert response.status == 200
        assert response.header("cache-control") == "no-store"
        assert response.header("content-encoding") is None
