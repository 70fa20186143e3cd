"""The list of fields in the error body of an invalid request, for bodies, forms, queries and headers of both families."""

import json
from typing import Any
from uuid import UUID

import pytest

from actors.times import WEEK_MS
from actors.values import Code, Problem, Refused, invalid_field
from service.api.errors import Family, body_of
from service.schemas.problems import LONGEST_NAME, MAX_FIELDS
from tests.api.asgi import Response
from tests.api.devices import TOKEN
from tests.api.events import BATCH
from tests.api.sponsors import ADMIN, API, THIS_WEEK, add_slot, administrator, sponsor
from tests.api.world import World

KEYS = "/api/v1/sponsors/keys"
FORM = {"content-type": "application/x-www-form-urlencoded"}


def fields(response: Response) -> dict[str, str]:
    """The messages by field of a 400, whose message names each of them too."""
    assert response.words == "400 invalid_request", response.body
    listed = response.json.get("fields", [])
    assert all(each.keys() == {"name", "message"} for each in listed)
    return {each["name"]: each["message"] for each in listed}


async def test_each_wrong_field_of_a_body_is_listed(world: World) -> None:
    person = sponsor(world)
    answer = await person.post(f"{API}/campaigns", {"name": "", "headline": 7, "color": "red"})
    assert fields(answer) == {
        "name": "must have at least 1 character",
        "headline": "must be a string",
        "body": "is required",
        "cta": "is required",
        "targetUrl": "is required",
        "logoText": "is required",
        "color": "is not a known property",
    }
    assert answer.json["message"].startswith("The body is not valid: name: must have at least 1 character; headline: ")
    event = {"bookingId": "bkg_1", "kind": "hover", "visitorId": str(UUID(int=1, version=4))}
    answer = await world.client.post(BATCH, json={"events": [event]})
    assert fields(answer) == {"events.0.kind": "must be 'impression' or 'click'"}
    answer = await world.client.post(BATCH, json={"events": [event | {"kind": "click"}]})
    assert fields(answer) == {"events.0.bookingId": "there is no booking with this id"}
    answer = await world.client.post(BATCH, body=b'{"events": [], "events": []}')
    assert fields(answer) == {"events": "must have at least 1 item"}


async def test_each_wrong_field_of_a_form_query_or_header_is_listed(world: World) -> None:
    person, boss = sponsor(world), administrator(world)
    asked: dict[str, Response] = {
        path: await (boss if path.startswith(ADMIN) else person).get(path)
        for path in (
            "/api/v1/bots?limit=0",
            "/api/v1/bots?limit=1&limit=2",
            "/api/v1/usecases?cursor=nonsense",
            f"{API}/campaigns?cursor=nonsense",
            f"{API}/inventory?weekStart={THIS_WEEK + 60 * WEEK_MS}",
            f"{API}/delivery?from=yesterday&to=1",
            f"{API}/delivery?from=2026-11-19&to=2026-11-18",
            f"{API}/delivery?from=2020-11-19&to=2026-11-18",
            f"{ADMIN}/revenue?from=2026-12&to=2026-11",
            f"{ADMIN}/sites?from=2026-11-19&to=2026-11-18",
        )
    }
    assert {path.rpartition("/")[2]: set(fields(answer)) for path, answer in asked.items()} == {
        "bots?limit=0": {"limit"},
        "bots?limit=1&limit=2": {"limit"},
        "usecases?cursor=nonsense": {"cursor"},
        "campaigns?cursor=nonsense": {"cursor"},
        f"inventory?weekStart={THIS_WEEK + 60 * WEEK_MS}": {"weekStart"},
        "delivery?from=yesterday&to=1": {"from"},
        "delivery?from=2026-11-19&to=2026-11-18": {"from"},
        "delivery?from=2020-11-19&to=2026-11-18": {"from"},
        "revenue?from=2026-12&to=2026-11": {"from"},
        "sites?from=2026-11-19&to=2026-11-18": {"from"},
    }
    for form, listed in (
        ("grant_type=a", {"device_code", "grant_type"}),
        ("device_code=a&device_code=b", {"device_code"}),
    ):
        assert set(fields(await world.client.post(TOKEN, headers=FORM, body=form.encode()))) == listed
    key = {"name": "A", "scopes": ["sponsor:read"]}
    answer = await world.client.request("POST", KEYS, person.key, headers=[("idempotency-key", "a b")], json=key)
    assert fields(answer) == {"Idempotency-Key": "must be 1 to 100 characters of A-Z, a-z, 0-9, _ and -"}


async def test_a_rule_of_the_ledger_lists_its_field(world: World) -> None:
    add_slot(world)
    person, boss = sponsor(world), administrator(world)
    await person.profile()
    campaign = await person.campaign()
    for week in (THIS_WEEK + 1, THIS_WEEK + 60 * WEEK_MS):
        answer = await person.post(f"{API}/bookings", person.booking_body(campaign, week=week))
        assert set(fields(answer)) == {"weekStart"}
        assert answer.json["message"].startswith("weekStart m")
    slot = {"id": "a", "name": "A", "side": "left", "weekPriceCents": 10_000_000, "durationWeeks": 52}
    assert set(fields(await boss.post(f"{ADMIN}/slots", slot))) == {"weekPriceCents"}
    answer = await boss.post(f"{ADMIN}/campaigns/{campaign}/review", {"decision": "reject"})
    assert fields(answer) == {"note": "is required for a rejection, with the reason"}
    answer = await boss.post(f"{ADMIN}/slots", slot | {"durationWeeks": 1, "offerEndsAt": 1})
    assert fields(answer) == {"offerEndsAt": "must be in the future"}
    assert answer.json["message"] == "offerEndsAt must be in the future."


@pytest.mark.parametrize("body", [b"{", b"[]", b"", b'{"a": "\xff"}'])
async def test_a_body_that_is_wrong_as_a_whole_has_no_list(world: World, body: bytes) -> None:
    answer = await world.client.post("/api/v1/auth/claim", body=body)
    assert answer.words == "400 invalid_request"
    assert "fields" not in answer.json or body == b""


def test_a_list_is_bounded_and_stands_in_the_bodies_of_all_families() -> None:
    many = tuple(Problem("f" * 5_000 + str(number), "missing", "is required") for number in range(100))
    refused = Refused(Code.INVALID_REQUEST, "The body is not valid", problems=many)
    for family in Family:
        body: dict[str, Any] = body_of(refused, family)
        assert len(body["fields"]) == MAX_FIELDS
        assert {len(each["name"]) for each in body["fields"]} == {LONGEST_NAME}
    assert "fields" not in body_of(Refused(Code.NOT_FOUND, "There is none."), Family.CATALOG)


def test_a_sentence_is_not_followed_by_its_problems() -> None:
    refused = invalid_field("weekStart", "not_monday", "must be a Monday")
    assert json.loads(json.dumps(body_of(refused, Family.SPONSORSHIP))) == {
        "error": "invalid_request",
        "message": "weekStart must be a Monday.",
        "fields": [{"name": "weekStart", "message": "must be a Monday"}],
    }
