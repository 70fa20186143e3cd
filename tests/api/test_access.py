"""Access of every kind of caller to every operation, compared with a table written out here.

A new operation needs a row in `PLACES` with its target, body and policy. The policy determines each caller's result.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from service.api.operations import OPERATIONS
from tests.api.asgi import Response
from tests.api.callers import CALLERS, OUR_PAGE
from tests.api.sponsors import CAMPAIGN, NEXT_WEEK, PROFILE, uuid
from tests.api.world import World, open_world


@dataclass(frozen=True, slots=True)
class Policy:
    """A column of `EXPECTED`, and the required scopes, separated by spaces. No column: public."""

    column: int | None
    scopes: str = ""


PUBLIC = Policy(None)
FROM_OUR_PAGE = Policy(None, "from here")
"""Public operations that must be called from a page of this service."""

PERSON = Policy(6)
"""Operations that need a browser session. Any key counts as no credentials."""
PERSON_HERE = Policy(6, "from here")
"""The same for reads that must come from a page of this service."""

USAGE = Policy(0, "library:read")
USECASES = Policy(1, "library:read")
BOTS = Policy(2, "library:read")
OPTIONAL = Policy(3)
"""Sponsorship operations with an optional key."""

HERE = FROM_OUR_PAGE, PERSON_HERE


def account(scopes: str) -> Policy:
    """Sponsorship operations for keys of an account."""
    return Policy(4, scopes)


def admin(scopes: str) -> Policy:
    """Sponsorship operations for keys of an administrator."""
    return Policy(5, scopes)


@dataclass(frozen=True, slots=True)
class Place:
    """How to call an operation, and the status for a permitted caller. It need not succeed."""

    method: str
    target: str
    policy: Policy
    body: Any = None
    passed: str = "200"


ADMINISTRATION = "/api/v1/admin/sponsorships"
UNKNOWN = "404 not_found"
BOOKING = {"slotId": "unknown", "weekStart": NEXT_WEEK, "idempotencyKey": uuid(1), "campaignId": "cmp_unknown"}
START = {name: BOOKING[name] for name in ("slotId", "weekStart", "idempotencyKey")} | {
    **PROFILE,
    "headline": CAMPAIGN["headline"],
    "body": CAMPAIGN["body"],
}
EVENT = {"bookingId": "bok_unknown", "kind": "click", "visitorId": uuid(2)}
WEBHOOK = {"url": "https://tools.example.com/webhooks", "events": ["booking.paid"]}
UNKNOWN_CLAIM = {"claimToken": "clm_unknown", "email": "ann@example.com"}
CREDENTIAL = {"id": "AAAA", "rawId": "AAAA", "type": "public-key"}
CREATED = CREDENTIAL | {"response": {"clientDataJSON": "AAAA", "attestationObject": "AAAA"}}
SHOWN = CREDENTIAL | {"response": {"clientDataJSON": "AAAA", "authenticatorData": "AAAA", "signature": "AAAA"}}

EVERYTHING = "library:read sponsor:read sponsor:write billing:write keys:manage"

PLACES = {
    "mintKey": Place("POST", "/api/v1/auth/agent", PUBLIC),
    "startClaim": Place("POST", "/api/v1/auth/claim", PUBLIC, UNKNOWN_CLAIM, "400 invalid_claim"),
    "completeClaim": Place(
        "POST", "/api/v1/auth/claim/complete", PUBLIC, UNKNOWN_CLAIM | {"code": "123456"}, "400 invalid_claim"
    ),
    "startDevice": Place("POST", "/api/v1/auth/device", PUBLIC),
    "pollDevice": Place(
        "POST", "/api/v1/auth/device/token", PUBLIC, {"device_code": "dvc_unknown"}, "400 invalid_code"
    ),
    "getDeviceApproval": Place(
        "GET", "/api/v1/auth/device/approval?userCode=WDJB-MJHT", PERSON_HERE, passed="400 invalid_code"
    ),
    "decideDevice": Place(
        "POST",
        "/api/v1/auth/device/approval",
        PERSON,
        {"userCode": "WDJB-MJHT", "decision": "approve"},
        "400 invalid_code",
    ),
    "startSignIn": Place("POST", "/api/v1/auth/session", FROM_OUR_PAGE, {"email": "ann@example.com"}),
    "completeSignIn": Place(
        "POST",
        "/api/v1/auth/session/complete",
        FROM_OUR_PAGE,
        {"email": "ann@example.com", "code": "123456"},
        "400 invalid_code",
    ),
    "listSessions": Place("GET", "/api/v1/auth/sessions", PERSON),
    "endSession": Place("DELETE", "/api/v1/auth/sessions/ses_unknown", PERSON, passed=UNKNOWN),
    "getPendingSignIn": Place("GET", "/api/v1/auth/passkey", PUBLIC, passed="401 unauthorized"),
    "startPasskeySignIn": Place("POST", "/api/v1/auth/passkey", FROM_OUR_PAGE, passed="401 unauthorized"),
    "finishPasskeySignIn": Place(
        "POST",
        "/api/v1/auth/passkey/complete",
        FROM_OUR_PAGE,
        {"credential": SHOWN},
        "401 unauthorized",
    ),
    "cancelPasskeySignIn": Place("DELETE", "/api/v1/auth/passkey", FROM_OUR_PAGE),
    "listPasskeys": Place("GET", "/api/v1/account/passkeys", PERSON),
    "startPasskey": Place("POST", "/api/v1/account/passkeys/challenge", PERSON),
    "addPasskey": Place(
        "POST", "/api/v1/account/passkeys", PERSON, {"name": "Laptop", "credential": CREATED}, "400 invalid_passkey"
    ),
    "startPasskeyConfirmation": Place(
        "POST", "/api/v1/account/passkeys/confirmation", PERSON, passed="409 invalid_state"
    ),
    "confirmWithPasskey": Place(
        "POST", "/api/v1/account/passkeys/confirmation/complete", PERSON, {"credential": SHOWN}, "400 invalid_passkey"
    ),
    "editPasskey": Place("PATCH", "/api/v1/account/passkeys/psk_unknown", PERSON, {"name": "Laptop"}, UNKNOWN),
    "removePasskey": Place("DELETE", "/api/v1/account/passkeys/psk_unknown", PERSON, passed=UNKNOWN),
    "getUsage": Place("GET", "/api/v1/usage", USAGE),
    "listUsageDays": Place("GET", "/api/v1/account/usage/days", account("library:read")),
    "listUsageByKey": Place("GET", "/api/v1/account/usage/keys", account("keys:manage")),
    "listAccountKeys": Place("GET", "/api/v1/account/keys", account("keys:manage")),
    "createAccountKey": Place("POST", "/api/v1/account/keys", PERSON),
    "editAccountKey": Place("PATCH", "/api/v1/account/keys/key_unknown", PERSON, {"name": "Laptop"}, UNKNOWN),
    "rotateAccountKey": Place("POST", "/api/v1/account/keys/key_unknown/rotate", PERSON, {"graceSeconds": 60}, UNKNOWN),
    "revokeAccountKey": Place("DELETE", "/api/v1/account/keys/key_unknown", PERSON, passed=UNKNOWN),
    "endAll": Place("POST", "/api/v1/account/end-all", PERSON),
    "exportAccount": Place("GET", "/api/v1/account/export", account(EVERYTHING)),
    "deleteAccount": Place("DELETE", "/api/v1/account", PERSON),
    "getAccountDeletion": Place("GET", "/api/v1/account/deletion", PERSON),
    "confirmAccountDeletion": Place("POST", "/api/v1/account/deletion", PERSON, {"code": "123456"}, "400 invalid_code"),
    "undoAccountDeletion": Place("DELETE", "/api/v1/account/deletion", PERSON),
    "getNotifications": Place("GET", "/api/v1/account/notifications", account("sponsor:read")),
    "editNotifications": Place("PATCH", "/api/v1/account/notifications", account("sponsor:write"), {"reports": False}),
    "listUseCases": Place("GET", "/api/v1/usecases", USECASES),
    "getUseCase": Place("GET", "/api/v1/usecases/case-04", USECASES),
    "listBots": Place("GET", "/api/v1/bots", BOTS),
    "getBot": Place("GET", "/api/v1/bots/bot-00", BOTS),
    "listCategories": Place("GET", "/api/v1/categories", BOTS),
    "getInventory": Place("GET", "/api/v1/sponsors/inventory", OPTIONAL),
    "getCalendar": Place("GET", "/api/v1/sponsors/calendar", OPTIONAL),
    "listPlacements": Place("GET", "/api/v1/sponsors/placements", OPTIONAL),
    "recordEvent": Place("POST", "/api/v1/sponsors/events", OPTIONAL, EVENT, UNKNOWN),
    "recordEvents": Place(
        "POST", "/api/v1/sponsors/events/batch", OPTIONAL, {"events": [EVENT]}, "400 invalid_request"
    ),
    "getSponsor": Place("GET", "/api/v1/sponsors/me", account("sponsor:read")),
    "saveProfile": Place("PATCH", "/api/v1/sponsors/profile", account("sponsor:write"), PROFILE),
    "listCampaigns": Place("GET", "/api/v1/sponsors/campaigns", account("sponsor:read")),
    "createCampaign": Place("POST", "/api/v1/sponsors/campaigns", account("sponsor:write"), CAMPAIGN),
    "getCampaign": Place("GET", "/api/v1/sponsors/campaigns/cmp_unknown", account("sponsor:read"), passed=UNKNOWN),
    "editCampaign": Place(
        "PATCH", "/api/v1/sponsors/campaigns/cmp_unknown", account("sponsor:write"), {"cta": "Look"}, UNKNOWN
    ),
    **{
        f"{move}Campaign": Place(
            "POST", f"/api/v1/sponsors/campaigns/cmp_unknown/{move}", account("sponsor:write"), passed=UNKNOWN
        )
        for move in ("submit", "withdraw", "pause", "resume")
    },
    "listBookings": Place("GET", "/api/v1/sponsors/bookings", account("sponsor:read")),
    "createBooking": Place("POST", "/api/v1/sponsors/bookings", account("billing:write"), BOOKING, UNKNOWN),
    "startBooking": Place(
        "POST", "/api/v1/sponsors/bookings/start", account("sponsor:write billing:write"), START, UNKNOWN
    ),
    "getBooking": Place("GET", "/api/v1/sponsors/bookings/bok_unknown", account("sponsor:read"), passed=UNKNOWN),
    "openCheckout": Place(
        "POST", "/api/v1/sponsors/bookings/bok_unknown/checkout", account("billing:write"), passed=UNKNOWN
    ),
    "cancelBooking": Place(
        "POST", "/api/v1/sponsors/bookings/bok_unknown/cancel", account("billing:write"), passed=UNKNOWN
    ),
    "requestRefund": Place(
        "POST",
        "/api/v1/sponsors/bookings/bok_unknown/refund-request",
        account("billing:write"),
        {"reason": "A mistake"},
        UNKNOWN,
    ),
    "declineRefund": Place(
        "POST",
        f"{ADMINISTRATION}/bookings/bok_unknown/refund-decline",
        admin("admin:write"),
        {"note": "It was shown"},
        UNKNOWN,
    ),
    "getDelivery": Place(
        "GET", "/api/v1/sponsors/bookings/bok_unknown/delivery", account("sponsor:read"), passed=UNKNOWN
    ),
    "listDeliveries": Place("GET", "/api/v1/sponsors/delivery", account("sponsor:read")),
    "getRateCard": Place("GET", "/api/v1/sponsors/rate-card", OPTIONAL),
    "listInvoices": Place("GET", "/api/v1/sponsors/invoices", account("sponsor:read")),
    "getInvoices": Place(
        "GET", "/api/v1/sponsors/bookings/bok_unknown/invoice", account("sponsor:read"), passed=UNKNOWN
    ),
    "listScopedKeys": Place("GET", "/api/v1/sponsors/keys", account("keys:manage")),
    "createScopedKey": Place(
        "POST", "/api/v1/sponsors/keys", account("keys:manage"), {"name": "One more", "scopes": ["keys:manage"]}
    ),
    "editScopedKey": Place(
        "PATCH", "/api/v1/sponsors/keys/key_unknown", account("keys:manage"), {"name": "Another"}, UNKNOWN
    ),
    "rotateScopedKey": Place(
        "POST", "/api/v1/sponsors/keys/key_unknown/rotate", account("keys:manage"), {"graceSeconds": 60}, UNKNOWN
    ),
    "revokeScopedKey": Place(
        "DELETE", "/api/v1/sponsors/keys/key_unknown", account("keys:manage"), passed="404 not_found"
    ),
    "listWebhooks": Place("GET", "/api/v1/sponsors/webhooks", account("sponsor:read")),
    "createWebhook": Place("POST", "/api/v1/sponsors/webhooks", account("sponsor:write"), WEBHOOK),
    "getWebhook": Place("GET", "/api/v1/sponsors/webhooks/whk_1", account("sponsor:read"), passed=UNKNOWN),
    "enableWebhook": Place("POST", "/api/v1/sponsors/webhooks/whk_1/enable", account("sponsor:write"), passed=UNKNOWN),
    "testWebhook": Place("POST", "/api/v1/sponsors/webhooks/whk_1/test", account("sponsor:write"), passed=UNKNOWN),
    "listWebhookDeliveries": Place(
        "GET", "/api/v1/sponsors/webhooks/whk_1/deliveries", account("sponsor:read"), passed=UNKNOWN
    ),
    "resendWebhookDelivery": Place(
        "POST", "/api/v1/sponsors/webhooks/whk_1/deliveries/dlv_1/resend", account("sponsor:write"), passed=UNKNOWN
    ),
    "deleteWebhook": Place("DELETE", "/api/v1/sponsors/webhooks/whk_1", account("sponsor:write"), passed=UNKNOWN),
    "listAllCampaigns": Place("GET", f"{ADMINISTRATION}/campaigns", admin("admin:read")),
    "reviewCampaign": Place(
        "POST",
        f"{ADMINISTRATION}/campaigns/cmp_unknown/review",
        admin("admin:write"),
        {"decision": "approve"},
        UNKNOWN,
    ),
    "listSponsors": Place("GET", f"{ADMINISTRATION}/sponsors", admin("admin:read")),
    "listSlots": Place("GET", f"{ADMINISTRATION}/slots", admin("admin:read")),
    "createSlot": Place(
        "POST",
        f"{ADMINISTRATION}/slots",
        admin("admin:write"),
        {"name": "One more", "side": "left", "weekPriceCents": 100},
    ),
    "editSlot": Place("PATCH", f"{ADMINISTRATION}/slots/unknown", admin("admin:write"), {"active": False}, UNKNOWN),
    "retireSlot": Place("DELETE", f"{ADMINISTRATION}/slots/unknown", admin("admin:write"), passed=UNKNOWN),
    "listAllBookings": Place("GET", f"{ADMINISTRATION}/bookings", admin("admin:read")),
    "describeVideo": Place(
        "PATCH",
        f"{ADMINISTRATION}/bookings/bok_unknown",
        admin("admin:write"),
        {"youtubeStatus": "planned"},
        UNKNOWN,
    ),
    "refundBooking": Place(
        "POST", f"{ADMINISTRATION}/bookings/bok_unknown/refund", admin("admin:write"), passed=UNKNOWN
    ),
    "listAudit": Place("GET", f"{ADMINISTRATION}/audit", admin("admin:read")),
    "listSites": Place("GET", f"{ADMINISTRATION}/sites", admin("admin:read")),
    "listAccounts": Place("GET", "/api/v1/admin/accounts", admin("admin:read")),
    "setAccountTier": Place(
        "POST",
        "/api/v1/admin/accounts/tier",
        admin("admin:write"),
        {"email": "nobody@example.com", "tier": "upgraded"},
        "404 not_found",
    ),
    "getAccount": Place("GET", "/api/v1/admin/accounts/ten_unknown", admin("admin:read"), passed=UNKNOWN),
    "suspendAccount": Place(
        "POST", "/api/v1/admin/accounts/ten_unknown/suspend", admin("admin:write"), {"reason": "Spam."}, UNKNOWN
    ),
    "unsuspendAccount": Place(
        "POST", "/api/v1/admin/accounts/ten_unknown/unsuspend", admin("admin:write"), passed=UNKNOWN
    ),
    "refundAccount": Place("POST", "/api/v1/admin/accounts/ten_unknown/refund", admin("admin:write"), passed=UNKNOWN),
    "listReviews": Place("GET", f"{ADMINISTRATION}/reviews", admin("admin:read")),
    "countLists": Place("GET", f"{ADMINISTRATION}/counts", admin("admin:read")),
    "getRevenue": Place("GET", f"{ADMINISTRATION}/revenue", admin("admin:read")),
    "getOperationsStatus": Place("GET", "/api/v1/admin/operations/status", admin("admin:read")),
    "stripeWebhook": Place("POST", "/api/v1/webhooks/stripe", PUBLIC, {}, UNKNOWN),
    "isAlive": Place("GET", "/healthz", PUBLIC),
    "isReady": Place("GET", "/readyz", PUBLIC),
}

PASSED = "passed"
NOBODY = "401 unauthorized"
NOT_A_HEADER = (NOBODY,) * 7
NO_SUCH_KEY = (*("401 invalid_api_key",) * 6, NOBODY)
EXPIRED = (*("403 key_expired",) * 6, NOBODY)
CLAIM, FORBIDDEN, NO_SCOPE = "403 claim_required", "403 forbidden", "403 insufficient_scope"
EXHAUSTED, NOT_TODAY = "403 quota_exhausted", "429 rate_limited"
ANONYMOUS = PASSED, PASSED, PASSED, PASSED, CLAIM, CLAIM, NOBODY
ACCOUNT = PASSED, PASSED, PASSED, PASSED, PASSED, FORBIDDEN, NOBODY
USED_UP = PASSED, EXHAUSTED, EXHAUSTED, EXHAUSTED, EXHAUSTED, FORBIDDEN, NOBODY
DAY_USED_UP = PASSED, NOT_TODAY, NOT_TODAY, NOT_TODAY, NOT_TODAY, FORBIDDEN, NOBODY
ADMIN = (*(PASSED,) * 6, NOBODY)
NOT_SIGNED_IN = NOBODY, PASSED, PASSED, PASSED, NOBODY, NOBODY, NOBODY
SIGNED_IN = PASSED, PASSED, PASSED, PASSED, PASSED, FORBIDDEN, PASSED

EXPECTED = {
    # Columns: usage, use cases, bots, optional, account, administrator, person. A scoped key needs the
    # scopes below; a session from another site can only read.
    "nobody": NOT_SIGNED_IN,
    "an empty header": NOT_A_HEADER,
    "a scheme alone": NOT_A_HEADER,
    "a scheme and a space": NOT_A_HEADER,
    "a key without a scheme": NOT_A_HEADER,
    "another scheme": NOT_A_HEADER,
    "two keys in one header": NOT_A_HEADER,
    "two keys and a comma": NOT_A_HEADER,
    "a key and a word": NOT_A_HEADER,
    "a tab for a space": NOT_A_HEADER,
    "not a key": NO_SUCH_KEY,
    "not ASCII": NO_SUCH_KEY,
    "an unknown key": NO_SUCH_KEY,
    "a mistyped key": NO_SUCH_KEY,
    "a revoked key": NO_SUCH_KEY,
    "an administrator's revoked key": NO_SUCH_KEY,
    "a revoked key that expired": NO_SUCH_KEY,
    "an anonymous key": ANONYMOUS,
    "a lower-case scheme": ANONYMOUS,
    "an upper-case scheme": ANONYMOUS,
    "two spaces": ANONYMOUS,
    "an expired key": EXPIRED,
    "a key that expires now": EXPIRED,
    "a key with one request left": ANONYMOUS,
    "an exhausted key": (EXHAUSTED, EXHAUSTED, EXHAUSTED, EXHAUSTED, CLAIM, CLAIM, NOBODY),
    "an expired and exhausted key": EXPIRED,
    "a key without a request left today": (PASSED, NOT_TODAY, NOT_TODAY, NOT_TODAY, CLAIM, CLAIM, NOBODY),
    "a key with one use case read left": ANONYMOUS,
    "a key without a use case read left": (PASSED, CLAIM, PASSED, PASSED, CLAIM, CLAIM, NOBODY),
    "a claimed key": ACCOUNT,
    "a claimed key that used a lifetime": ACCOUNT,
    "a claimed key without a request left this month": USED_UP,
    "a claimed key without a request left today": DAY_USED_UP,
    "an upgraded key": ACCOUNT,
    "an upgraded key without a request left this month": USED_UP,
    "an upgraded key without a request left today": DAY_USED_UP,
    "an issued key": ACCOUNT,
    "an administrator's key": ADMIN,
    "an administrator's key without a request left this month": (
        PASSED,
        EXHAUSTED,
        EXHAUSTED,
        EXHAUSTED,
        EXHAUSTED,
        EXHAUSTED,
        NOBODY,
    ),
    "the key of an administrator who was removed": ACCOUNT,
    "a key for library:read": ACCOUNT,
    "a key for sponsor:read": ACCOUNT,
    "a key for sponsor:write": ACCOUNT,
    "a key for billing:write": ACCOUNT,
    "a key for admin:read": ACCOUNT,
    "a key for admin:write": ACCOUNT,
    "a key for keys:manage": ACCOUNT,
    "a key for everything": ACCOUNT,
    "a key for nothing": ACCOUNT,
    "a key for everything but the library": ACCOUNT,
    "a scoped key without a request left this month": USED_UP,
    "an administrator's key for admin:read": ADMIN,
    "an administrator's key for admin:write": ADMIN,
    "an administrator's key for library:read": ADMIN,
    "a session": SIGNED_IN,
    "an administrator's session": (PASSED,) * 7,
    "a revoked session": NOT_SIGNED_IN,
    "an administrator's revoked session": NOT_SIGNED_IN,
    "an expired session": NOT_SIGNED_IN,
    "a session that expires now": NOT_SIGNED_IN,
    "a cookie that is no session": NOT_SIGNED_IN,
    "a session from another site": SIGNED_IN,
    "an administrator's session from another site": (PASSED,) * 7,
}
BROWSERS = list(EXPECTED)[list(EXPECTED).index("a session") :]
ELSEWHERE = [caller for caller in BROWSERS if caller.endswith("from another site")]
LIVE = [caller for caller in BROWSERS if EXPECTED[caller][6] is PASSED]
HOLDS = {
    # The scopes of scoped keys. A missing scope is 403 insufficient_scope, whatever the table above says.
    "a key for library:read": "library:read",
    "a key for sponsor:read": "sponsor:read",
    "a key for sponsor:write": "sponsor:write",
    "a key for billing:write": "billing:write",
    "a key for admin:read": "admin:read",
    "a key for admin:write": "admin:write",
    "a key for keys:manage": "keys:manage",
    "a key for everything": (
        "library:read sponsor:read sponsor:write billing:write admin:read admin:write keys:manage"
    ),
    "a key for nothing": "",
    "a key for everything but the library": (
        "sponsor:read sponsor:write billing:write admin:read admin:write keys:manage"
    ),
    "a scoped key without a request left this month": "library:read",
    "an administrator's key for admin:read": "admin:read",
    "an administrator's key for admin:write": "admin:write",
    "an administrator's key for library:read": "library:read",
}
CATALOG = {"listUseCases", "getUseCase", "listBots", "getBot", "listCategories"}


def expected(caller: str, place: Place) -> str:
    """The expected result in the tables."""
    if place.policy in HERE and (caller not in BROWSERS or caller in ELSEWHERE):
        return FORBIDDEN
    if place.policy.column is None:
        return place.passed
    if caller in ELSEWHERE and place.method != "GET" and place.policy is not OPTIONAL:
        return FORBIDDEN
    if (
        caller in HOLDS
        and place.policy.column != 6
        and not set(place.policy.scopes.split()) <= set(HOLDS[caller].split())
    ):
        return NO_SCOPE
    words = EXPECTED[caller][place.policy.column]
    return place.passed if words is PASSED else words


def test_the_tables_name_every_operation_and_every_caller() -> None:
    assert [operation.name for operation in OPERATIONS] == list(PLACES)
    assert CALLERS.keys() == EXPECTED.keys()


@pytest.fixture
async def patient() -> AsyncIterator[World]:
    """A node that looks an unknown key up for each operation of the table."""
    async with open_world(KEYS__UNKNOWN_PER_MINUTE=1_000) as opened:
        yield opened


@pytest.mark.parametrize("caller", CALLERS)
async def test_a_caller_of_this_kind_gets_what_the_table_says(patient: World, caller: str) -> None:
    world = patient
    answers = {}
    for number, (operation, place) in enumerate(PLACES.items()):
        # From several addresses: there are more operations than unknown keys that one address may try in a minute.
        address = f"203.0.113.{number % 4}"
        response = await world.client.request(
            place.method, place.target, headers=_presented(world, caller), json=place.body, address=address
        )
        if operation in CATALOG:
            assert (response.header("etag") is not None) == (response.status == 200 and caller in ("nobody", *BROWSERS))
        _check_limits(response, caller, place)
        answers[operation] = response.words
    assert answers == {operation: expected(caller, place) for operation, place in PLACES.items()}


def _presented(world: World, caller: str) -> dict[str, str]:
    """The headers of a fresh caller of this kind."""
    presented = CALLERS[caller](world)
    if isinstance(presented, dict):
        return presented
    return {} if presented is None else {"Authorization": presented}


def _check_limits(response: Response, caller: str, place: Place) -> None:
    """Keyless and refused callers get no RateLimit headers; a key without the scope does. Public operations ignore
    cookies, and a cookie from another site counts as no credentials."""
    told = response.header("ratelimit") is not None
    assert told == (response.header("ratelimit-policy") is not None)
    unasked = place.policy.column is None or caller == "nobody"
    unasked |= caller in BROWSERS and (caller not in LIVE or place.policy in (USECASES, BOTS, OPTIONAL))
    unasked |= caller in ELSEWHERE and (place.method != "GET" or place.policy is PERSON_HERE)
    unasked |= place.policy is PERSON_HERE and caller not in BROWSERS
    assert told != (unasked or response.words.startswith(("401", "403 key_expired")))


async def test_public_operations_do_not_look_at_the_header(world_with_many_starts: World) -> None:
    for number, caller in enumerate(CALLERS):
        headers, email = _presented(world_with_many_starts, caller), f"zoe{number}@example.com"
        answers = await _public_answers(world_with_many_starts, headers, email)
        assert answers == dict.fromkeys(answers, "200"), caller


@pytest.fixture
async def world_with_many_starts() -> AsyncIterator[World]:
    starts = (
        *("MINT__PER_HOUR", "DEVICE__STARTS_PER_HOUR", "SESSIONS__STARTS_PER_HOUR"),
        *("CLAIM__STARTS_PER_HOUR", "CLAIM__COMPLETIONS_PER_HOUR"),
    )
    async with open_world(**dict.fromkeys(starts, 100), MAIL__PER_HOUR_TOTAL=10_000) as world:
        yield world


async def _public_answers(world: World, headers: dict[str, str], email: str) -> dict[str, str]:
    client = world.client
    minted = await client.post("/api/v1/auth/agent", headers=headers)
    claim = {"claimToken": minted.json["claimToken"], "email": email}
    started = await client.post("/api/v1/auth/claim", headers=headers, json=claim)
    claim |= {"code": await world.emailed_code(email)}
    completed = await client.post("/api/v1/auth/claim/complete", headers=headers, json=claim)
    device = await client.post("/api/v1/auth/device", headers=headers)
    asked = await client.post("/api/v1/auth/session", headers=headers | OUR_PAGE, json={"email": email})
    alive = await client.get("/healthz", headers=headers)
    ready = await client.get("/readyz", headers=headers)
    return {
        "mintKey": minted.words,
        "startClaim": started.words,
        "completeClaim": completed.words,
        "startDevice": device.words,
        "startSignIn": asked.words,
        "isAlive": alive.words,
        "isReady": ready.words,
    }


async def test_two_authorization_headers_are_none(world: World) -> None:
    twice = [("Authorization", f"Bearer {world.key()}"), ("Authorization", f"Bearer {world.key()}")]
    for target in ("/api/v1/usage", "/api/v1/bots"):
        assert (await world.client.get(target, headers=twice)).words == "401 unauthorized"


async def test_a_key_in_the_query_is_not_looked_at(world: World) -> None:
    assert (await world.client.get(f"/api/v1/usage?api_key={world.key()}")).words == "401 unauthorized"


async def test_a_key_expires_while_it_is_remembered(world: World) -> None:
    key = world.key(expires_in_ms=3_000)
    assert (await world.client.get("/api/v1/bots", key)).words == "200"
    await world.pass_seconds(3)
    assert (await world.client.get("/api/v1/bots", key)).words == "403 key_expired"
