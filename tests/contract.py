"""What the specification and the documents promise of each operation: one row an operation, written out by hand.

Tests compare the product's table of operations with these rows, so nothing here may be derived from that table.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.api.sponsors import CAMPAIGN, NEXT_WEEK, PROFILE, uuid


@dataclass(frozen=True, slots=True)
class Policy:
    """Who may call an operation: a column of `EXPECTED` in `tests/api/test_access.py`, or None for everybody."""

    column: int | None
    scopes: str = ""
    """The scopes that a scoped key needs, separated by spaces."""
    here: bool = False
    """Every request must come from a page of this service, not only one that changes something in a session."""

    @property
    def codes(self) -> set[str]:
        """The codes of 403 of an operation with this policy."""
        if self.column in (None, PERSON.column):
            return {"forbidden"}
        found = {"forbidden", "key_expired", "quota_exhausted"}
        if self.scopes:
            found.add("insufficient_scope")
        return found | ({"claim_required"} if self.column in (USECASES.column, ACCOUNT, ADMINISTRATOR) else set())


PUBLIC = Policy(None)
FROM_OUR_PAGE = Policy(None, here=True)
USAGE = Policy(0, "library:read")
USECASES = Policy(1, "library:read")
BOTS = Policy(2, "library:read")
OPTIONAL = Policy(3)
"""Operations of sponsorship with an optional key."""
ACCOUNT, ADMINISTRATOR = 4, 5
"""The columns of operations of sponsorship that need a key of an account, or one of an administrator."""
PERSON = Policy(6)
"""Operations that need a browser session. Any key counts as no credentials."""
PERSON_HERE = Policy(6, here=True)

CACHED = (USECASES, BOTS, OPTIONAL)
"""Reads with these policies answer 304 to callers without a key who have the response already."""
ANY = {400, 413, 500, 503}
"""Statuses that every operation may return."""


def account(scopes: str) -> Policy:
    return Policy(ACCOUNT, scopes)


def admin(scopes: str) -> Policy:
    return Policy(ADMINISTRATOR, scopes)


@dataclass(frozen=True, slots=True)
class Row:
    """One operation."""

    called: str
    """Its method and path."""
    policy: Policy
    body: Any = None
    """A valid body, which need not succeed. Operations without one take none, unless theirs is `optional`."""
    optional: bool = False
    passed: str = ""
    """What a permitted caller gets for this body. By default it is 200, and 404 for paths with an id, which is unknown."""
    more: str = ""
    """Statuses that follow neither from `passed` nor from the other fields."""
    query: str = ""
    """The names of its query parameters."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Values of parameters of the path or the query, also for its tool."""
    tool: str = ""
    """The tool of agents that calls it."""
    keyed: bool = False
    """Reads `Idempotency-Key`."""
    cors: bool = False
    """Pages of any site may call it, without credentials."""
    hot: bool = False
    """The fast path serves it."""
    good: Any = None
    """A body that succeeds if the placement `bok_live` is live. For operations that are `hot`."""
    cookie: bool = False
    """Sets or deletes a cookie."""
    while_suspended: bool = False
    """The session of a suspended account may call it."""

    @property
    def method(self) -> str:
        return self.called.partition(" ")[0]

    @property
    def path(self) -> str:
        return self.called.partition(" ")[2]

    @property
    def target(self) -> str:
        """The path with ids, and required query parameters."""
        needed = "".join(f"?{name}={value}" for name, value in self.arguments.items() if name == "userCode")
        return self.path.format_map(defaultdict(lambda: "unknown", self.arguments)) + needed

    @property
    def result(self) -> str:
        """What a permitted caller gets."""
        return self.passed or ("404 not_found" if "{" in self.path else "200")

    @property
    def statuses(self) -> set[int]:
        """Every status that the document names."""
        found = ANY | {201 if self.passed == "201" else 200, int(self.result[:3]), *map(int, self.more.split())}
        if self.policy.column is not None:
            found |= {401, 403, 429}
        if self.policy.here:
            found |= {403, 429}
        if self.body is not None or self.optional:
            found |= {415}
        if self.policy == PERSON and self.while_suspended and self.method == "GET":
            found -= {403}
        if self.policy in CACHED and self.method == "GET":
            found |= {304}
        return found | ({404} if "{" in self.path else set()) | ({409} if self.keyed else set())


