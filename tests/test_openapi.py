"""The OpenAPI document is valid, complete and served. `tests/api` checks responses against it."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import trio
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator, validate
from trio.testing import MockClock

from actors.values import Code
from service.api.errors import TABLE, Family
from service.api.openapi import Described, document
from service.api.operation import Operation
from service.api.operations import OPERATIONS
from service.schemas.lists import CatalogQuery
from service.version import VERSION
from tests.api.conformity import BASE_URL, DOCUMENT, validator
from tests.api.world import open_world
from tests.contract import CACHED, CONTRACT, PERSON

SECURITY: dict[int | None, list[dict[str, list[str]]]] = {
    # By the column of a policy; the others need a key or a session.
    None: [],
    **{policy.column: [{}, {"bearer": []}] for policy in CACHED},
    PERSON.column: [{"session": []}],
}
CREDENTIALS: list[dict[str, list[str]]] = [{"bearer": []}, {"session": []}]
every_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)


def described(operation: Operation) -> Any:
    return DOCUMENT["paths"][operation.path][operation.method.lower()]


async def test_the_document_is_built_once_elsewhere_for_all_who_wait_and_read_only_then() -> None:
    places: list[str] = []

    async def elsewhere(work: Callable[[], object]) -> None:
        places.append("elsewhere")
        await trio.lowlevel.checkpoint()
        work()

    def build() -> dict[str, str]:
        places.append("built")
        return {"openapi": "3.1.0"}

    described = Described(build, elsewhere)
    with pytest.raises(AssertionError, match="before it is built"):
        _ = described.text
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(described.built)
    assert places == ["elsewhere", "built"]
    assert described.document == json.loads(described.text) == {"openapi": "3.1.0"}


def test_the_document_is_valid_openapi_3_1() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    validate(DOCUMENT, cls=OpenAPIV31SpecValidator)


def test_the_version_is_that_of_the_specification() -> None:
    assert DOCUMENT["info"]["version"] == "1.0.0"
    assert DOCUMENT["info"]["x-build"] == VERSION


def test_the_server_is_the_public_address() -> None:
    assert DOCUMENT["servers"] == [{"url": BASE_URL}]


async def test_the_served_document_is_the_generated_one(autojump_clock: MockClock) -> None:
    async with open_world() as world:
        response = await world.client.get("/openapi.json")
        assert response.header("content-type") == "application/json"
        assert response.header("cache-control") == "public, max-age=60"
        assert response.json == document(OPERATIONS, BASE_URL) == DOCUMENT


def test_every_operation_is_described_and_no_other() -> None:
    found = {
        (path, method.upper(), operation["operationId"])
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    }
    assert found == {(operation.path, operation.method, operation.name) for operation in OPERATIONS}
    assert {f"{method} {path}" for path, method, _ in found} == {row.called for row in CONTRACT.values()}


@every_operation
def test_an_operation_names_every_status_and_code(operation: Operation) -> None:
    responses = described(operation)["responses"]
    assert {int(status) for status in responses} == CONTRACT[operation.name].statuses
    named = [_codes(response) for status, response in responses.items() if int(status) >= 400]
    assert {code for codes in named for code in codes} == {str(code) for code in operation.all_codes}
    if "403" in responses:
        assert set(_codes(responses["403"])) == CONTRACT[operation.name].policy.codes


def _codes(response: Any) -> list[str]:
    codes: list[str] = response["x-error-codes"]
    assert all(TABLE[Code(code)].status in range(400, 600) for code in codes)
    assert response["description"].endswith(": " + ", ".join(codes))
    return codes


@every_operation
def test_an_operation_has_words_parameters_and_security(operation: Operation) -> None:
    shown = described(operation)
    assert shown["summary"]
    assert shown["description"].rstrip().endswith(".")
    assert shown["tags"][0] in {tag["name"] for tag in DOCUMENT["tags"]}
    assert shown["security"] == SECURITY.get(CONTRACT[operation.name].policy.column, CREDENTIALS)
    parameters = {each["name"] for each in shown.get("parameters", ()) if each["in"] == "query"}
    assert parameters == set(CONTRACT[operation.name].query.split())
    in_path = [each["name"] for each in shown.get("parameters", ()) if each["in"] == "path"]
    assert in_path == re.findall(r"\{(\w+)\}", operation.path)
    for each in shown.get("parameters", ()):
        assert each["required"] == (each["in"] == "path" or each["name"] == "userCode")


@every_operation
def test_an_operation_names_its_headers(operation: Operation) -> None:
    row = CONTRACT[operation.name]
    for status, response in described(operation)["responses"].items():
        names = response["headers"].keys()
        assert "X-Request-Id" in names
        assert ("Retry-After" in names) == (status in ("429", "503") or "hold_limit" in response["description"])
        assert ("WWW-Authenticate" in names) == (status == "401")
        keyed = row.policy.column is not None and status == "200"
        assert {"RateLimit", "RateLimit-Policy"} <= names or not keyed
        begins_or_ends = row.cookie and status == "200"
        assert ("Set-Cookie" in names) == begins_or_ends
        paged = {"cursor", "limit"} <= set(row.query.split()) and operation.name != "exportAccount"
        assert ("Link" in names) == (paged and status == "200")
        assert ("X-Event-Dropped" in names) == ((operation.name, status) == ("recordEvent", "200"))
        assert ("X-Search-Relaxed" in names) == (operation.query is CatalogQuery and status == "200")


def test_a_client_can_tell_what_an_id_and_a_slug_look_like() -> None:
    """An id in another format needs no request: it is 404."""
    patterns = {
        "id": "bok_1B2c3D4e5F6g7H8i9J0kLm",
        "deliveryId": "dlv_1B2c3D4e5F6g7H8i9J0kLm",
        "slug": "chasing-late-invoices",
    }
    for operation in OPERATIONS:
        for each in described(operation).get("parameters", ()):
            if each["in"] == "path":
                assert each["schema"]["maxLength"] == 100
                assert re.search(each["schema"]["pattern"], patterns[each["name"]])
                assert not re.search(each["schema"]["pattern"], "no id")


@pytest.mark.parametrize("name", ["CampaignEdit", "SlotEdit", "VideoEdit"])
def test_an_edit_names_something_and_what_it_leaves_out_is_not_null(name: str) -> None:
    schema = DOCUMENT["components"]["schemas"][name]
    assert schema["minProperties"] == 1
    assert "required" not in schema
    assert not [field for field in schema["properties"].values() if "default" in field]


def test_nothing_in_the_document_is_null_by_default() -> None:
    """Generators would give a property that cannot be null the value None."""
    models = [schema["properties"] for schema in DOCUMENT["components"]["schemas"].values() if "properties" in schema]
    fields = [field for properties in models for field in properties.values()]
    fields += [each.get("schema", {}) for row in OPERATIONS for each in described(row).get("parameters", ())]
    assert not [field for field in fields if field.get("default", "") is None]
    assert [field for field in fields if field.get("default")], "other defaults stay"


def test_the_document_tells_what_no_text_may_hold() -> None:
    """All texts of sponsors except addresses: their patterns refuse blank and invalid texts."""
    texts = DOCUMENT["components"]["schemas"]["CampaignBody"]["properties"]
    for name in ("name", "headline", "body", "cta", "logoText"):
        for bad in ("a\nb", "\x00", "\u202e", "\ufeff"):
            assert not re.search(texts[name]["pattern"], bad)
        assert re.search(texts[name]["pattern"], "Grüße 東京")


def test_links_lead_to_operations_that_take_what_they_carry() -> None:
    led = [(source.name, target, pointer) for source in OPERATIONS for target, pointer in source.leads_to.items()]
    assert {("createScopedKey", "revokeScopedKey", "/id"), ("createSlot", "editSlot", "/slot/id")} <= set(led)
    named = {operation.name: operation for operation in OPERATIONS}
    for source, target, pointer in led:
        assert named[target].path_names == ("id",)
        assert _at(named[source].result.model_json_schema(), pointer)["type"] == "string"


def _at(schema: Any, pointer: str) -> Any:
    """The schema at a pointer into a response."""
    found = schema
    for name in pointer.split("/")[1:]:
        found = found["properties"][name]
        if "$ref" in found:
            found = schema["$defs"][found["$ref"].rpartition("/")[2]]
    return found


def test_only_these_operations_take_a_body() -> None:
    bodies = {
        operation.name: described(operation)["requestBody"]["required"]
        for operation in OPERATIONS
        if "requestBody" in described(operation)
    }
    assert bodies == {name: not row.optional for name, row in CONTRACT.items() if row.optional or row.body is not None}


def test_events_may_be_sent_as_text_as_a_beacon_does() -> None:
    for operation in OPERATIONS:
        content = described(operation).get("requestBody", {"content": {}})["content"]
        if operation.name in ("recordEvent", "recordEvents"):
            assert content.keys() == {"application/json", "text/plain"}
            assert content["text/plain"]["schema"]["contentSchema"] == content["application/json"]["schema"]
            assert json.loads(content["text/plain"]["example"]) == content["application/json"]["example"]
        elif operation.form:
            assert content.keys() == {"application/json", "application/x-www-form-urlencoded"}
        else:
            assert content.keys() <= {"application/json"}


def test_requests_for_tokens_may_be_forms_as_the_rfcs_have_it() -> None:
    assert [operation.name for operation in OPERATIONS if operation.form] == ["pollDevice", "issueToken", "revokeToken"]


def test_the_document_tells_which_requests_must_come_from_our_pages() -> None:
    marked = {operation.name for operation in OPERATIONS if described(operation).get("x-same-origin")}
    assert {"startSignIn", "completeSignIn", "getDeviceApproval", "decideDevice", "createAccountKey"} <= marked
    assert not marked & {"getSponsor", "createScopedKey", "mintKey", "listSessions", "getPendingSignIn"}


def test_all_error_bodies_stand_among_the_components() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    catalog, sponsorship = schemas["CatalogError"], schemas["SponsorshipError"]
    assert catalog["properties"].keys() == {"error", "message", "hint", "fields", "retryAfter"}
    assert sponsorship["properties"].keys() == {"error", "message", "hint", "fields", "retryAfter"}
    for schema in (catalog, sponsorship):
        assert set(schema["required"]) == {"error", "message"}
    device = schemas["DeviceError"]
    assert device["properties"].keys() == catalog["properties"].keys() | {"error_description", "interval"}
    assert set(device["required"]) == {"error", "message", "error_description"}
    assert {each.name for each in OPERATIONS if each.family is Family.DEVICE} == {
        *("pollDevice", "registerClient", "issueToken", "revokeToken")
    }


@every_operation
def test_all_refusals_of_a_family_share_one_schema(operation: Operation) -> None:
    """A schema for each operation and status would be a class for each in generated clients."""
    for status, response in described(operation)["responses"].items():
        if int(status) >= 400:
            schema = response["content"]["application/json"]["schema"]
            assert schema == {"$ref": f"#/components/schemas/{operation.family.name.title()}Error"}


def test_the_scheme_is_a_bearer_token() -> None:
    scheme = DOCUMENT["components"]["securitySchemes"]["bearer"]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")


FIELDS = {
    # Required and optional fields of the specification, "Resources and their fields".
    "UseCase": ("slug title who handle roi sourceUrl addedAt updatedAt", "guide"),
    "Guide": ("title category opportunity audience platforms botSlugs steps prompt", "value"),
    "Value": ("amount label basis kind", ""),
    "Bot": ("slug name who handle job templateUrl addedAt updatedAt", "category"),
    "Usage": (
        "tenantId status keyPrefix requestsUsed requestLimit dailyRequestsUsed",
        "dailyRequestLimit expiresAt email",
    ),
    "MintedKey": ("apiKey tenantId claimToken claimUrl expiresAt", ""),
    "ClaimSent": ("sent", ""),
    "UseCasePage": ("data nextCursor", ""),
    "BotPage": ("data nextCursor", ""),
    "Slot": (
        "id name side weekPriceCents active",
        "available priceCents heldUntil durationWeeks comingSoon offerEndsAt packageKind description",
    ),
    "Inventory": ("weekStart weekEnd billingMode slots", ""),
    "Placement": ("headline body cta targetUrl logoText bookingId sponsorName side demo slotId", ""),
    "PlacementList": ("placements", ""),
    "EventBody": ("bookingId kind visitorId", ""),
    "EventResult": ("recorded", ""),
    "EventBatchBody": ("events", ""),
    "EventBatchResult": ("results", ""),
    "BatchResult": ("recorded", "dropped"),
    "ClaimStart": ("claimToken email", ""),
    "SignInStart": ("email", ""),
    "SignInSent": ("sent", ""),
    "SignInComplete": ("email code", ""),
    "SessionBegun": ("id email expiresAt", "passkeyRequired"),
    "SignInPending": ("id email expiresAt", ""),
    "SignInCancelled": ("cancelled", ""),
    "Ceremony": ("publicKey", ""),
    "PasskeyAddition": ("name credential", ""),
    "PasskeyShown": ("credential", ""),
    "PasskeyEdit": ("name", ""),
    "PasskeyView": ("id name createdAt", "lastUsedAt"),
    "PasskeyList": ("items mayAdd", "confirmedUntil"),
    "PasskeyConfirmed": ("confirmedUntil", ""),
    "PasskeyRemoved": ("removed", ""),
    "SessionList": ("items", ""),
    "SessionShown": ("id agent createdAt seenAt expiresAt current", ""),
    "SessionEnded": ("ended", ""),
    "ClaimComplete": ("claimToken email code", ""),
    "UsageDays": ("items", ""),
    "UsageDay": ("day used", ""),
    "AccountKeyRequest": ("", "name expiresAt admin"),
    "AccountKeyIssued": ("apiKey id keyPrefix", ""),
    "AccountKeys": ("items", ""),
    "AccountKey": ("id keyPrefix kind createdAt admin", "scopes name lastUsedAt expiresAt grantedBy replacedBy"),
    "Notifications": ("reviews bookings reports", ""),
    "NotificationsEdit": ("", "reviews bookings reports"),
    "ScopedKeyRequest": ("name scopes", "expiresAt"),
    "ScopedKeyIssued": ("apiKey id scopes", ""),
    "ScopedKeys": ("items", ""),
    "ScopedKey": ("id keyPrefix scopes createdAt", "name expiresAt grantedBy replacedBy"),
    "KeyEdit": ("", "name expiresAt"),
    "KeyRotation": ("graceSeconds", ""),
    "KeyRotated": ("apiKey id keyPrefix previousId previousEndsAt", "scopes name expiresAt"),
    "UsageByKey": ("items other used", ""),
    "KeyUsage": ("id keyPrefix used days", "name"),
    "KeyRevoked": ("revoked revokedKeys", ""),
    "WebhookBody": ("url events", ""),
    "Webhook": ("id url events status createdAt", "failingSince disabledAt disabledReason"),
    "WebhookCreated": ("webhook secret", ""),
    "WebhookDelivery": ("id eventId type status createdAt attempts", "nextAttemptAt endedAt responseStatus error"),
    "EndAllRequest": ("", "keepCurrent"),
    "AllEnded": ("sessions keys", ""),
    "TierOrder": ("email tier", ""),
    "AccountTier": ("email tier tenantId", ""),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_resource_has_the_fields_of_the_specification(name: str) -> None:
    schema, (required, optional) = DOCUMENT["components"]["schemas"][name], FIELDS[name]
    assert set(schema.get("required", ())) == set(required.split())
    assert schema["properties"].keys() == {*required.split(), *optional.split()}


def test_an_optional_field_of_an_answer_is_absent_and_never_null() -> None:
    for name in (
        "UseCase",
        "Guide",
        "Bot",
        "Usage",
        "Slot",
        "Booking",
        "Campaign",
        "ScopedKey",
        "AccountKey",
        "SponsorshipError",
    ):
        schema = DOCUMENT["components"]["schemas"][name]
        for field, shape in schema["properties"].items():
            assert "null" not in json.dumps(shape), f"{name}.{field}"


def test_every_schema_is_a_schema_and_is_used() -> None:
    text = json.dumps(DOCUMENT)
    for name, schema in DOCUMENT["components"]["schemas"].items():
        Draft202012Validator.check_schema(schema)
        assert f'"#/components/schemas/{name}"' in text or name == "SponsorshipError", f"{name} is not used"


def test_every_example_is_valid() -> None:
    found = list(_examples(DOCUMENT["paths"], "/paths"))
    assert len(found) > 40
    for pointer, example in found:
        validator(f"{pointer}/schema").validate(example)


def _examples(value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    """The example of each media type, with a pointer to the media type."""
    if isinstance(value, dict):
        if "schema" in value and "example" in value:
            yield pointer, value["example"]
        for name, inner in value.items():
            if name in ("example", "examples"):
                continue
            escaped = name.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D")
            yield from _examples(inner, f"{pointer}/{escaped}")


def test_every_body_has_an_example() -> None:
    for operation in OPERATIONS:
        if operation.body is not None or operation.raw_body:
            assert described(operation)["requestBody"]["content"]["application/json"]["example"] == operation.example
            assert operation.example or operation.name == "mintKey", operation.name
