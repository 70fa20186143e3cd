"""Each form of the pages, sent with bad values: the error stands at its field, the first has the focus, nothing is lost."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from actors.bookings.records import PackageKind, YoutubeStatus
from actors.times import WEEK_MS
from service.web.pages.parts.forms import GONE
from service.web.pages.parts.messages import ADDRESS, CODE, EMAIL, STALE_LIST
from service.web.pages.parts.page import Audience, Page
from service.web.pages.table import PAGES
from tests.api.sponsors import NEXT_WEEK
from tests.api.world import World
from tests.web.markup import Element, Markup, parsed
from tests.web.samples import ADDRESSES, ADMIN, ANN, address_of
from tests.web.visitors import Visitor

TAKES_PASSKEY = {("/dashboard/security", "add-passkey"), ("/dashboard/security", "rename-passkey")}
"""Forms that `test_passkeys.py` sends, because they need an authenticator."""

SLOT_AND_KEY = {"slotId": "left-top", "idempotencyKey": "3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a54"}
LONG_NAME = "x" * 70
SIX_OVER = "This has 70 characters. Shorten it by 6."
LONG_NOTE = "Why? " * 101 + "So."
NOTE_OVER = "This has 508 characters. Shorten it by 8."
NO_CAMPAIGN = {
    "name": "",
    "headline": "x" * 61,
    "body": "Two\r\nlines " + "y" * 140,
    "cta": "a\u200bb",
    "targetUrl": "nonsense",
    "logoText": "ABCD",
}
CAMPAIGN_ERRORS = {
    "name": "Write a name for the ad.",
    "headline": "This has 61 characters. Shorten it by 6.",
    "body": "This has 150 characters. Shorten it by 10.",
    "cta": "This has characters that cannot be seen. Write it again instead of pasting it.",
    "targetUrl": ADDRESS,
    "logoText": "This has 4 characters. Shorten it by 1.",
}
NO_CASE = {
    "title": "",
    "roi": "x" * 1_001,
    "sourceUrl": "my site",
    "who": "a\u200bb",
    "handle": "@w",
    "guide_title": "A guide",
    "guide_steps": "One\n" + "x" * 1_001,
    "guide_botSlugs": "No slug",
}
CASE_ERRORS = {
    "title": "Write a title.",
    "slug": "Write an address, such as sorts-receipts.",
    "roi": "This has 1,001 characters. Shorten it by 1.",
    "sourceUrl": f"An address has no spaces. {ADDRESS}",
    "who": "This has characters that cannot be seen. Write it again instead of pasting it.",
    "guide_category": "Write a category, such as Finance.",
    "guide_opportunity": "Write what can be gained.",
    "guide_audience": "Write for whom it is.",
    "guide_steps": "Line 2: This has 1,001 characters. Shorten it by 1.",
    "guide_prompt": "Write the prompt to start with.",
    "guide_botSlugs": "Line 1: Write small letters, digits and single hyphens, such as sorts-receipts.",
}
NO_PROPOSED_BOT = {
    "name": "Fine",
    "slug": "A!",
    "who": "",
    "handle": "@w",
    "job": "x" * 2_001,
    "templateUrl": "javascript:x",
}
PROPOSED_BOT_ERRORS = {
    "slug": "Write small letters, digits and single hyphens, such as sorts-receipts.",
    "job": "This has 2,001 characters. Shorten it by 1.",
    "templateUrl": ADDRESS,
    "who": "Write who runs it, such as A dentist in Lyon.",
}
NO_SLOT = {
    "name": "a  b",
    "side": "top",
    "weekPrice": "cheap",
    "durationWeeks": "53",
    "offerEndsAt": "soon",
    "packageKind": "book",
    "description": "x" * 301,
}
SLOT_ERRORS = {
    "name": "Use one plain space between words.",
    "side": "Choose one of the options.",
    "packageKind": "Choose one of the options.",
    "description": "This has 301 characters. Shorten it by 1.",
    "weekPrice": "Write an amount from 0.50 to 100,000.00, such as 120.00.",
    "durationWeeks": "Write a whole number from 1 to 52.",
    "offerEndsAt": "Write a date and time such as 2026-12-31T18:00.",
}
NO_WEEK = {"weekStart": "", "campaignId": ""}
NO_WEEK_ERRORS = {"weekStart": "Choose a week.", "campaignId": "Choose an ad."}
NO_START = {"weekStart": "soon", "name": "", "website": "a b", "headline": " ", "body": ""}
START_ERRORS = {
    "weekStart": "Choose one of the weeks.",
    "name": "Write the name of your brand.",
    "website": f"An address has no spaces. {ADDRESS}",
    "headline": "Write a headline.",
    "body": "Write the text of the ad.",
}
SEEN = dict.fromkeys(("headline", "body", "cta", "targetUrl", "logoText"), "As read")
ADDED, ADDED_ERRORS = {"addedAt": "soon"}, {"addedAt": "Write a date and time such as 2026-12-31T18:00."}
DEVICE = "Write the code that the device shows."


def without_slug(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if name != "slug"}


@dataclass(frozen=True, slots=True)
class Case:
    """A form with bad values, and the error at each field by the id of its element. `{booking}`, `{campaign}` and `{key}`
    stand for the ids of samples."""

    path: str
    do: str
    fields: Mapping[str, str]
    errors: Mapping[str, str]
    status: int = 400


CASES = (
    Case(
        "/sponsor/profile",
        "save",
        {"name": "a\u2028b", "website": "tools dot example"},
        {"name": "Write it on one line.", "website": f"An address has no spaces. {ADDRESS}"},
    ),
    Case(
        "/sponsor/profile",
        "save-billing",
        {"legalName": "Example\u202eLtd", "address": "x" * 700, "country": "", "taxId": "1" * 51, "email": "nobody"},
        {
            "legalName": "This has characters that cannot be seen. Write it again instead of pasting it.",
            "address": "This has 700 characters. Shorten it by 200.",
            "country": "Choose a country.",
            "taxId": "This has 51 characters. Shorten it by 1.",
            "email": "Write an email address such as you@example.com.",
        },
    ),
    Case("/sponsor/campaigns/new", "create", NO_CAMPAIGN, CAMPAIGN_ERRORS),
    Case("/submissions/new", "send-usecases", NO_CASE, CASE_ERRORS),
    Case("/submissions/new", "send-bots", NO_PROPOSED_BOT, PROPOSED_BOT_ERRORS),
    *(Case("/sponsor/campaigns/{id}", do, NO_CAMPAIGN, CAMPAIGN_ERRORS) for do in ("save", "save-and-submit")),
    *(Case("/sponsor/book", do, SLOT_AND_KEY | NO_WEEK, NO_WEEK_ERRORS) for do in ("reserve", "reserve-and-pay")),
    *(Case("/sponsor/book", do, SLOT_AND_KEY | NO_START, START_ERRORS) for do in ("start", "start-and-pay")),
    Case("/sponsor/bookings/{id}", "request_refund", {"reason": LONG_NOTE}, {"reason": NOTE_OVER}),
    Case("/sponsor/bookings/{id}", "send_material", {"material": LONG_NOTE}, {"material": NOTE_OVER}),
    Case(
        "/sponsor/webhooks",
        "create",
        {"url": "http://tools.example.com/", "event booking.paid": "on"},
        {"url": "Write an address that begins with https://, not http://."},
    ),
    Case("/sponsor/webhooks", "create", {"url": ""}, {"url": ADDRESS, "events": "Choose at least one event."}),
    Case("/dashboard", "create-key", {"kind": "full", "name": LONG_NAME}, {"name": SIX_OVER}),
    Case("/dashboard", "create-key", {"kind": "scoped", "name": "Kept"}, {"scopes": "Choose what the key can do."}),
    Case(
        "/dashboard",
        "create-key",
        {"kind": "scoped", "name": "", "scope library:read": "on"},
        {"name": "Write a name for the key."},
    ),
    Case("/dashboard/keys/{id}", "edit-key", {"key_name": LONG_NAME}, {"key_name": SIX_OVER}),
    Case(
        "/dashboard/keys/{id}",
        "edit-key",
        {"key_name": "", "days": "keep"},
        {"key_name": "Write a name, or choose when the key expires."},
    ),
    Case("/dashboard/keys/{id}", "rotate-key", {"grace": "12"}, {"grace": "Choose how long the old key works."}),
    Case("/sign-in", "send", {"email": "nobody"}, {"email": EMAIL}),
    Case("/sign-in", "complete", {"email": ANN, "code": ""}, {"code": CODE}),
    Case("/sign-in", "complete", {"email": ANN, "code": "12"}, {"code": CODE}),
    Case("/account/delete", "confirm", {"code": ""}, {"code": CODE}),
    Case(
        "/claim/form",
        "start",
        {"claimToken": "", "email": "x@"},
        {"token": "Write the claim token that came with the key.", "email": EMAIL},
    ),
    Case("/claim/form", "complete", {"claimToken": "clm_unknown", "email": ANN, "code": ""}, {"code": CODE}),
    Case("/device", "look", {"user_code": " "}, {"user_code": DEVICE}),
    *(Case("/device", do, {"user_code": ""}, {"user_code": DEVICE}) for do in ("approve", "deny")),
    Case("/admin/accounts/{id}", "set_tier", {"email": ANN, "tier": "gold"}, {"tier": "Choose one of the options."}),
    Case("/admin/accounts/{id}", "suspend", {"reason": LONG_NOTE}, {"reason": NOTE_OVER}),
    Case("/admin/accounts/{id}", "refund", {"refund_reason": "Kept"}, {"sure": "Tick the box to confirm the refunds."}),
    Case("/admin/accounts/{id}", "refund", {"refund_reason": LONG_NOTE, "sure": "yes"}, {"refund_reason": NOTE_OVER}),
    Case("/admin/bookings/{id}", "refund", {"reason": "Kept"}, {"sure": "Tick the box to confirm the full refund."}),
    Case("/admin/bookings/{id}", "refund", {"reason": LONG_NOTE, "sure": "yes"}, {"reason": NOTE_OVER}),
    *(
        Case("/admin", do, {"campaign": "{campaign}", "note": LONG_NOTE, **SEEN}, {"note-{campaign}": NOTE_OVER})
        for do in ("approve", "reject", "pause", "resume")
    ),
    Case(
        "/admin",
        "reject",
        {"campaign": "{campaign}", "note": ""},
        {"note-{campaign}": "Write why you reject it. The sponsor reads it."},
    ),
    *(
        Case(f"/admin/{path}", do, typed | ADDED, errors | ADDED_ERRORS)
        for path, dos, typed, errors in (
            ("new-usecase", ("create", "preview"), NO_CASE, CASE_ERRORS),
            ("usecases/{slug}", ("save", "preview"), NO_CASE, without_slug(CASE_ERRORS)),
            ("new-bot", ("create", "preview"), NO_PROPOSED_BOT, PROPOSED_BOT_ERRORS),
            ("bots/{slug}", ("save", "preview"), without_slug(NO_PROPOSED_BOT), without_slug(PROPOSED_BOT_ERRORS)),
        )
        for do in dos
    ),
    Case(
        "/admin/slots/new",
        "create",
        {"id": "A!", **NO_SLOT},
        {**SLOT_ERRORS, "slot-id": "Use only letters a to z, digits and dashes."},
    ),
    Case(
        "/admin/slots/new",
        "create",
        {"id": "left-top", "name": "Top", "side": "left", "weekPrice": "5", "durationWeeks": "1"},
        {"slot-id": "A slot has this id already. Choose another one."},
        409,
    ),
    Case(
        "/admin/slots/new",
        "create",
        {"name": "Top", "side": "left", "weekPrice": "99,999.00", "durationWeeks": "52"},
        {"weekPrice": "All weeks of a booking together cost too much. Lower the price or the number of weeks."},
    ),
    Case("/admin/slots/{id}", "save", {**NO_SLOT, "offerEndsAt": "2026-02-30T10:00"}, SLOT_ERRORS),
)

OF_LISTS = {("/admin", "refund"), ("/admin", "decline")}
OF_LISTS |= {("/admin/bookings/{id}", "describe"), ("/admin/bookings/{id}", "decline")}
"""Forms that `test_admin_lists.py` and `test_administration.py` send, because they need a booking of a certain kind."""
OF_SUBMISSIONS = {("/admin/submissions", "accept"), ("/admin/submissions", "decline")}
"""Forms that `test_submissions.py` sends, because they need a submission."""
OF_TERMS = {("/checkout/{token}", "pay"), ("/sponsor/bookings/{id}", "checkout"), ("/sign-in/link", "use")}
"""Forms without another field than the terms, which `test_terms.py` sends."""
OF_CLIENTS = {("/oauth/authorize", "approve"), ("/oauth/authorize", "deny")}
"""Forms that `tests/api/test_authorization.py` sends, because they need the request of a client."""


def test_each_form_with_fields_is_sent_here_or_where_its_content_is() -> None:
    declared = {(page.path, do) for page in PAGES if page.path != "/admin/reviews" for do in page.forms}
    elsewhere = TAKES_PASSKEY | OF_LISTS | OF_SUBMISSIONS | OF_TERMS | OF_CLIENTS
    assert declared == {(case.path, case.do) for case in CASES} | elsewhere


def _page_of(path: str) -> Page:
    [page] = [page for page in PAGES if page.path == path]
    return page


async def _visitor(world: World, case: Case) -> Visitor:
    if case.do.startswith("start") and case.path == "/sponsor/book":
        return Visitor(world, world.session("new@example.com"))
    if _page_of(case.path).who is Audience.ADMIN:
        return Visitor(world, world.session(ADMIN, admin=True))
    return Visitor(world) if _page_of(case.path).who is Audience.ANYBODY else Visitor(world, world.session(ANN))


async def _sent(world: World, case: Case) -> tuple[Markup, Mapping[str, str], Mapping[str, str]]:
    """The page after the form was sent, and its values and errors with the ids of this world."""
    if case.path in ("/sponsor/bookings/{id}", "/admin/bookings/{id}"):
        await ADDRESSES["/receipt/{token}"](world)
    path = await address_of(world, _page_of(case.path))
    visitor = await _visitor(world, case)
    booking, campaign = (next(iter(rows), "") for rows in (world.memory.bookings, world.memory.campaigns))

    if case.do == "send_material":
        with_video: dict[str, Any] = {"package_kind": PackageKind.BUNDLE, "youtube_status": YoutubeStatus.PLANNED}
        world.memory.bookings[booking] = replace(world.memory.bookings[booking], **with_video)

    def filled(text: str) -> str:
        return text.replace("{booking}", booking).replace("{campaign}", campaign)

    fields = {name: filled(value) for name, value in case.fields.items()}
    response = await visitor.send(path.partition("?")[0], do=case.do, **fields)
    assert response.status == case.status, response.body
    return parsed(response.body.decode()), fields, {filled(place): words for place, words in case.errors.items()}


def _value(element: Element) -> str | None:
    if element.tag == "textarea":
        return element.text
    return element.attributes.get("value") if element.attributes.get("type") != "checkbox" else None


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.path} {case.do} {', '.join(case.errors)}")
async def test_an_error_stands_at_its_field_with_the_focus_on_the_first_and_nothing_is_lost(
    world: World, case: Case
) -> None:
    page, fields, errors = await _sent(world, case)
    assert page.all("title")[0].text.startswith("Error: ")
    shown = {
        each["id"].removesuffix("-error"): each.text
        for each in page.all("p")
        if each.get("class") == "error" and "hidden" not in each
    }
    assert shown == errors
    wrong = {each["id"]: each for each in page.elements if each.get("aria-invalid") == "true"}
    assert list(wrong) == list(errors), "in the order of the page"
    for place, element in wrong.items():
        assert f"{place}-error" in element.attributes["aria-describedby"].split()
    focused = [each["id"] for each in page.elements if "autofocus" in each]
    assert focused == list(errors)[:1]
    values = [_value(each) for each in page.all("input", "textarea")]
    for name, value in fields.items():
        selected = [each["name"] for each in page.all("select")]
        if name not in selected and not (name in SEEN or name.startswith(("scope ", "event ", "sure"))):
            assert " ".join(value.split()) in [" ".join((each or "").split()) for each in values], name

    note = [each for each in page.elements if each.get("id") == "problem"]
    assert [each["role"] for each in note] == ["alert"] * (len(errors) > 1)
    _links_to_each(page, list(errors) if len(errors) > 1 else [])


def _links_to_each(page: Markup, places: list[str]) -> None:
    """The note above the form links to each wrong field by its label."""
    links = [
        each
        for each in page.all("a")
        if each["href"].startswith("#") and "li" in each.above and "nav" not in each.above
    ]
    assert [each["href"] for each in links] == [f"#{place}" for place in places]
    labels = {each["for"]: each.text for each in page.all("label") if "for" in each}
    legends = [each.text for each in page.all("legend")]
    for place, link in zip(places, links, strict=True):
        assert link.text in legends or labels[place].startswith(link.text)


async def test_a_missing_https_is_added_to_every_address(world: World) -> None:
    visitor = Visitor(world, world.session(ANN))
    await visitor.send("/sponsor/profile", do="save", name="Example Tools", website="tools.example.com")
    [sponsor] = world.memory.sponsors.values()
    assert sponsor.website == "https://tools.example.com"
    typed = {"name": "Autumn", "headline": "Try it", "body": "Now\r\nor later", "cta": "Go", "logoText": "T"}
    typed |= {"targetUrl": "tools.example.com/x"}
    assert (await visitor.send("/sponsor/campaigns/new", do="create", **typed)).status == 303
    [campaign] = world.memory.campaigns.values()
    assert (campaign.content.target_url, campaign.content.body) == ("https://tools.example.com/x", "Now or later")
    fields = {"do": "create", "url": "tools.example.com:8443/hook", "event booking.paid": "on"}
    assert (await visitor.send("/sponsor/webhooks", **fields)).status == 200
    [webhook] = world.memory.webhooks.values()
    assert webhook.url == "https://tools.example.com:8443/hook"
    again = parsed((await visitor.send("/sponsor/webhooks", **fields)).body.decode())
    assert "You have a webhook with this address already. Write another one." in again.text
    await address_of(world, _page_of("/sponsor/book"))
    start = SLOT_AND_KEY | {"weekStart": str(NEXT_WEEK + WEEK_MS), "name": "New", "headline": "A", "body": "B"}
    newcomer = Visitor(world, world.session("new@example.com"))
    assert (await newcomer.send("/sponsor/book", do="start", website="new.example.com", **start)).status == 303
    assert "https://new.example.com" in {each.website for each in world.memory.sponsors.values()}


LONG_SEARCH = "x" * 300


async def test_a_filter_that_cannot_be_used_is_refused_at_its_field_on_the_page_of_its_list(world: World) -> None:
    admin = Visitor(world, world.session(ADMIN, admin=True))
    for path, heading, errors in (
        ("/admin/revenue?from=soon", "Revenue", {"from": "soon"}),
        ("/admin/revenue?from=2026-05&to=2026-04", "Revenue", {"from": "2026-05"}),
        ("/admin/revenue?from=1990-01&to=2026-04", "Revenue", {"from": "1990-01"}),
        ("/admin/sites?from=2026-05-02&to=2026-05-01", "Websites", {"from": "2026-05-02"}),
        ("/admin/sites?from=2020-05-02&to=2026-05-01", "Websites", {"from": "2020-05-02"}),
        ("/admin/sites?from=now&to=soon", "Websites", {"from": "now", "to": "soon"}),
        ("/sponsor/reports?from=2026-05-02&to=2026-05-01", "Reports", {"from": "2026-05-02"}),
        ("/sponsor/reports?from=2020-05-02&to=2026-05-01", "Reports", {"from": "2020-05-02"}),
        ("/admin/audit?to=soon", "Audit", {"to": "soon"}),
        (f"/admin/audit?actor={LONG_SEARCH}&target=x", "Audit", {"actor": LONG_SEARCH}),
        ("/admin/bookings?week=soon", "Bookings", {"week": "soon"}),
        (
            f"/admin/bookings?week=0001-01-01&query={LONG_SEARCH}",
            "Bookings",
            {"query": LONG_SEARCH, "week": "0001-01-01"},
        ),
        (f"/admin/accounts?query={LONG_SEARCH}", "Accounts", {"query": LONG_SEARCH}),
    ):
        response = await admin.get(path)
        page = parsed(response.body.decode())
        wrong = [each for each in page.elements if each.get("aria-invalid") == "true"]
        assert (response.status, page.all("h1")[0].text) == (400, heading), path
        assert {each["id"]: each["value"] for each in wrong} == errors, path
        focused = [each["id"] for each in page.elements if "autofocus" in each]
        assert focused == list(errors)[:1], path
        _links_to_each(page, list(errors) if len(errors) > 1 else [])
        assert "Nothing was saved" not in page.text
        assert "admin" not in path or not [each for each in page.all("a") if "format=csv" in (each.get("href") or "")]


async def test_a_filter_that_only_links_set_is_refused_above_the_list_and_is_not_repeated(world: World) -> None:
    admin = Visitor(world, world.session(ADMIN, admin=True))
    for path, words in (
        ("/admin/bookings?status=nope&query=left", "There is no such state. Choose one of these."),
        ("/admin/bookings?trouble=nope", "There is no such state. Choose one of these."),
        (f"/admin/bookings?sponsor={LONG_SEARCH}", "There is no such sponsor. Search for its name instead."),
        ("/admin/accounts?tier=nope", "There is no such tier. Choose one of these."),
        ("/admin/accounts?suspended=nope&query=ann", "There is no such state. Choose one of these."),
        ("/admin?status=nope", "There is no such state. Choose one of these."),
    ):
        response = await admin.get(path)
        page = parsed(response.body.decode())
        [note] = [each for each in page.elements if each.get("id") == "problem"]
        assert (response.status, note.attributes["role"], note.text) == (400, "alert", words), path
        assert "autofocus" in note.attributes
        links = [each.attributes.get("href", "") for each in page.all("a")]
        assert not [each for each in links if "nope" in each or LONG_SEARCH in each], path
        assert not [each for each in page.all("input") if each.get("value") in ("nope", LONG_SEARCH)], path
        for name, typed in (each.split("=") for each in path.partition("?")[2].split("&")):
            values = [each["value"] for each in page.all("input") if each["name"] == name]
            assert name != "query" or values == [typed]


async def test_a_list_that_is_refused_for_more_than_its_filters_has_the_page_of_that_refusal(world: World) -> None:
    response = await Visitor(world, world.session(ADMIN, admin=True)).get("/admin/bookings?week=2026-11-23&cursor=x")
    page = parsed(response.body.decode())
    assert (response.status, page.all("h1")[0].text) == (400, "We could not read that request")
    assert STALE_LIST in page.text


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/admin", {"do": "reject", "campaign": "cmp_gone", "note": ""}),
        ("/dashboard/security", {"do": "rename-passkey", "id": "pky_gone", "new_name": ""}),
    ],
)
async def test_a_form_that_is_not_on_the_page_any_more_says_so(
    world: World, path: str, fields: Mapping[str, str]
) -> None:
    response = await Visitor(world, world.session(ADMIN, admin=True)).send(path, **fields)
    [note] = [each for each in parsed(response.body.decode()).elements if each.get("id") == "problem"]
    assert (response.status, note.attributes["role"], note.text) == (400, "alert", GONE)


@pytest.mark.parametrize(
    ("week", "sentence"),
    [
        ("1", "Choose one of the weeks."),
        ("²", "Choose one of the weeks."),
        ("9" * 400, "Choose one of the weeks."),
        (str(NEXT_WEEK + 500 * WEEK_MS), "This week is too far ahead. Choose an earlier one."),
    ],
)
async def test_a_form_for_a_week_that_is_not_sold_offers_other_weeks(world: World, week: str, sentence: str) -> None:
    await address_of(world, _page_of("/sponsor/book"))
    before = dict(world.memory.bookings)
    fields = SLOT_AND_KEY | {"weekStart": week, "campaignId": next(iter(world.memory.campaigns))}
    response = await Visitor(world, world.session(ANN)).send("/sponsor/book", do="reserve", **fields)
    page = parsed(response.body.decode())
    assert response.status == 400, page.text
    assert [each["name"] for each in page.all("select")][:1] == ["weekStart"]
    told = [each.text for each in page.all("p") if "-error" in (each.get("id") or "")]
    assert told == [sentence]
    assert world.memory.bookings == before