UNKNOWN = "404 not_found"
EVERYTHING = account("library:read sponsor:read sponsor:write billing:write keys:manage")
BOOKING = {"slotId": "unknown", "weekStart": NEXT_WEEK, "idempotencyKey": uuid(1), "campaignId": "cmp_unknown"}
START = {name: value for name, value in BOOKING.items() if name != "campaignId"} | PROFILE
START |= {name: CAMPAIGN[name] for name in ("headline", "body")}
EVENT = {"bookingId": "bok_unknown", "kind": "click", "visitorId": uuid(2)}
SEEN = {"bookingId": "bok_live", "kind": "impression", "visitorId": uuid(3)}
WEBHOOK = {"url": "https://tools.example.com/webhooks", "events": ["booking.paid"]}
PROPOSED: dict[str, Any] = {
    "kind": "bots",
    "entry": {"slug": "sorter", "name": "Sorter", "who": "Ann", "handle": "@ann"},
}
PROPOSED["entry"] |= {"job": "Sorts.", "templateUrl": "https://bots.example.com/sorter", "addedAt": 1}
UNKNOWN_CLAIM = {"claimToken": "clm_unknown", "email": "ann@example.com"}
CREDENTIAL = {"id": "AAAA", "rawId": "AAAA", "type": "public-key"}
CREATED = CREDENTIAL | {"response": {"clientDataJSON": "AAAA", "attestationObject": "AAAA"}}
SHOWN = CREDENTIAL | {"response": {"clientDataJSON": "AAAA", "authenticatorData": "AAAA", "signature": "AAAA"}}

BOT = {"name": "Helper", "who": "A clerk", "handle": "@clerk", "job": "Helps.", "templateUrl": "https://example.com/t"}
USECASE = {
    "title": "Done",
    "who": "A clerk",
    "handle": "@clerk",
    "roi": "An hour",
    "sourceUrl": "https://example.com/s",
}

