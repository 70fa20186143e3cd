"""Who runs the site and under what terms: on pages, in mails and in the API's document."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from service.api.openapi import document
from service.config.loading import load
from tests.api.callers import OUR_PAGE, cookie
from tests.api.conformity import BASE_URL
from tests.api.sponsors import NEXT_WEEK, add_slot, sponsor
from tests.api.world import World, open_world
from tests.web.templates import WEB
from tests.web.test_sign_in import code_for, post
from tests.web.visitors import Seen, Visitor

ANN = "ann@example.com"
TERMS, PRIVACY, IMPRINT = "https://example.com/terms", "https://example.com/privacy", "https://example.com/imprint"
CONTACT = "mailto:hello@example.com"
SITE = {
    "SITE__NAME": "Example Media",
    "SITE__CONTACT": "hello@example.com",
    "SITE__LINKS": json.dumps([{"label": "Imprint", "url": IMPRINT}]),
    "SITE__TERMS_URL": TERMS,
    "SITE__PRIVACY_URL": PRIVACY,
}


async def mailed(world: World) -> str:
    """The text of the mail with a code to sign in."""
    await world.client.post("/api/v1/auth/session", headers=OUR_PAGE, json={"email": ANN})
    await world.settled()
    return " ".join(world.postbox.mails[-1].text.split())


async def test_pages_and_mails_name_the_site_and_link_its_documents() -> None:
    async with open_world(**SITE) as world:
        for path in ("/", "/sign-in", "/docs", "/nothing"):
            footer = (await Visitor(world).get(path)).body.decode().partition("<footer")[2]
            assert all(f'href="{url}"' in footer for url in (TERMS, PRIVACY, IMPRINT, CONTACT)), path
            assert "Example Media" in footer
        for path in ("/", "/usecases", "/usecases/case-04", "/bots/bot-00"):
            [data] = [each.text for each in (await Visitor(world).look(path)).all("script") if each.get("type")]
            assert '"name":"Example Media"' in data, path
        text = await mailed(world)
        assert f"By using the code you accept the terms of this service: {TERMS}" in text
        assert text.endswith(f"Terms: {TERMS} Privacy: {PRIVACY} Contact: hello@example.com Imprint: {IMPRINT}")
        assert f'href="{CONTACT}"' in world.postbox.mails[-1].html


async def test_without_settings_pages_and_mails_say_nothing_of_terms(world: World) -> None:
    assert "terms" not in (await Visitor(world).look("/sign-in")).text.lower()
    assert "terms" not in (await mailed(world)).lower()


@pytest.mark.parametrize(
    ("settings", "about"),
    [
        ({}, {"contact": {"name": "The operator of this service", "url": f"{BASE_URL}/"}}),
        (SITE, {"contact": {"name": "Example Media", "email": "hello@example.com"}, "termsOfService": TERMS}),
        (
            {"SITE__CONTACT": "https://example.com/us"},
            {"contact": {"name": "The operator of this service", "url": "https://example.com/us"}},
        ),
    ],
)
def test_the_document_of_the_api_has_the_contact_and_the_terms(
    settings: dict[str, str], about: dict[str, object]
) -> None:
    config = load(None, {f"CATALOG__{name}": value for name, value in settings.items()})
    info = document([], BASE_URL, config.site)["info"]
    assert {name: info.get(name) for name in ("contact", "termsOfService") if name in info} == about


# Accepting them.

CHANGED = "The terms have changed since you opened this page"
NEWER = {**SITE, "SITE__TERMS_VERSION": "2"}
ACCEPTS = re.compile(r'name="do" value="(checkout|complete|pay|use|[^"]*-and-pay)"')
BRAND = {"name": "Example Tools", "website": "tools.example.com", "headline": "Ship it", "body": "A bot for mail."}


@asynccontextmanager
async def two_nodes() -> AsyncIterator[tuple[World, World]]:
    """A node, and one that has newer terms already."""
    async with open_world(**SITE) as old, open_world(old.memory, 2, old.clock, **NEWER) as new:
        yield old, new


def test_every_form_that_pays_or_signs_in_sends_the_version_that_it_showed() -> None:
    sources = {path.name: path.read_text(encoding="utf-8") for path in (WEB / "templates").glob("*.html")}
    accepting = {name: text for name, text in sources.items() if ACCEPTS.search(text)}
    assert len(accepting) > 6
    assert [
        name for name, text in accepting.items() if "{{ terms(" not in text and "{{ terms_shown()" not in text
    ] == []


async def test_a_sign_in_keeps_when_which_terms_were_accepted() -> None:
    async with two_nodes() as (old, new):
        code, browser = await code_for(old)
        fields = {"do": "complete", "email": ANN, "code": code}
        page = await post(new, "/sign-in", browser=browser, terms=old.config.site.terms, **fields)
        assert page.status == 400
        shown = Seen.of(page)
        assert CHANGED in shown.text
        assert (shown.values("code"), shown.values("terms")) == ([code], ["2"])
        assert old.memory.accepted_terms == {}
        assert (await post(new, "/sign-in", browser=browser, terms="2", **fields)).status == 303
        [accepted] = old.memory.accepted_terms.values()
        assert (accepted.version, accepted.accepted_ms) == ("2", old.now_ms)


async def test_a_link_of_an_operator_is_not_used_up_by_terms_that_have_changed() -> None:
    async with open_world(**NEWER) as world:
        fields = {"do": "use", "token": await world.services.sessions.issue_link(ANN, world.agent)}
        refused = await Visitor(world).send("/sign-in/link", terms="1", **fields)
        assert (refused.status, CHANGED in Seen.of(refused).text) == (400, True)
        assert (await Visitor(world).send("/sign-in/link", terms="2", **fields)).status == 303
        assert [each.version for each in world.memory.accepted_terms.values()] == ["2"]


async def test_a_claim_by_a_program_accepts_the_terms_that_its_mail_names() -> None:
    async with open_world(**SITE) as world:
        minted = (await world.client.post("/api/v1/auth/agent")).json
        body = {"claimToken": minted["claimToken"], "email": ANN}
        await world.client.post("/api/v1/auth/claim", json=body)
        code = await world.emailed_code(ANN)
        assert f"accept the terms of this service: {TERMS}" in " ".join(world.postbox.mails[-1].text.split())
        await world.client.post("/api/v1/auth/claim/complete", json={**body, "code": code})
        [accepted] = world.memory.accepted_terms.values()
        assert (accepted.tenant_id, accepted.version) == (minted["tenantId"], world.config.site.terms)


async def test_terms_that_change_before_paying_are_told_at_the_form_and_nothing_is_lost() -> None:
    async with two_nodes() as (old, new):
        for world in (old, new):
            world.sponsorship_store.keep(add_slot(world))
            await world.settled()
        token = old.session(ANN)
        path = f"/sponsor/book?slotId=left-top&weekStart={NEXT_WEEK}"
        [form] = [each for each in (await Visitor(old, token).look(path)).forms if each.action == "/sponsor/book"]
        typed = form.fields | BRAND | {"do": "start-and-pay"}
        refused = Seen.of(await Visitor(new, token).send("/sponsor/book", **typed))
        assert CHANGED in refused.text
        assert refused.values("headline") == [BRAND["headline"]]
        assert old.memory.bookings == {}
        checkout = await Visitor(old, token).send("/sponsor/book", **typed)
        page = checkout.header("location") or ""
        [pays] = [each for each in (await Visitor(old, token).look(page)).forms if "pay" in each.buttons]
        again = await Visitor(new, token).send(page, do="pay", **pays.fields)
        assert (again.status, CHANGED in Seen.of(again).text) == (400, True)
        [booking] = old.memory.bookings.values()
        assert (booking.status, booking.terms_version) == ("checkout", None)
        sent = await Visitor(new, token).send(f"/sponsor/bookings/{booking.id}", do="checkout", **pays.fields)
        assert (sent.status, CHANGED in Seen.of(sent).text) == (400, True)
        assert (await Visitor(new, token).send(page, do="pay", terms="2")).status == 200
        [booking] = old.memory.bookings.values()
        assert (booking.status, booking.terms_version, booking.terms_accepted_ms) == ("paid", "2", old.now_ms)


async def test_the_api_says_which_terms_a_payer_accepts_and_keeps_them_with_the_booking() -> None:
    async with open_world(**SITE) as world:
        add_slot(world)
        person, version = sponsor(world, ANN), world.config.site.terms
        await person.profile()
        booking_id = (await person.booking(await person.campaign()))["id"]
        opened = (await person.post(f"/api/v1/sponsors/bookings/{booking_id}/checkout")).json
        assert (opened["termsUrl"], opened["termsVersion"]) == (TERMS, version)
        path = opened["checkoutUrl"].removeprefix(BASE_URL)
        await Visitor(world).send(path, do="pay", terms=version)
        read = (await person.get(f"/api/v1/sponsors/bookings/{booking_id}")).json["booking"]
        assert (read["termsVersion"], read["termsAcceptedAt"]) == (version, world.now_ms)
        rows = (await world.client.get("/api/v1/account/export", headers=cookie(world.session(ANN)))).json["tables"]
        assert rows["bookings"][0]["terms_version"] == version
