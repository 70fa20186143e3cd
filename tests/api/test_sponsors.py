"""Operations 13 to 16: identity, profile and campaigns."""

import pytest

from actors.values import Scope
from tests.api.asgi import Response
from tests.api.sponsors import ADMIN, API, CAMPAIGN, PROFILE, Person, administrator, changes, sponsor, tables
from tests.api.world import World, away, fails_once, open_world


async def test_a_new_sponsor_has_no_profile_and_holds_every_scope_but_those_of_administrators(world: World) -> None:
    identity = (await sponsor(world).get(f"{API}/me")).json
    assert identity == {
        "profile": None,
        "email": "sponsor@example.com",
        "isAdmin": False,
        "isDemo": False,
        "scopes": ["library:read", "sponsor:read", "sponsor:write", "billing:write", "keys:manage"],
        "billingMode": "test",
    }


async def test_the_identity_of_a_scoped_key_says_what_it_may(world: World) -> None:
    holder = sponsor(world, scopes=(Scope.SPONSOR_READ, Scope.ADMIN_READ))
    assert (await holder.get(f"{API}/me")).json["scopes"] == ["sponsor:read"]


async def test_an_administrator_holds_all_scopes(world: World) -> None:
    identity = (await administrator(world).get(f"{API}/me")).json
    assert identity["isAdmin"]
    assert identity["scopes"] == [str(scope) for scope in Scope]


async def test_a_saved_profile_is_shown_and_audited(world: World) -> None:
    person = sponsor(world)
    saved = await person.patch(f"{API}/profile", PROFILE)
    assert saved.json == {"profile": PROFILE}
    assert (await person.get(f"{API}/me")).json["profile"] == PROFILE
    assert changes(world) == [("key", "profile.saved")]
    assert world.memory.audits[0].actor_email == "sponsor@example.com"
    assert world.memory.audits[0].request_id == saved.header("x-request-id")


async def test_a_new_campaign_waits_for_review(world: World) -> None:
    person = sponsor(world)
    campaign = (await person.post(f"{API}/campaigns", CAMPAIGN)).json["campaign"]
    assert campaign == CAMPAIGN | {"id": campaign["id"], "status": "pending", "createdAt": world.now_ms} | {
        "submittedAt": world.now_ms
    }
    await person.profile()
    [listed] = (await person.get(f"{API}/campaigns")).json["items"]
    assert listed == campaign | {"sponsorName": "Example Tools"}


BAD_CAMPAIGNS = {
    "a field is missing": {name: CAMPAIGN[name] for name in CAMPAIGN if name != "cta"},
    "another property": CAMPAIGN | {"status": "approved"},
    "a number for a text": CAMPAIGN | {"headline": 7},
    "null for a text": CAMPAIGN | {"cta": None},
    "an empty name": CAMPAIGN | {"name": ""},
    "a blank name": CAMPAIGN | {"name": "   "},
    "a name with a space behind it": CAMPAIGN | {"name": "Spring "},
    "a long name": CAMPAIGN | {"name": "n" * 81},
    "a long headline": CAMPAIGN | {"headline": "n" * 56},
    "a long body": CAMPAIGN | {"body": "n" * 141},
    "a long cta": CAMPAIGN | {"cta": "n" * 25},
    "a long logo": CAMPAIGN | {"logoText": "LOGO"},
    "a long address": CAMPAIGN | {"targetUrl": f"https://example.com/{'a' * 1500}"},
    "an address that a browser would run": CAMPAIGN | {"targetUrl": "javascript:alert(1)"},
    "a NUL": CAMPAIGN | {"headline": "a\0b"},
    "a line break": CAMPAIGN | {"headline": "a\nb"},
    "a list": [CAMPAIGN],
    "a text": "campaign",
}


@pytest.mark.parametrize("body", BAD_CAMPAIGNS.values(), ids=BAD_CAMPAIGNS)
async def test_a_campaign_that_is_not_valid_is_refused_and_nothing_is_written(world: World, body: object) -> None:
    person = sponsor(world)
    before = tables(world)
    assert (await person.post(f"{API}/campaigns", body)).words == "400 invalid_request"
    assert tables(world) == before


async def test_the_longest_texts_are_taken_in_any_script(world: World) -> None:
    body = {
        "name": "ü" * 80,
        "headline": "語" * 55,
        "body": "😀" * 140,
        "cta": "و" * 24,
        "targetUrl": "https://example.com/" + "a" * 1480,
        "logoText": "😀😀😀",
    }
    created = await sponsor(world).post(f"{API}/campaigns", body)
    assert created.words == "200"
    assert {name: created.json["campaign"][name] for name in body} == body


