"""The header Idempotency-Key on operations that create a campaign or a key."""

from typing import Any

import pytest

from actors.values import Scope, StorageUnavailable
from tests.api.asgi import Response
from tests.api.callers import OUR_PAGE, cookie
from tests.api.conformity import DOCUMENT
from tests.api.sponsors import API, CAMPAIGN, Person, sponsor
from tests.api.world import World
from tests.contract import CONTRACT

CAMPAIGNS, SCOPED, FULL = f"{API}/campaigns", f"{API}/keys", "/api/v1/account/keys"
KEY = {"name": "Reporting", "scopes": ["sponsor:read"]}
INVALID = ["", "a" * 101, "a b", "a,b", "a.b", '"', '"a', 'a"', '""', '"a";b', '"a\\"b"', f'"{"a" * 101}"', "é"]


async def post(person: Person, path: str, body: Any, key: str) -> Response:
    return await person.world.client.post(path, person.key, headers={"Idempotency-Key": key}, json=body)


async def in_browser(world: World, path: str, body: Any, key: str, email: str = "ann@example.com") -> Response:
    headers = cookie(world.session(email)) | OUR_PAGE | {"Idempotency-Key": key}
    return await world.client.post(path, headers=headers, json=body)


@pytest.mark.parametrize("key", ["a", "A-z_0" * 20])
@pytest.mark.parametrize("written", ["{}", '"{}"'])
async def test_a_repeated_campaign_creation_returns_the_campaign_as_it_is_now(
    world: World, key: str, written: str
) -> None:
    """Quotes around a key, as in the drafts of the header, are not part of it."""
    person = sponsor(world)
    first = await post(person, CAMPAIGNS, CAMPAIGN, key)
    campaign_id = first.json["campaign"]["id"]
    assert (await person.patch(f"{CAMPAIGNS}/{campaign_id}", {"name": "Renamed"})).words == "200"
    again = await post(person, CAMPAIGNS, CAMPAIGN, written.format(key))
    assert again.words == first.words == "200"
    assert again.json["campaign"] == first.json["campaign"] | {"name": "Renamed"}
    assert [record.action for record in world.memory.audits] == ["campaign.created", "campaign.edited"]


async def test_without_the_header_each_request_creates(world: World) -> None:
    person = sponsor(world)
    for path, body in ((CAMPAIGNS, CAMPAIGN), (SCOPED, KEY)):
        ids = [(await person.post(path, body)).body for _ in range(2)]
        assert ids[0] != ids[1]


@pytest.mark.parametrize("body", [KEY, {"name": "Another", "scopes": ["library:read"]}])
async def test_a_repeated_creation_of_a_scoped_key_is_refused(world: World, body: Any) -> None:
    person = sponsor(world)
    created = await post(person, SCOPED, KEY, "a")
    again = await post(person, SCOPED, body, "a")
    assert again.words == "409 idempotency_conflict"
    assert "Its text is shown only once" in again.json["message"]
    assert "apiKey" not in again.json
    assert [key.id for key in world.memory.keys.values() if key.scopes is not None] == [created.json["id"]]
    assert (await world.client.get(f"{API}/me", created.json["apiKey"])).words == "200"


async def test_a_repeated_creation_of_a_full_key_is_refused_also_after_its_end_and_by_another_session(
    world: World,
) -> None:
    created = await in_browser(world, FULL, None, "a")
    assert (await in_browser(world, FULL, None, "a")).words == "409 idempotency_conflict"
    await world.services.keys.revoke(created.json["id"], world.agent)
    assert (await in_browser(world, FULL, None, "a")).words == "409 idempotency_conflict"


async def test_a_creation_whose_answer_was_lost_is_not_done_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    person, keys, ledger = sponsor(world), world.services.keys, world.services.ledger
    issue, create = keys.issue, ledger.create_campaign

    async def issue_and_fail(*arguments: Any, **named: Any) -> None:
        await issue(*arguments, **named)
        raise StorageUnavailable("lost")

    async def create_and_fail(*arguments: Any) -> None:
        await create(*arguments)
        raise StorageUnavailable("lost")

    with monkeypatch.context() as patch:
        patch.setattr(type(keys), "issue", staticmethod(issue_and_fail))
        patch.setattr(type(ledger), "create_campaign", staticmethod(create_and_fail))
        for path, body in ((CAMPAIGNS, CAMPAIGN), (SCOPED, KEY)):
            assert (await post(person, path, body, "a")).words == "503 service_unavailable"
    assert (await post(person, CAMPAIGNS, CAMPAIGN, "a")).words == "200"
    assert (await post(person, SCOPED, KEY, "a")).words == "409 idempotency_conflict"
    assert len(world.memory.campaigns) == 1


@pytest.mark.parametrize("key", INVALID)
async def test_an_invalid_key_is_refused_and_creates_nothing(world: World, key: str) -> None:
    person = sponsor(world)
    answers = [await post(person, path, body, key) for path, body in ((CAMPAIGNS, CAMPAIGN), (SCOPED, KEY))]
    answers.append(await in_browser(world, FULL, None, key))
    assert [answer.words for answer in answers] == ["400 invalid_request"] * 3
    assert "Idempotency-Key must be 1 to 100 characters" in answers[0].json["message"]
    assert (world.memory.campaigns, world.memory.audits) == ({}, [])


async def test_other_operations_ignore_the_header(world: World) -> None:
    person = sponsor(world, scopes=tuple(Scope))
    headers = {"Idempotency-Key": "not valid"}
    assert (await world.client.get(f"{API}/campaigns", person.key, headers=headers)).words == "200"


def test_the_document_has_the_header_and_its_refusal_where_it_is_read() -> None:
    keyed = {
        operation["operationId"]: operation
        for path in DOCUMENT["paths"].values()
        for operation in path.values()
        if any(each["name"] == "Idempotency-Key" for each in operation.get("parameters", ()))
    }
    assert set(keyed) == {name for name, row in CONTRACT.items() if row.keyed}
    for operation in keyed.values():
        [header] = [each for each in operation["parameters"] if each["in"] == "header"]
        assert header["schema"]["pattern"] == "^[A-Za-z0-9_-]{1,100}$"
        assert "idempotency_conflict" in operation["responses"]["409"]["description"]
