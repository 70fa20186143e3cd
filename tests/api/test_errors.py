"""Every row of the error table and the bodies of each family; failures over HTTP."""

import pytest

from actors.values import Code, Refused
from service.api.errors import TABLE, Family, body_of
from service.web.app import family_of
from tests.api.world import World, broken

CLAIM, MINT, DEVICE = "/api/v1/auth/claim", "/api/v1/auth/agent", "/api/v1/auth/device"

STATUSES = {
    400: {"invalid_request", "invalid_claim", "invalid_code", "invalid_passkey"}
    | {"authorization_pending", "slow_down", "expired_token", "access_denied"}
    | {"invalid_grant", "invalid_client_metadata", "invalid_redirect_uri", "invalid_scope", "invalid_target"}
    | {"unsupported_grant_type", "unsupported_response_type"},
    401: {"unauthorized", "invalid_api_key", "invalid_client"},
    403: {"key_expired", "quota_exhausted", "claim_required", "insufficient_scope", "forbidden"},
    404: {"not_found"},
    405: {"method_not_allowed"},
    409: {"already_upgraded", "idempotency_conflict", "invalid_state", "slot_unavailable"}
    | {"campaign_not_bookable", "profile_required"}
    | {"key_limit", "passkey_limit", "hold_limit", "campaign_limit", "webhook_limit", "submission_limit"},
    410: {"cursor_expired"},
    412: {"precondition_failed"},
    413: {"payload_too_large"},
    415: {"unsupported_media_type"},
    429: {"rate_limited"},
    500: {"internal_error"},
    503: {"service_unavailable"},
}
HINTS = {
    "unauthorized": MINT,
    "invalid_api_key": MINT,
    "key_expired": CLAIM,
    "quota_exhausted": CLAIM,
    "claim_required": CLAIM,
    "expired_token": DEVICE,
}


def test_each_code_has_its_status_and_hint() -> None:
    """The recorded examples of the document show that operations return all codes but `unsupported_media_type`."""
    assert {str(code): row.status for code, row in TABLE.items()} == {
        code: status for status, codes in STATUSES.items() for code in codes
    }
    assert {str(code): row.hint for code, row in TABLE.items() if row.hint is not None} == HINTS
    assert TABLE.keys() == set(Code)


async def test_a_bug_in_a_handler_tells_the_client_nothing_but_an_id(world: World) -> None:
    world.searching.before = broken
    response = await world.client.get("/api/v1/bots?q=anything")
    assert "bug" not in response.body.decode()
    assert response.header("x-request-id")


@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("code", Code)
def test_each_family_writes_its_own_fields_only(code: Code, family: Family) -> None:
    body = body_of(Refused(code, "Words.", 7), family)
    own = {"error_description"} if family is Family.DEVICE else set()
    hinted = {"hint"} if family is not Family.SPONSORSHIP and TABLE[code].hint is not None else set()
    assert body.keys() == {"error", "message", "retryAfter"} | hinted | own
    assert "retryAfter" not in body_of(Refused(code, "Words."), family)


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ("/api/v1/sponsors/me", Family.SPONSORSHIP),
        ("/api/v1/admin/sponsorships/audit", Family.SPONSORSHIP),
        ("/api/v1/usage", Family.CATALOG),
        ("/nowhere", Family.CATALOG),
    ],
)
def test_a_path_belongs_to_the_family_of_its_area(path: str, family: Family) -> None:
    assert family_of(path) is family
