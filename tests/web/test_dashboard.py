"""The dashboard: its content and its forms."""

import re
from collections.abc import Mapping
from html import unescape
from urllib.parse import urlencode

import pytest

from actors.clock import DAY_MS
from actors.values import Scope, StorageUnavailable, Tier
from service.web.pages.dashboard import TOPICS
from service.web.pages.notices import NOTICES
from tests.api.asgi import Response
from tests.api.world import NOON_MS, World

ANN, BOB = "ann@example.com", "bob@example.com"
PAGE = "/dashboard"
KEY = re.compile(r"cs_(?:user|scoped)_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}")
HOSTILE = ('<script>alert("x")</script>', '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "</pre></h3><b>", "a&lt;b")


class Browser:
    """A browser that is signed in to the account of `email`."""

    def __init__(self, world: World, email: str = ANN, *, admin: bool = False) -> None:
        self._world = world
        self._cookie = {"Cookie": f"__Host-session={world.session(email, admin=admin)}"}

    async def look(self, target: str = PAGE) -> str:
        response = await self._world.client.get(target, headers=self._cookie)
        assert response.status == 200, response.words
        assert response.header("cache-control") == "no-store"
        return response.body.decode()

    async def send(self, fields: Mapping[str, str], site: str = "same-origin") -> Response:
        form = {"Sec-Fetch-Site": site, "Content-Type": "application/x-www-form-urlencoded"}
        return await self._world.client.post(PAGE, headers=self._cookie | form, body=urlencode(fields).encode())


@pytest.fixture
def ann(world: World) -> Browser:
    return Browser(world)


def of_ann(world: World) -> set[str]:
    """The ids of the live keys of Ann's account."""
    tenant = world.memory.accounts[ANN].tenant_id
    return {key.id for key in world.memory.keys.values() if key.tenant_id == tenant and key.revoked_ms is None}


def text_of(html: str) -> str:
    """The visible text of a page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


# Who sees it.


async def test_who_is_not_signed_in_is_led_to_sign_in_and_back(world: World) -> None:
    response = await world.client.get(f"{PAGE}?days=7")
    assert (response.status, response.header("location")) == (303, "/sign-in?next=%2Fdashboard%3Fdays%3D7")
    assert (await world.client.get(PAGE, world.key(tier=Tier.CLAIMED, email=ANN))).status == 303, "a key opens no page"


async def test_a_form_from_elsewhere_does_nothing(world: World, ann: Browser) -> None:
    before = of_ann(world)
    for site in ("cross-site", "same-site", "none"):
        assert (await ann.send({"do": "create-full"}, site)).words == "403 forbidden"
    assert of_ann(world) == before


@pytest.mark.parametrize("act", ["", "delete-everything"])
async def test_a_form_that_the_page_has_not_is_refused(ann: Browser, act: str) -> None:
    assert (await ann.send({"do": act})).words == "400 invalid_request"


# Usage.


async def test_the_usage_is_shown_with_what_is_left_and_by_day(world: World) -> None:
    key = world.key(tier=Tier.CLAIMED, email=ANN, used=1_234, used_today=56)
    world.memory.usage_days |= {
        (world.tenant_of(key).id, NOON_MS // DAY_MS - 1): 1_178,
        (world.tenant_of(key).id, NOON_MS // DAY_MS): 56,
    }
    html = await Browser(world).look()
    words = text_of(html)
    assert "9,944 left: 56 of 10,000 requests used" in words
    assert "98,766 left: 1,234 of 100,000 requests used" in words
    assert 'max="100000"' in html
    assert html.count('class="col-now"') == 2, "today's bar, drawn at both widths"
    assert "1,234 requests in 2 days. The most on one day: 1,178 requests, on 17 November." in words
    assert "The numbers begin on 17 November." in words
    assert "Today 56" in words, "the table beside the plot"


@pytest.mark.parametrize("days", [7, 30, 90])
async def test_the_plot_is_of_as_many_days_as_were_chosen(world: World, ann: Browser, days: int) -> None:
    tenant, today = world.tenant_of(world.key_of(ANN)).id, NOON_MS // DAY_MS
    world.memory.usage_days |= {(tenant, today - ago): 1 for ago in range(120)}
    html = await ann.look(f"{PAGE}?days={days}")
    assert html.count('<th scope="row">') == days
    assert f'<a href="/dashboard?days={days}" aria-current="true">' in html


@pytest.mark.parametrize("days", ["0", "91", "x", "%3Cscript%3E"])
async def test_a_span_that_is_none_is_a_page_that_says_so(world: World, days: str) -> None:
    headers = {"Cookie": f"__Host-session={world.session(ANN)}", "Accept": "text/html"}
    response = await world.client.get(f"{PAGE}?days={days}", headers=headers)
    assert response.status == 400
    assert "Something in the address of this page is not valid." in response.body.decode()
    assert "<script>" not in response.body.decode()


# Keys.


async def test_keys_are_listed_with_prefix_scopes_and_last_use_and_never_whole(world: World, ann: Browser) -> None:
    full, scoped = world.key_of(ANN), world.key_of(ANN, (Scope.LIBRARY_READ, Scope.SPONSOR_READ))
    others = world.key_of(ANN, revoked=True)
    await world.client.get("/api/v1/bots", scoped)
    html = await ann.look()
    for key, length in ((full, 12), (scoped, 14)):
        assert f"<code>{key[:length]}…</code>" in html
        assert key not in html
    assert others[:12] not in html
    assert '<span class="badge">library:read</span> <span class="badge">sponsor:read</span>' in html
    assert html.count("today, 12:00") >= 4, "three were created then, and one was used"
    assert text_of(html).count("not used yet") == 2


async def test_a_full_key_is_shown_once_and_works(world: World, ann: Browser) -> None:
    made = await ann.send({"do": "create-full", "full_name": " Laptop "})
    assert (made.status, made.header("cache-control")) == (200, "no-store")
    [key] = set(KEY.findall(made.body.decode()))
    assert (await world.client.get("/api/v1/sponsors/campaigns", key)).words == "200"
    html = await ann.look()
    assert KEY.findall(html) == []
    assert f"<code>{key[:12]}…</code> Laptop" in html


async def test_a_scoped_key_has_the_scopes_that_were_chosen(world: World, ann: Browser) -> None:
    fields = {"do": "create-scoped", "scoped_name": "Reporting", "scope sponsor:read": "on", "scope library:read": "on"}
    made = await ann.send(fields)
    [key] = set(KEY.findall(made.body.decode()))
    row = world.memory.keys[world.id_of(key)]
    assert (row.name, row.scopes) == ("Reporting", (Scope.LIBRARY_READ, Scope.SPONSOR_READ))
    assert (await world.client.get("/api/v1/sponsors/keys", key)).words == "403 insufficient_scope"


async def test_scopes_of_administrators_are_offered_to_one_only(world: World, ann: Browser) -> None:
    assert "admin:read" not in await ann.look()
    assert "admin:read" in await Browser(world, BOB, admin=True).look()
    sent = {"do": "create-scoped", "scoped_name": "Audit", "scope admin:read": "on"}
    assert (await ann.send(sent)).status == 403, "also where somebody sends what was not offered"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"do": "create-scoped", "scoped_name": "Typed before"}, "Choose what the key can do."),
        ({"do": "create-scoped", "scoped_name": "Typed before", "scope no:such": "on"}, "Choose what the key can do."),
        ({"do": "create-scoped", "scoped_name": "", "scope library:read": "on"}, "Write a name for the key."),
        ({"do": "create-scoped", "scoped_name": "x" * 65, "scope library:read": "on"}, "Shorten it by 1."),
        ({"do": "create-full", "full_name": "y" * 70}, "This has 70 characters. Shorten it by 6."),
    ],
)
async def test_a_form_that_comes_to_nothing_says_why_and_keeps_what_was_typed(
    world: World, ann: Browser, fields: dict[str, str], words: str
) -> None:
    before = of_ann(world)
    again = await ann.send(fields)
    html = again.body.decode()
    assert again.status == 400
    [error] = re.findall(r'<p class="error" id=".*?">.*?</svg> (.*?)</p>', html)
    assert words in error
    for name, value in fields.items():
        if name.endswith("_name") and value:
            assert f'value="{value}"' in html
    assert html.count(" checked") - len(TOPICS) == sum(name == "scope library:read" for name in fields)
    assert of_ann(world) == before


async def test_the_eleventh_full_key_is_refused_on_the_page(ann: Browser) -> None:
    for _ in range(9):
        assert (await ann.send({"do": "create-full"})).status == 200
    refused = await ann.send({"do": "create-full"})
    assert refused.status == 409
    assert "10 live full keys, the maximum" in refused.body.decode()


async def test_each_form_that_creates_a_key_has_an_idempotency_key(ann: Browser) -> None:
    names = []
    for _ in range(2):
        html = await ann.look()
        making = [form for form in re.findall(r"<form.*?</form>", html, re.DOTALL) if 'value="create-' in form]
        found = [re.findall(r'name="form_id" value="([0-9a-f]{32})"', form) for form in making]
        assert [len(each) for each in found] == [1, 1]
        names.append(found[0][0])
    assert names[0] != names[1]


@pytest.mark.parametrize(
    "fields",
    [{"do": "create-full"}, {"do": "create-scoped", "scoped_name": "Reporting", "scope library:read": "on"}],
)
async def test_a_form_that_creates_a_key_and_is_sent_twice_creates_one(
    world: World, ann: Browser, fields: dict[str, str]
) -> None:
    before = of_ann(world)
    form = fields | {"form_id": re.findall(r'name="form_id" value="(\w+)"', await ann.look())[0]}
    assert KEY.findall((await ann.send(form)).body.decode())
    again = await ann.send(form)
    assert (again.status, again.header("location")) == (303, "/dashboard?notice=key_created_already")
    assert NOTICES["key_created_already"] in await ann.look("/dashboard?notice=key_created_already")
    assert len(of_ann(world) - before) == 1


@pytest.mark.parametrize("form_id", ["", "1" * 101, "a b", "é"])
async def test_an_invalid_idempotency_key_of_a_form_is_refused(world: World, ann: Browser, form_id: str) -> None:
    before = of_ann(world)
    assert (await ann.send({"do": "create-full", "form_id": form_id})).status == 400
    assert of_ann(world) == before


async def test_a_form_whose_outcome_is_unknown_keeps_its_idempotency_key(world: World, ann: Browser) -> None:
    async def fail(*arguments: object, **named: object) -> None:
        raise StorageUnavailable("away")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.services.keys, "issue", fail)
        unknown = await ann.send({"do": "create-full", "form_id": "f0" * 16})
    assert unknown.status == 503
    assert 'name="form_id" value="' + "f0" * 16 in unknown.body.decode()
    refused = await ann.send({"do": "create-scoped", "form_id": "f0" * 16})
    assert 'name="form_id" value="' + "f0" * 16 not in refused.body.decode()


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_name_is_text_wherever_it_is_shown(world: World, ann: Browser, name: str) -> None:
    made = (await ann.send({"do": "create-full", "full_name": name})).body.decode()
    html = await ann.look()
    typed = (await ann.send({"do": "create-scoped", "scoped_name": name})).body.decode()
    for shown in (made, html, typed):
        assert name not in shown or not re.search(r"[<&]", name)
    assert name in text_of(re.sub(r"<(title|desc)\b.*?</\1>", "", html, flags=re.DOTALL))
    assert name in unescape(re.findall(r'id="scoped_name".*?value="([^"]*)"', typed)[0])


# Changing and rotating.


async def test_a_key_is_renamed_and_gets_and_loses_an_end(world: World, ann: Browser) -> None:
    key_id = world.id_of(world.key_of(ANN))
    done = await ann.send({"do": "edit-key", "id": key_id, "key_name": "Laptop", "days": "30"})
    assert (done.status, done.header("location")) == (303, "/dashboard?notice=key_changed")
    html = await ann.look()
    assert "</code> Laptop</h3>" in html
    assert "18 December, 12:00" in html
    assert NOTICES["key_changed"] in await ann.look("/dashboard?notice=key_changed")
    await ann.send({"do": "edit-key", "id": key_id, "key_name": "", "days": "never"})
    row = world.memory.keys[key_id]
    assert (row.name, row.expires_ms) == ("Laptop", None)
    refused = await ann.send({"do": "edit-key", "id": key_id, "key_name": " ", "days": "keep"})
    assert refused.status == 400
    assert "Write a name, or choose when the key expires." in refused.body.decode()


@pytest.mark.parametrize(("grace", "works"), [("0", False), ("3600", True), ("604800", True)])
async def test_a_rotated_key_shows_the_new_one_once_and_both_in_the_list(
    world: World, ann: Browser, grace: str, works: bool
) -> None:
    old = world.key_of(ANN, (Scope.LIBRARY_READ,))
    html = await ann.look()
    [form] = [
        each
        for each in re.findall(r"<form.*?</form>", html, re.DOTALL)
        if "rotate-key" in each and world.id_of(old) in each
    ]
    [form_id] = re.findall(r'name="form_id" value="(\w+)"', form)
    sent = {"do": "rotate-key", "id": world.id_of(old), "grace": grace, "form_id": form_id}
    made = (await ann.send(sent)).body.decode()
    [new] = set(KEY.findall(made))
    assert "The old key works until" in made
    assert [(await world.client.get("/api/v1/bots", key)).status == 200 for key in (old, new)] == [works, True]
    again = await ann.send(sent)
    assert (again.status, again.header("location")) == (303, "/dashboard?notice=key_rotated_already")
    html = await ann.look("/dashboard?notice=key_rotated_already")
    assert KEY.findall(html) == []
    assert (f"<summary>Change {new[:14]}" in html, f"<summary>Change {old[:14]}" in html) == (True, False)
    assert ("Works until" in html) == works
    assert f"<summary>Revoke {old[:14]}" in html or not works


async def test_a_rotation_without_a_grace_of_the_list_is_refused(world: World, ann: Browser) -> None:
    key_id = world.id_of(world.key_of(ANN))
    for grace in ("", "7", "-1", "x"):
        refused = await ann.send({"do": "rotate-key", "id": key_id, "grace": grace})
        assert (refused.status, "Choose how long" in refused.body.decode()) == (400, True)
    assert world.memory.keys[key_id].successor_id is None


async def test_what_each_key_used_is_shown_and_what_ended_keys_did(world: World, ann: Browser) -> None:
    key, gone = world.key_of(ANN), world.key_of(ANN)
    for used in (key, key, gone):
        await world.client.get("/api/v1/bots", used)
    await ann.send({"do": "revoke", "id": world.id_of(gone)})
    words = text_of(await ann.look(f"{PAGE}?days=7"))
    assert "Requests 2 in 7 days" in words
    assert "1 of the requests in these 7 days came with keys that have ended" in words


# Revoking.


async def test_revoking_asks_first_and_then_ends_the_key(world: World, ann: Browser) -> None:
    for key in (world.key_of(ANN), world.key_of(ANN, (Scope.LIBRARY_READ,))):
        html, key_id = await ann.look(), world.id_of(key)
        [asked] = [
            each for each in re.findall(r"<details.*?</details>", html, re.DOTALL) if key_id in each and "risky" in each
        ]
        assert "<summary>Revoke" in asked
        assert 'value="revoke"' in asked.partition("</summary>")[2], "the button comes after the question"
        done = await ann.send({"do": "revoke", "id": key_id})
        assert (done.status, done.header("location")) == (303, "/dashboard?notice=key_revoked")
        assert (await world.client.get("/api/v1/bots", key)).words == "401 invalid_api_key"
        assert "The key is revoked." in await ann.look("/dashboard?notice=key_revoked")


async def test_a_key_of_another_account_is_not_revoked(world: World, ann: Browser) -> None:
    world.key(tier=Tier.CLAIMED, email=BOB)
    for key_id in (world.id_of(world.key_of(BOB)), world.id_of(world.key()), "key_unknown", "", "../keys", "a\x00b"):
        assert (await ann.send({"do": "revoke", "id": key_id})).status == 404, key_id
    assert not [key for key in world.memory.keys.values() if key.revoked_ms is not None]


# Sessions.


async def test_browsers_are_listed_and_another_one_is_signed_out(world: World) -> None:
    ann = Browser(world)
    other = world.session(ANN)
    [_, other_id] = world.memory.sessions
    html = await ann.look()
    assert html.count("This browser") == 1
    asked = [each for each in re.findall(r"<details.*?</details>", html, re.DOTALL) if 'value="end-session"' in each]
    assert len(asked) == 1
    assert f'value="{other_id}"' in asked[0]
    done = await ann.send({"do": "end-session", "id": other_id})
    assert (done.status, done.header("location")) == (303, "/dashboard?notice=session_ended")
    gone = await world.client.get(PAGE, headers={"Cookie": f"__Host-session={other}"})
    assert gone.status == 303
    assert 'value="end-session"' not in await ann.look()


async def test_a_session_of_another_account_is_not_ended(world: World) -> None:
    ann = Browser(world)
    world.session(BOB)
    [_, bobs_id] = world.memory.sessions
    assert bobs_id not in await ann.look()
    assert (await ann.send({"do": "end-session", "id": bobs_id})).status == 404
    assert bobs_id in world.memory.sessions


SIGN_IN = "/sign-in?next=%2Fdashboard&notice=sign_in_again"


async def test_who_ends_his_own_session_is_signed_out_and_keeps_no_cookie(world: World, ann: Browser) -> None:
    [session_id] = world.memory.sessions
    done = await ann.send({"do": "end-session", "id": session_id})
    assert (done.status, done.header("location")) == (303, "/?notice=signed_out")
    assert done.all("set-cookie") == ["__Host-session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure"]
    assert done.header("cache-control") == "no-store"
    assert (await ann.send({"do": "create-full"})).header("location") == SIGN_IN


# The page itself.


async def test_the_page_holds_to_its_policy_and_labels_its_fields(ann: Browser) -> None:
    html = await ann.look()
    for forbidden in (" style=", "<style", "<script>", " onclick=", "javascript:"):
        assert forbidden not in html
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len(set(ids)), "an id stands once"
    for field in re.findall(r'<(?:input id|meter id)="([^"]+)"', html):
        assert re.search(f'<label (?:class="choice" )?for="{field}">', html)