CONTRACT = {
    "mintKey": Row("POST /api/v1/auth/agent", PUBLIC, optional=True, more="429"),
    "startClaim": Row("POST /api/v1/auth/claim", PUBLIC, UNKNOWN_CLAIM, passed="400 invalid_claim", more="409 429"),
    "reportExposedKeys": Row(
        "POST /api/v1/keys/exposed", PUBLIC, [{"token": "cs_user_none", "type": "key", "url": ""}], more="429"
    ),
    "completeClaim": Row(
        "POST /api/v1/auth/claim/complete",
        PUBLIC,
        UNKNOWN_CLAIM | {"code": "123456"},
        passed="400 invalid_claim",
        more="403 409 429",
    ),
    "startDevice": Row("POST /api/v1/auth/device", PUBLIC, more="429"),
    "pollDevice": Row(
        "POST /api/v1/auth/device/token", PUBLIC, {"device_code": "dvc_unknown"}, passed="400 invalid_code", more="429"
    ),
    "registerClient": Row(
        "POST /oauth/register",
        PUBLIC,
        {"redirect_uris": ["http://127.0.0.1:8123/callback"]},
        passed="201",
        more="429",
        cors=True,
    ),
    "issueToken": Row(
        "POST /oauth/token",
        PUBLIC,
        {"grant_type": "refresh_token", "refresh_token": "unknown", "client_id": "https://client.example.com/metadata"},
        passed="400 invalid_grant",
        more="401 429",
        cors=True,
    ),
    "revokeToken": Row(
        "POST /oauth/revoke",
        PUBLIC,
        {"token": "unknown", "client_id": "https://client.example.com/metadata"},
        more="429",
        cors=True,
    ),
    "getDeviceApproval": Row(
        "GET /api/v1/auth/device/approval",
        PERSON_HERE,
        passed="400 invalid_code",
        query="userCode",
        arguments={"userCode": "WDJB-MJHT"},
    ),
    "decideDevice": Row(
        "POST /api/v1/auth/device/approval",
        PERSON,
        {"userCode": "WDJB-MJHT", "decision": "approve"},
        passed="400 invalid_code",
        more="409",
    ),
    "startSignIn": Row("POST /api/v1/auth/session", FROM_OUR_PAGE, {"email": "ann@example.com"}, cookie=True),
    "completeSignIn": Row(
        "POST /api/v1/auth/session/complete",
        FROM_OUR_PAGE,
        {"email": "ann@example.com", "code": "123456"},
        passed="400 invalid_code",
        cookie=True,
    ),
    "listSessions": Row("GET /api/v1/auth/sessions", PERSON, while_suspended=True),
    "endSession": Row("DELETE /api/v1/auth/sessions/{id}", PERSON, cookie=True, while_suspended=True),
    "getPendingSignIn": Row("GET /api/v1/auth/passkey", PUBLIC, passed="401 unauthorized", more="429"),
    "startPasskeySignIn": Row("POST /api/v1/auth/passkey", FROM_OUR_PAGE, passed="401 unauthorized", more="409"),
    "finishPasskeySignIn": Row(
        "POST /api/v1/auth/passkey/complete",
        FROM_OUR_PAGE,
        {"credential": SHOWN},
        passed="401 unauthorized",
        cookie=True,
    ),
    "cancelPasskeySignIn": Row("DELETE /api/v1/auth/passkey", FROM_OUR_PAGE, cookie=True),
    "listPasskeys": Row("GET /api/v1/account/passkeys", PERSON),
    "startPasskey": Row("POST /api/v1/account/passkeys/challenge", PERSON, more="409"),
    "addPasskey": Row(
        "POST /api/v1/account/passkeys",
        PERSON,
        {"name": "Laptop", "credential": CREATED},
        passed="400 invalid_passkey",
        more="409",
    ),
    "startPasskeyConfirmation": Row("POST /api/v1/account/passkeys/confirmation", PERSON, passed="409 invalid_state"),
    "confirmWithPasskey": Row(
        "POST /api/v1/account/passkeys/confirmation/complete",
        PERSON,
        {"credential": SHOWN},
        passed="400 invalid_passkey",
    ),
    "editPasskey": Row("PATCH /api/v1/account/passkeys/{id}", PERSON, {"name": "Laptop"}),
    "removePasskey": Row("DELETE /api/v1/account/passkeys/{id}", PERSON),
    "getUsage": Row("GET /api/v1/usage", USAGE, tool="get_usage"),
    "listUsageDays": Row("GET /api/v1/account/usage/days", account("library:read"), query="days"),
    "listUsageByKey": Row("GET /api/v1/account/usage/keys", account("keys:manage"), query="days"),
    "listAccountKeys": Row("GET /api/v1/account/keys", account("keys:manage")),
    "createAccountKey": Row("POST /api/v1/account/keys", PERSON, optional=True, keyed=True),
    "editAccountKey": Row("PATCH /api/v1/account/keys/{id}", PERSON, {"name": "Laptop"}, more="409"),
    "rotateAccountKey": Row("POST /api/v1/account/keys/{id}/rotate", PERSON, {"graceSeconds": 60}, keyed=True),
    "revokeAccountKey": Row("DELETE /api/v1/account/keys/{id}", PERSON),
    "endAll": Row("POST /api/v1/account/end-all", PERSON, optional=True, cookie=True, while_suspended=True),
    "exportAccount": Row("GET /api/v1/account/export", EVERYTHING, query="cursor limit", while_suspended=True),
    "deleteAccount": Row("DELETE /api/v1/account", PERSON, more="404 409", while_suspended=True),
    "getAccountDeletion": Row("GET /api/v1/account/deletion", PERSON, while_suspended=True),
    "confirmAccountDeletion": Row(
        "POST /api/v1/account/deletion",
        PERSON,
        {"code": "123456"},
        passed="400 invalid_code",
        more="404 409",
        while_suspended=True,
    ),
    "undoAccountDeletion": Row("DELETE /api/v1/account/deletion", PERSON, more="404", while_suspended=True),
    "getNotifications": Row("GET /api/v1/account/notifications", account("sponsor:read")),
    "editNotifications": Row(
        "PATCH /api/v1/account/notifications", account("sponsor:write"), {"reports": False}, more="404"
    ),
    "listUseCases": Row(
        "GET /api/v1/usecases",
        USECASES,
        query="q category cursor limit",
        cors=True,
        hot=True,
        tool="search_use_cases",
        arguments={"q": "case", "limit": 3},
    ),
    "getUseCase": Row(
        "GET /api/v1/usecases/{slug}",
        USECASES,
        passed="200",
        cors=True,
        hot=True,
        tool="get_use_case",
        arguments={"slug": "case-04"},
    ),
    "listBots": Row(
        "GET /api/v1/bots",
        BOTS,
        query="q category cursor limit",
        cors=True,
        hot=True,
        tool="search_bots",
        arguments={"limit": 2},
    ),
    "getBot": Row(
        "GET /api/v1/bots/{slug}", BOTS, passed="200", cors=True, hot=True, tool="get_bot", arguments={"slug": "bot-00"}
    ),
    "listCategories": Row("GET /api/v1/categories", BOTS, cors=True, hot=True, tool="list_categories"),
    "submitEntry": Row(
        "POST /api/v1/catalog/submissions", account("sponsor:write"), PROPOSED, more="404 409", keyed=True
    ),
    "listSubmissions": Row("GET /api/v1/catalog/submissions", account("sponsor:read"), query="cursor limit"),
    "getSubmission": Row("GET /api/v1/catalog/submissions/{id}", account("sponsor:read")),
    "listAllSubmissions": Row(
        "GET /api/v1/admin/catalog/submissions", admin("admin:read"), query="status order cursor limit query"
    ),
    "reviewSubmission": Row(
        "POST /api/v1/admin/catalog/submissions/{id}/review",
        admin("admin:write"),
        {"decision": "accept", "seen": "0123456789abcdef"},
        more="409",
    ),
    "listChanges": Row("GET /api/v1/changes", BOTS, query="cursor limit", cors=True, hot=True, more="410"),
    "getInventory": Row("GET /api/v1/sponsors/inventory", OPTIONAL, query="weekStart", cors=True, hot=True),
    "getCalendar": Row(
        "GET /api/v1/sponsors/calendar",
        OPTIONAL,
        query="weekStart weeks",
        tool="list_slot_weeks",
        arguments={"weekStart": NEXT_WEEK, "weeks": 2},
    ),
    "listPlacements": Row("GET /api/v1/sponsors/placements", OPTIONAL, cors=True, hot=True),
    "recordEvent": Row(
        "POST /api/v1/sponsors/events", OPTIONAL, EVENT, query="unit", passed=UNKNOWN, cors=True, hot=True, good=SEEN
    ),
    "recordEvents": Row(
        "POST /api/v1/sponsors/events/batch",
        OPTIONAL,
        {"events": [EVENT]},
        query="unit",
        passed="400 invalid_request",
        cors=True,
        hot=True,
        good={"events": [SEEN, SEEN, SEEN | {"kind": "click"}]},
    ),
    "getSponsor": Row("GET /api/v1/sponsors/me", account("sponsor:read")),
    "saveProfile": Row("PATCH /api/v1/sponsors/profile", account("sponsor:write"), PROFILE),
    "getBillingDetails": Row("GET /api/v1/sponsors/billing-details", account("sponsor:read")),
    "saveBillingDetails": Row(
        "PUT /api/v1/sponsors/billing-details",
        account("billing:write"),
        {"legalName": "Example Tools Ltd", "address": "1 Example Street\n8000 Zurich", "country": "CH"},
    ),
    "listCampaigns": Row("GET /api/v1/sponsors/campaigns", account("sponsor:read"), query="cursor limit"),
    "createCampaign": Row("POST /api/v1/sponsors/campaigns", account("sponsor:write"), CAMPAIGN, keyed=True),
    "getCampaign": Row("GET /api/v1/sponsors/campaigns/{id}", account("sponsor:read")),
    "editCampaign": Row("PATCH /api/v1/sponsors/campaigns/{id}", account("sponsor:write"), {"cta": "Look"}, more="409"),
    "submitCampaign": Row("POST /api/v1/sponsors/campaigns/{id}/submit", account("sponsor:write"), more="409"),
    "withdrawCampaign": Row("POST /api/v1/sponsors/campaigns/{id}/withdraw", account("sponsor:write"), more="409"),
    "pauseCampaign": Row("POST /api/v1/sponsors/campaigns/{id}/pause", account("sponsor:write"), more="409"),
    "resumeCampaign": Row("POST /api/v1/sponsors/campaigns/{id}/resume", account("sponsor:write"), more="409"),
    "listBookings": Row(
        "GET /api/v1/sponsors/bookings",
        account("sponsor:read"),
        query="cursor limit",
        tool="list_bookings",
        arguments={"limit": 2},
    ),
    "createBooking": Row(
        "POST /api/v1/sponsors/bookings", account("billing:write"), BOOKING, passed=UNKNOWN, more="409"
    ),
    "startBooking": Row(
        "POST /api/v1/sponsors/bookings/start",
        account("sponsor:write billing:write"),
        START,
        passed=UNKNOWN,
        more="409",
    ),
    "getBooking": Row(
        "GET /api/v1/sponsors/bookings/{id}",
        account("sponsor:read"),
        tool="get_booking",
        arguments={"id": "unknown"},
    ),
    "openCheckout": Row("POST /api/v1/sponsors/bookings/{id}/checkout", account("billing:write"), more="409"),
    "cancelBooking": Row("POST /api/v1/sponsors/bookings/{id}/cancel", account("billing:write"), more="409"),
    "requestRefund": Row(
        "POST /api/v1/sponsors/bookings/{id}/refund-request",
        account("billing:write"),
        {"reason": "A mistake"},
        more="409",
    ),
    "declineRefund": Row(
        "POST /api/v1/admin/sponsorships/bookings/{id}/refund-decline",
        admin("admin:write"),
        {"note": "It was shown"},
        more="409",
    ),
    "getDelivery": Row(
        "GET /api/v1/sponsors/bookings/{id}/delivery",
        account("sponsor:read"),
        query="format",
        tool="get_booking_delivery",
        arguments={"id": "unknown"},
    ),
    "listDeliveries": Row(
        "GET /api/v1/sponsors/delivery",
        account("sponsor:read"),
        query="from to format campaignId slotId",
        tool="get_delivery_report",
        arguments={"from": "2026-11-01", "to": "2026-12-31"},
    ),
    "getRateCard": Row("GET /api/v1/sponsors/rate-card", OPTIONAL, tool="list_slot_prices"),
    "listInvoices": Row("GET /api/v1/sponsors/invoices", account("sponsor:read"), query="cursor limit format"),
    "getInvoices": Row("GET /api/v1/sponsors/bookings/{id}/invoice", account("sponsor:read")),
    "listScopedKeys": Row("GET /api/v1/sponsors/keys", account("keys:manage")),
    "createScopedKey": Row(
        "POST /api/v1/sponsors/keys",
        account("keys:manage"),
        {"name": "One more", "scopes": ["keys:manage"]},
        keyed=True,
    ),
    "editScopedKey": Row("PATCH /api/v1/sponsors/keys/{id}", account("keys:manage"), {"name": "Another"}, more="409"),
    "rotateScopedKey": Row(
        "POST /api/v1/sponsors/keys/{id}/rotate", account("keys:manage"), {"graceSeconds": 60}, keyed=True
    ),
    "revokeScopedKey": Row("DELETE /api/v1/sponsors/keys/{id}", account("keys:manage")),
    "listWebhooks": Row("GET /api/v1/sponsors/webhooks", account("sponsor:read")),
    "createWebhook": Row("POST /api/v1/sponsors/webhooks", account("sponsor:write"), WEBHOOK, keyed=True),
    "getWebhook": Row("GET /api/v1/sponsors/webhooks/{id}", account("sponsor:read")),
    "enableWebhook": Row("POST /api/v1/sponsors/webhooks/{id}/enable", account("sponsor:write")),
    "testWebhook": Row("POST /api/v1/sponsors/webhooks/{id}/test", account("sponsor:write"), more="409"),
    "listWebhookDeliveries": Row(
        "GET /api/v1/sponsors/webhooks/{id}/deliveries", account("sponsor:read"), query="cursor limit"
    ),
    "listWebhookEvents": Row(
        "GET /api/v1/sponsors/webhook-events", account("sponsor:read"), query="cursor limit since", more="410"
    ),
    "resendWebhookDelivery": Row(
        "POST /api/v1/sponsors/webhooks/{id}/deliveries/{deliveryId}/resend", account("sponsor:write"), more="409"
    ),
    "deleteWebhook": Row("DELETE /api/v1/sponsors/webhooks/{id}", account("sponsor:write")),
    "listAllCampaigns": Row(
        "GET /api/v1/admin/sponsorships/campaigns", admin("admin:read"), query="status order cursor limit format query"
    ),
    "reviewCampaign": Row(
        "POST /api/v1/admin/sponsorships/campaigns/{id}/review",
        admin("admin:write"),
        {"decision": "approve"},
        more="409",
    ),
    "listSponsors": Row(
        "GET /api/v1/admin/sponsorships/sponsors", admin("admin:read"), query="cursor limit format query"
    ),
    "listSlots": Row("GET /api/v1/admin/sponsorships/slots", admin("admin:read"), query="format"),
    "createSlot": Row(
        "POST /api/v1/admin/sponsorships/slots",
        admin("admin:write"),
        {"name": "One more", "side": "left", "weekPriceCents": 100},
        more="409",
    ),
    "editSlot": Row("PATCH /api/v1/admin/sponsorships/slots/{id}", admin("admin:write"), {"active": False}, more="409"),
    "retireSlot": Row("DELETE /api/v1/admin/sponsorships/slots/{id}", admin("admin:write")),
    "getStoredUseCase": Row("GET /api/v1/admin/catalog/usecases/{slug}", admin("admin:read")),
    "putUseCase": Row(
        "PUT /api/v1/admin/catalog/usecases/{slug}",
        admin("admin:write"),
        USECASE,
        passed="200",
        more="412",
        arguments={"slug": "made-here"},
    ),
    "retireUseCase": Row("DELETE /api/v1/admin/catalog/usecases/{slug}", admin("admin:write"), more="412"),
    "getStoredBot": Row("GET /api/v1/admin/catalog/bots/{slug}", admin("admin:read")),
    "putBot": Row(
        "PUT /api/v1/admin/catalog/bots/{slug}",
        admin("admin:write"),
        BOT,
        passed="200",
        more="412",
        arguments={"slug": "made-here"},
    ),
    "retireBot": Row("DELETE /api/v1/admin/catalog/bots/{slug}", admin("admin:write"), more="412"),
    "listAllBookings": Row(
        "GET /api/v1/admin/sponsorships/bookings",
        admin("admin:read"),
        query="query status week sponsor slot trouble cursor limit format",
    ),
    "describeVideo": Row(
        "PATCH /api/v1/admin/sponsorships/bookings/{id}", admin("admin:write"), {"youtubeStatus": "planned"}, more="409"
    ),
    "refundBooking": Row(
        "POST /api/v1/admin/sponsorships/bookings/{id}/refund", admin("admin:write"), optional=True, more="409"
    ),
    "listAudit": Row(
        "GET /api/v1/admin/sponsorships/audit", admin("admin:read"), query="targetId actorEmail to cursor limit format"
    ),
    "listSites": Row("GET /api/v1/admin/sponsorships/sites", admin("admin:read"), query="from to"),
    "listAccounts": Row(
        "GET /api/v1/admin/accounts", admin("admin:read"), query="query tier suspended cursor limit format"
    ),
    "setAccountTier": Row(
        "POST /api/v1/admin/accounts/tier",
        admin("admin:write"),
        {"email": "nobody@example.com", "tier": "upgraded"},
        passed=UNKNOWN,
    ),
    "getAccount": Row("GET /api/v1/admin/accounts/{id}", admin("admin:read")),
    "suspendAccount": Row(
        "POST /api/v1/admin/accounts/{id}/suspend", admin("admin:write"), {"reason": "Spam."}, more="409"
    ),
    "unsuspendAccount": Row("POST /api/v1/admin/accounts/{id}/unsuspend", admin("admin:write")),
    "revokeKey": Row("DELETE /api/v1/admin/keys/{id}", admin("admin:write")),
    "refundAccount": Row("POST /api/v1/admin/accounts/{id}/refund", admin("admin:write"), optional=True),
    "listReviews": Row("GET /api/v1/admin/sponsorships/reviews", admin("admin:read"), query="cursor limit query"),
    "countLists": Row("GET /api/v1/admin/sponsorships/counts", admin("admin:read")),
    "getRevenue": Row("GET /api/v1/admin/sponsorships/revenue", admin("admin:read"), query="from to format"),
    "getOperationsStatus": Row("GET /api/v1/admin/operations/status", admin("admin:read")),
    "stripeWebhook": Row("POST /api/v1/webhooks/stripe", PUBLIC, {}, passed=UNKNOWN),
    "isAlive": Row("GET /healthz", PUBLIC, hot=True),
    "isReady": Row("GET /readyz", PUBLIC, hot=True),
}