async def _review(admin: Person, campaign_id: str, decision: str, note: str | None = None) -> Response:
    body = {"decision": decision} | ({} if note is None else {"note": note})
    return await admin.post(f"{ADMIN}/campaigns/{campaign_id}/review", body)


async def test_a_rejection_needs_a_reason(world: World) -> None:
    person, admin = sponsor(world), administrator(world)
    assert (await _review(admin, await person.campaign(), "reject")).words == "400 invalid_request"


@pytest.mark.parametrize("body", [{}, {"headline": None}, {"status": "approved"}, {"headline": "x" * 56}, []])
async def test_an_edit_that_is_not_valid_is_refused(world: World, body: object) -> None:
    person = sponsor(world)
    campaign = await person.campaign()
    before = tables(world)
    assert (await person.patch(f"{API}/campaigns/{campaign}", body)).words == "400 invalid_request"
    assert tables(world) == before


@pytest.mark.parametrize("query", ["limit=0", "limit=51", "limit=x", "limit=1e1", "cursor=zzz", f"cursor={'a' * 2001}"])
async def test_a_bad_query_of_a_list_is_refused(world: World, query: str) -> None:
    assert (await sponsor(world).get(f"{API}/campaigns?{query}")).words == "400 invalid_request"


async def test_a_cursor_of_another_list_or_another_account_is_refused(world: World) -> None:
    person, other, admin = sponsor(world), sponsor(world, "other@example.com"), administrator(world)
    for each in (person, other):
        for number in range(3):
            await each.campaign(name=f"Campaign {number}")
    cursor = (await person.get(f"{API}/campaigns?limit=1")).json["cursor"]
    assert (await person.get(f"{API}/campaigns?limit=1&cursor={cursor}")).words == "200"
    assert (await other.get(f"{API}/campaigns?limit=1&cursor={cursor}")).words == "400 invalid_request"
    assert (await person.get(f"{API}/bookings?limit=1&cursor={cursor}")).words == "400 invalid_request"
    assert (await admin.get(f"{ADMIN}/campaigns?limit=1&cursor={cursor}")).words == "400 invalid_request"
    catalog = (await world.client.get("/api/v1/usecases?limit=1")).json["nextCursor"]
    assert (await person.get(f"{API}/campaigns?cursor={catalog}")).words == "400 invalid_request"
    theirs = (await admin.get(f"{ADMIN}/campaigns?limit=1")).json["cursor"]
    assert (await person.get(f"{API}/campaigns?cursor={theirs}")).words == "400 invalid_request"


async def test_without_a_database_the_area_is_away_and_comes_back(world: World) -> None:
    person = sponsor(world)
    await person.profile()
    fails_once(world.memory, away)
    assert (await person.patch(f"{API}/profile", PROFILE)).words == "503 service_unavailable"
    assert (await person.patch(f"{API}/profile", PROFILE)).words == "200"


async def test_an_account_makes_so_many_changes_a_day_and_can_always_end_things() -> None:
    """Each edit is a row of the audit for two years."""
    async with open_world(ACCOUNT__CHANGES_PER_DAY=4) as world:
        ann, bob = sponsor(world), sponsor(world, "bob@example.com")
        place = f"{API}/campaigns/{(await ann.post(f'{API}/campaigns', CAMPAIGN)).json['campaign']['id']}"
        edits = [await ann.patch(place, {"headline": "" if n < 5 else f"No {n}"}) for n in range(9)]
        assert [edit.words for edit in edits] == ["400 invalid_request"] * 5 + ["200"] * 3 + ["429 rate_limited"]
        assert edits[-1].json["message"] == "This account has made 4 changes in a day, the maximum. Try again in 24 h."
        assert edits[-1].header("retry-after") == "86400"
        hook = {"url": "https://tools.example.com/hook", "events": ["booking.paid"]}
        assert (await ann.patch("/api/v1/account/notifications", {"reports": False})).words == "429 rate_limited"
        assert (await ann.post(f"{API}/webhooks", hook)).words == "429 rate_limited"
        assert (await ann.post(f"{place}/withdraw")).words == "200"
        assert (await bob.patch(f"{API}/profile", PROFILE)).words == "200"
        await world.pass_seconds(86_400)
        assert (await ann.post(f"{place}/submit")).words == "200"
