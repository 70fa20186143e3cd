"""The dashboard: its content and its forms."""

import re
from dataclasses import replace
from html import unescape

import pytest

from actors.clock import DAY_MS
from actors.values import Scope, StorageUnavailable, Tier
from service.web.pages.account.keys import KEYS_ON_A_PAGE as ON_A_PAGE
from service.web.pages.account.keys import LISTED
from service.web.pages.account.security import PATH as SECURITY
from service.web.pages.parts.notices import NOTICES
from tests.api.world import NOON_MS, World
from tests.web.visitors import Visitor

ANN, BOB = "ann@example.com", "bob@example.com"
PAGE = "/dashboard"
KEY = re.compile(r"cs_(?:user|scoped)_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}")
SMALL = 44_000
"""Bytes. The styles and scripts are 16 kB of the 60 of a first view."""

HOSTILE = ('<script>alert("x")</script>', '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "</pre></h3><b>", "a&lt;b")


async def html_of(visitor: Visitor, target: str = PAGE) -> str:
    response = await visitor.get(target)
    assert response.status == 200, response.words
    return response.body.decode()


@pytest.fixture
def ann(world: World) -> Visitor:
    return Visitor(world, world.session(ANN))


def of_ann(world: World) -> set[str]:
    """The ids of the live keys of Ann's account."""
    tenant = world.memory.accounts[ANN].tenant_id
    return {key.id for key in world.memory.keys.values() if key.tenant_id == tenant and key.revoked_ms is None}


def page_of(world: World, key: str) -> str:
    """The address of the page of a key."""
    return f"{PAGE}/keys/{world.id_of(key)}"


def text_of(html: str) -> str:
    """The visible text of a page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


async def test_the_first_key_ends_when_every_later_one_does(world: World, ann: Visitor) -> None:
    usual = '<option value="90" selected>In 90 days (recommended)</option>'
    assert usual in await html_of(ann, PAGE)
    [key] = of_ann(world)
    world.memory.keys[key] = replace(world.memory.keys[key], revoked_ms=world.now_ms)
    first = await html_of(ann, PAGE)
    assert "Create your first key" in first
    assert usual in first


# Usage.


async def test_the_usage_is_shown_with_what_is_left_and_by_day(world: World) -> None:
    key = world.key(tier=Tier.CLAIMED, email=ANN, used=1_234, used_today=56)
    world.memory.usage_days |= {
        (world.tenant_of(key).id, NOON_MS // DAY_MS - 1): 1_178,
        (world.tenant_of(key).id, NOON_MS // DAY_MS): 56,
    }
    html = await html_of(Visitor(world, world.session(ANN)))
    words = text_of(html)
    assert "Today 56 of 10,000, renewed at midnight" in words
    assert "This month 1,234 of 100,000, renewed on 1 December" in words
    assert "In 30 days 1,234 busiest day: 1,178, on 17 November" in words
    assert html.count('class="gauge"') == 2
    assert html.count('<path class="now" d="M') == 2, "today's bar, drawn at both widths"
    assert "1,234 requests in 2 days. The most on one day: 1,178 requests, on 17 November." in words
    assert "The numbers begin on 17 November." in words
    assert "Today 56" in words, "the table beside the plot"


@pytest.mark.parametrize(("days", "rows"), [(7, 7), (30, 30), (90, 14)])
async def test_the_plot_is_of_as_many_days_as_were_chosen(world: World, ann: Visitor, days: int, rows: int) -> None:
    tenant, today = world.tenant_of(world.key_of(ANN)).id, NOON_MS // DAY_MS
    world.memory.usage_days |= {(tenant, today - ago): 1 for ago in range(120)}
    html = await html_of(ann, f"{PAGE}?days={days}")
    assert html.partition('id="keys"')[0].count('<th scope="row">') == rows, "many days are summed up by week"
    assert f'<a href="/dashboard?days={days}" aria-current="true">' in html


# Keys.


async def test_keys_are_listed_with_prefix_scopes_and_last_use_and_never_whole(world: World, ann: Visitor) -> None:
    full, scoped = world.key_of(ANN), world.key_of(ANN, (Scope.LIBRARY_READ, Scope.SPONSOR_READ))
    others = world.key_of(ANN, revoked=True)
    await world.client.get("/api/v1/bots", scoped)
    html = await html_of(ann)
    for key, length in ((full, 12), (scoped, 14)):
        assert f'<span class="under mono">{key[:length]}…</span>' in html
        assert key not in html
    assert others[:12] not in html
    assert "Read the catalog and the usage, and 1 more" in text_of(html)
    keys = html.partition('id="keys"')[2]
    rows = [text_of(row) for row in re.findall(r"<tr>.*?</tr>", keys, re.DOTALL) if 'scope="row"' in row]
    assert [("Just now" in row, "Not yet" in row) for row in rows].count((True, False)) == 1
    assert [("Just now" in row, "Not yet" in row) for row in rows].count((False, True)) == 2


async def test_many_keys_are_listed_in_short_and_keep_the_page_small_enough_for_a_first_view(
    world: World, ann: Visitor
) -> None:
    today = NOON_MS // DAY_MS
    for _ in range(35):
        world.key_of(ANN, (Scope.LIBRARY_READ, Scope.SPONSOR_READ))
    tenant = world.memory.accounts[ANN].tenant_id
    for number, key in enumerate(sorted(of_ann(world))):
        made = NOON_MS - number * DAY_MS
        world.memory.keys[key] = replace(world.memory.keys[key], name=f"Program {number}", created_ms=made)
    world.memory.usage_days |= {(tenant, today - ago): 12_345 + ago for ago in range(120)}
    short, every = await html_of(ann, f"{PAGE}?days=90"), await html_of(ann, f"{PAGE}?keys=all")
    listed = [re.findall(r"<bdi>Program (\d+)</bdi>", html) for html in (short, every)]
    assert [list(map(int, numbers)) for numbers in listed] == [[*range(LISTED)], [*range(len(of_ann(world)))]]
    assert '<a href="/dashboard?days=90&amp;keys=all#keys">Show all 36 keys</a>' in short
    assert "Show all" not in every
    assert max(map(len, (short, every))) < SMALL


async def test_a_page_of_all_keys_stays_small_however_many_there_are(world: World, ann: Visitor) -> None:
    for _ in range(2 * ON_A_PAGE):
        world.key_of(ANN, (Scope.LIBRARY_READ, Scope.SPONSOR_READ))
    tenant = world.memory.accounts[ANN].tenant_id
    for number, key in enumerate(sorted(of_ann(world))):
        made, name = NOON_MS - number * DAY_MS, f"{number:02} " + "\u6587" * 61
        world.memory.keys[key] = replace(world.memory.keys[key], name=name, created_ms=made)
    world.memory.usage_days |= {(tenant, NOON_MS // DAY_MS - ago): 12_345 + ago for ago in range(120)}
    listed = []
    for page in ("", "&page=2", "&page=3"):
        html = await html_of(ann, f"{PAGE}?keys=all&days=30{page}")
        assert len(html.encode()) < SMALL
        assert f'href="/dashboard?days=7&amp;keys=all{page.replace("&", "&amp;")}"' in html
        listed.append([int(number) for number in re.findall(r"<bdi>(\d+) \u6587", html)])
    assert listed == [[*range(40)], [*range(40, 80)], [80]]
    assert "81 of 81" in text_of(html)
    for page in ("4", "0", "x", "9" * 30):
        found = re.findall(r"<bdi>(\d+) \u6587", await html_of(ann, f"{PAGE}?keys=all&page={page}"))
        assert found[0] == ("80" if page == "4" else "00")


async def test_the_page_of_a_key_has_its_facts_and_its_use_and_never_the_key(world: World, ann: Visitor) -> None:
    key = world.key_of(ANN, (Scope.LIBRARY_READ, Scope.SPONSOR_READ))
    await world.client.get("/api/v1/bots", key)
    html = await html_of(ann, page_of(world, key))
    assert KEY.findall(html) == []
    words = text_of(html)
    assert "Read the catalog and the usage library:read" in words
    assert "See the sponsor profile, ads and bookings sponsor:read" in words
    assert "Requests in 30 days 1 " in words
    assert "Created Today, 12:00" in words
    assert f'title="{world.id_of(key)}"' in html
    assert 'aria-current="true">7 days' in await html_of(ann, f"{page_of(world, key)}?days=7")


async def test_the_page_of_a_key_is_for_its_account_alone(world: World, ann: Visitor) -> None:
    gone = world.key_of(ANN, revoked=True)
    world.key(tier=Tier.CLAIMED, email=BOB)
    for address in (page_of(world, world.key_of(BOB)), page_of(world, gone), f"{PAGE}/keys/key_unknown"):
        looked = await world.client.get(address, headers={"Cookie": f"__Host-session={world.session(ANN)}"})
        assert (looked.status, (await ann.send(address, do="edit-key", days="never")).status) == (404, 404)


async def test_a_new_account_begins_with_three_steps_and_without_a_chart(world: World, ann: Visitor) -> None:
    for key_id in of_ann(world):
        await ann.send(f"{PAGE}/keys/{key_id}", do="revoke")
    html = await html_of(ann)
    words = text_of(html)
    assert "Welcome. Three steps to your first answer" in words
    assert "10,000 requests a day, 100,000 a month" in words
    assert "<figure" not in html
    assert "<table" not in html
    assert html.count('class="main"') == 1
    assert (await ann.send(PAGE, do="create-key", kind="full")).status == 200
    words = text_of(await html_of(ann))
    assert "Done. You have 1 key" in words
    assert "Welcome" not in words


async def test_a_key_that_ends_soon_is_said_first_with_the_way_to_replace_it(world: World, ann: Visitor) -> None:
    soon, later = world.key_of(ANN), world.key_of(ANN)
    for key, days in ((soon, "7"), (later, "30")):
        done = await ann.send(page_of(world, key), do="edit-key", key_name=f"In {days}", days=days)
        assert done.status == 303
    html = await html_of(ann)
    assert 'The key "In 7" expires in 7 days' in text_of(html)
    assert f'href="{page_of(world, soon)}#rotate">Replace it now' in html
    assert 'The key "In 30" expires' not in text_of(html)


async def test_a_full_key_is_shown_once_and_works(world: World, ann: Visitor) -> None:
    made = await ann.send(PAGE, do="create-key", kind="full", name=" Laptop ")
    assert (made.status, made.header("cache-control")) == (200, "no-store")
    [key] = set(KEY.findall(made.body.decode()))
    assert (await world.client.get("/api/v1/sponsors/campaigns", key)).words == "200"
    html = await html_of(ann)
    assert KEY.findall(html) == []
    assert f'<bdi>Laptop</bdi><span class="under mono">{key[:12]}…</span>' in html


async def test_a_scoped_key_has_the_scopes_that_were_chosen(world: World, ann: Visitor) -> None:
    fields = {
        "do": "create-key",
        "kind": "scoped",
        "name": "Reporting",
        "scope sponsor:read": "on",
        "scope library:read": "on",
    }
    made = await ann.send(PAGE, **fields)
    [key] = set(KEY.findall(made.body.decode()))
    row = world.memory.keys[world.id_of(key)]
    assert (row.name, row.scopes) == ("Reporting", (Scope.LIBRARY_READ, Scope.SPONSOR_READ))
    assert (await world.client.get("/api/v1/sponsors/keys", key)).words == "403 insufficient_scope"


async def test_scopes_of_administrators_are_offered_to_one_only(world: World, ann: Visitor) -> None:
    assert "admin:read" not in await html_of(ann)
    assert "admin:read" in await html_of(Visitor(world, world.session(BOB, admin=True)))
    sent = {"do": "create-key", "kind": "scoped", "name": "Audit", "scope admin:read": "on"}
    assert (await ann.send(PAGE, **sent)).status == 403, "also where somebody sends what was not offered"


@pytest.mark.parametrize("kind", ["", "scoped"])
async def test_a_refused_form_keeps_the_kind_of_the_key(world: World, ann: Visitor, kind: str) -> None:
    before = of_ann(world)
    again = await ann.send(PAGE, **{"do": "create-key", "kind": kind, "scope no:such": "on"})
    html = again.body.decode()
    assert (again.status, "Choose what the key can do." in html) == (400, True)
    assert re.findall(r'name="kind" value="(\w+)"(?: data-opens)? checked', html) == [kind or "full"]
    assert of_ann(world) == before


@pytest.mark.parametrize(
    "fields",
    [
        {"do": "create-key", "kind": "full"},
        {"do": "create-key", "kind": "scoped", "name": "Reporting", "scope library:read": "on"},
    ],
)
async def test_a_form_that_creates_a_key_and_is_sent_twice_creates_one(
    world: World, ann: Visitor, fields: dict[str, str]
) -> None:
    before = of_ann(world)
    form = fields | {"form_id": re.findall(r'name="form_id" value="(\w+)"', await html_of(ann))[0]}
    assert KEY.findall((await ann.send(PAGE, **form)).body.decode())
    again = await ann.send(PAGE, **form)
    assert (again.status, again.header("location")) == (303, "/dashboard?notice=key_created_already")
    assert NOTICES["key_created_already"] in await html_of(ann, "/dashboard?notice=key_created_already")
    assert len(of_ann(world) - before) == 1


async def test_a_form_whose_outcome_is_unknown_keeps_its_idempotency_key(world: World, ann: Visitor) -> None:
    async def fail(*arguments: object, **named: object) -> None:
        raise StorageUnavailable("away")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.services.keys, "issue", fail)
        unknown = await ann.send(PAGE, do="create-key", kind="full", form_id="f0" * 16)
    assert unknown.status == 503
    assert 'name="form_id" value="' + "f0" * 16 in unknown.body.decode()
    refused = await ann.send(PAGE, do="create-key", kind="scoped", form_id="f0" * 16)
    assert 'name="form_id" value="' + "f0" * 16 not in refused.body.decode()


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_name_is_text_wherever_it_is_shown(world: World, ann: Visitor, name: str) -> None:
    made = (await ann.send(PAGE, do="create-key", kind="full", name=name)).body.decode()
    html = await html_of(ann)
    typed = (await ann.send(PAGE, do="create-key", kind="scoped", name=name)).body.decode()
    for shown in (made, html, typed):
        assert name not in shown or not re.search(r"[<&]", name)
    assert name in text_of(re.sub(r"<(title|desc)\b.*?</\1>", "", html, flags=re.DOTALL))
    assert name in unescape(re.findall(r'id="name".*?value="([^"]*)"', typed)[0])


# Changing and rotating.


async def test_a_key_is_renamed_and_gets_and_loses_an_end(world: World, ann: Visitor) -> None:
    key = world.key_of(ANN)
    page = page_of(world, key)
    done = await ann.send(page, do="edit-key", key_name="Laptop", days="30")
    assert (done.status, done.header("location")) == (303, f"{page}?notice=key_changed")
    html = await html_of(ann, f"{page}?notice=key_changed")
    assert NOTICES["key_changed"] in html
    assert "<title>The key is changed. Key Laptop - Catalog</title>" in html
    assert "<h1><bdi>Laptop</bdi>" in html
    assert "Expires 18 December" in text_of(html)
    assert "Laptop cs_user_" in text_of(await html_of(ann))
    await ann.send(page, do="edit-key", key_name="", days="never")
    row = world.memory.keys[world.id_of(key)]
    assert (row.name, row.expires_ms) == ("Laptop", None)
    refused = await ann.send(page, do="edit-key", key_name=" ", days="keep")
    assert refused.status == 400
    assert "Write a name, or choose when the key expires." in refused.body.decode()


@pytest.mark.parametrize(("grace", "works"), [("0", False), ("3600", True), ("604800", True)])
async def test_a_rotated_key_shows_the_new_one_once_and_both_in_the_list(
    world: World, ann: Visitor, grace: str, works: bool
) -> None:
    old = world.key_of(ANN, (Scope.LIBRARY_READ,))
    page = page_of(world, old)
    [form_id] = re.findall(r'name="form_id" value="(\w+)"', await html_of(ann, page))
    sent = {"do": "rotate-key", "grace": grace, "form_id": form_id}
    made = (await ann.send(page, **sent)).body.decode()
    [new] = set(KEY.findall(made))
    assert "The old key works until" in made
    assert [(await world.client.get("/api/v1/bots", key)).status == 200 for key in (old, new)] == [works, True]
    again = await ann.send(page, **sent)
    assert (again.status, again.header("location")) == (303, "/dashboard?notice=key_rotated_already")
    html = await html_of(ann, "/dashboard?notice=key_rotated_already")
    assert KEY.findall(html) == []
    assert new[:14] in html
    assert ("Replaced, expires in" in text_of(html)) == works
    assert 'value="edit-key"' in await html_of(ann, page_of(world, new))
    if works:
        of_old = await html_of(ann, page)
        assert "This key was replaced, and works until" in text_of(of_old)
        assert ('value="edit-key"' in of_old, 'value="revoke"' in of_old) == (False, True)


async def test_what_each_key_used_is_shown_and_what_ended_keys_did(world: World, ann: Visitor) -> None:
    key, gone = world.key_of(ANN), world.key_of(ANN)
    for used in (key, key, gone):
        await world.client.get("/api/v1/bots", used)
    await ann.send(page_of(world, gone), do="revoke")
    html = await html_of(ann, f"{PAGE}?days=7")
    assert '<td class="number" data-label="In 7 days">2</td>' in html
    words = text_of(html)
    assert "1 of the requests in these 7 days came with keys that no longer exist" in words


# Revoking.


async def test_revoking_asks_first_and_then_ends_the_key(world: World, ann: Visitor) -> None:
    for key in (world.key_of(ANN), world.key_of(ANN, (Scope.LIBRARY_READ,))):
        page = page_of(world, key)
        [asked] = [
            each
            for each in re.findall(r"<details.*?</details>", await html_of(ann, page), re.DOTALL)
            if "risky" in each
        ]
        assert "<summary>Revoke" in asked
        assert 'value="revoke"' in asked.partition("</summary>")[2], "the button comes after the question"
        done = await ann.send(page, do="revoke")
        assert (done.status, done.header("location")) == (303, "/dashboard?notice=key_revoked")
        assert (await world.client.get("/api/v1/bots", key)).words == "401 invalid_api_key"
        assert "The key is revoked." in await html_of(ann, "/dashboard?notice=key_revoked")


# Sessions.


async def test_browsers_are_listed_and_another_one_is_signed_out(world: World) -> None:
    ann = Visitor(world, world.session(ANN))
    other = world.session(ANN)
    [_, other_id] = world.memory.sessions
    html = await html_of(ann, SECURITY)
    assert html.count("This browser") == 1
    assert re.findall(r'<p class="strong">.*?(This browser|</p>)', html) == ["This browser", "</p>"], (
        "this one is first"
    )
    asked = [each for each in re.findall(r"<form.*?</form>", html, re.DOTALL) if 'value="end-session"' in each]
    assert len(asked) == 1, "this browser signs out in the menu"
    assert f'value="{other_id}"' in asked[0]
    done = await ann.send(SECURITY, do="end-session", id=other_id)
    assert (done.status, done.header("location")) == (303, f"{SECURITY}?notice=session_ended")
    gone = await world.client.get(PAGE, headers={"Cookie": f"__Host-session={other}"})
    assert gone.status == 303
    assert 'value="end-session"' not in await html_of(ann, SECURITY)


SIGN_IN = "/sign-in?next=%2Fdashboard&notice=sign_in_again"


async def test_who_ends_his_own_session_is_signed_out_and_keeps_no_cookie(world: World, ann: Visitor) -> None:
    [session_id] = world.memory.sessions
    done = await ann.send(PAGE, do="end-session", id=session_id)
    assert (done.status, done.header("location")) == (303, "/?notice=signed_out")
    assert done.all("set-cookie") == ["__Host-session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure"]
    assert done.header("cache-control") == "no-store"
    assert (await ann.send(PAGE, do="create-key", kind="full")).header("location") == SIGN_IN


# The page itself.
