"""Support for generated requests: a real server with high limits, its callers, and ids of existing things.

Random requests fail at the first lookup. So some values are taken from existing data: weeks, a slot, a campaign, an
address. Generated requests contain placeholders for ids, replaced when the request is sent, so that every run generates
the same.
"""

import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import requests
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.core.transport import Response
from schemathesis.specs.openapi import checks

from actors.times import WEEK_MS, week_of
from service.api.operations.events import ROWS as EVENT_OPERATIONS
from tests.acceptance.processes import Service, serving
from tests.api.conformity import DOCUMENT
from tests.memory import in_memory

SECONDS = 30
PLENTY = "1000000000"
BOSS = "boss@example.com"
SPONSOR = "sponsor@example.com"
LIMITS = dict.fromkeys(
    (
        "KEYLESS__PER_MINUTE",
        "MINT__PER_HOUR",
        "MINT__PER_HOUR_TOTAL",
        "CLAIM__STARTS_PER_HOUR",
        "CLAIM__COMPLETIONS_PER_HOUR",
        "DEVICE__STARTS_PER_HOUR",
        "DEVICE__PER_HOUR_TOTAL",
        "SESSIONS__STARTS_PER_HOUR",
        "SESSIONS__COMPLETIONS_PER_HOUR",
        "BOOKINGS__OPEN_HOLDS",
        "BOOKINGS__HOLDS_PER_DAY",
        "CAMPAIGNS__PER_ACCOUNT",
        "CAMPAIGNS__PENDING_PER_ACCOUNT",
        "ACCOUNT__EXPORTS_PER_HOUR",
        "MAIL__PER_HOUR_TOTAL",
        "KEYS__UNKNOWN_PER_MINUTE",
        "EVENTS__PER_MINUTE",
        *(f"TIERS__ANONYMOUS__{name}" for name in ("LIFETIME", "DAILY", "PER_MINUTE", "USECASE_READS")),
        *(f"TIERS__CLAIMED__{name}" for name in ("MONTHLY", "DAILY", "PER_MINUTE")),
        *(f"TIERS__UPGRADED__{name}" for name in ("MONTHLY", "DAILY", "PER_MINUTE")),
    ),
    PLENTY,
)
"""So high that no limit is met: what happens at limits is tested beside this."""

LIMITS |= {"keys.scoped_per_account": "1000", "bookings.horizon_weeks": "520", "webhooks.per_account": "100"}
LIMITS["webhooks.allow_networks"] = '["127.0.0.0/8"]'

HORIZON = 520
WEEKS = [week_of(int(time.time() * 1_000)) + number * WEEK_MS for number in range(HORIZON)]
SLOTS = ["left-top", "left-bottom", "right-top", "right-bottom"]
ADDRESSES = ["https://tools.example.com/", "http://www.example.org/start?from=here#top"]
CAMPAIGN, BOOKING, KEY = "the-campaign", "the-booking", "the-key"
WEBHOOK, DELIVERY, SUBMISSION = "the-webhook", "the-delivery", "the-submission"
PLACEMENT: str = EVENT_OPERATIONS[0].example["bookingId"]
"""The document's own examples use this live placement."""

CLAIM_TOKEN = "the-claim-token"
USECASE, BOT = "chasing-late-invoices", "invoice-chaser"

DICTIONARIES = {
    "weeks": WEEKS,
    "slots": SLOTS,
    "addresses": ADDRESSES,
    "campaigns": [CAMPAIGN],
    "bookings": [BOOKING],
    "placements": [PLACEMENT],
    "keys": [KEY],
    "webhooks": [WEBHOOK],
    "deliveries": [DELIVERY],
    "submissions": [SUBMISSION],
    "claims": [CLAIM_TOKEN],
    "accounts": [SPONSOR],
    "usecases": [USECASE],
    "bots": [BOT],
}
MOSTLY = 0.75


def _drawn(**dictionaries: str) -> dict[str, Any]:
    """Parameters that mostly come from a dictionary: `place_name` for the parameter `name` of a place."""
    return {
        place.replace("_", ".", 1): {"dictionary": name, "probability": MOSTLY} for place, name in dictionaries.items()
    }


def _under(path: str, **dictionaries: str) -> dict[str, Any]:
    return {"include-path-regex": path, "parameters": _drawn(**dictionaries)}


def configuration() -> SchemathesisConfig:
    return SchemathesisConfig.from_dict(
        {
            "seed": 1,
            "base-url": "http://127.0.0.1:1",
            "dictionaries": {name: {"values": values} for name, values in DICTIONARIES.items()},
            "parameters": _drawn(
                body_weekStart="weeks",
                body_slotId="slots",
                body_campaignId="campaigns",
                body_bookingId="placements",
                body_website="addresses",
                body_targetUrl="addresses",
                body_youtubeUrl="addresses",
                body_claimToken="claims",
                query_weekStart="weeks",
            ),
            "operations": [
                _under("/campaigns/", path_id="campaigns"),
                _under("/bookings/.id", path_id="bookings"),
                _under("/slots/", path_id="slots"),
                _under("/keys/", path_id="keys"),
                _under("/webhooks/.id", path_id="webhooks", path_deliveryId="deliveries"),
                _under("/submissions/", path_id="submissions"),
                _under("/usecases/", path_slug="usecases"),
                _under("/bots/", path_slug="bots"),
                _under("/accounts/tier", body_email="accounts"),
            ],
            # Keys come with the caller. A generated or omitted key would be replaced, and the request could become valid.
            "generation": {"with-security-parameters": False},
            # A body may also be refused before it is read.
            "checks": {"negative_data_rejection": {"expected-statuses": [400, 401, 403, 404, 405, 409, 413]}},
            # Responses differ between runs, and requests must not depend on them.
            "phases": {"fuzzing": {"extra-data-sources": {"responses": False}, "error-feedback": {"enabled": False}}},
        }
    )


def schema() -> Any:
    """A copy of the document that receives the links inferred by schemathesis."""
    return schemathesis.openapi.from_dict(deepcopy(DOCUMENT), config=configuration())


PUBLIC = {"Keys", "Sign-in", "Payments", "Operation"}
"""Tags of operations that take no key."""

LEFT_OUT = [
    # Generated cursors, keys and ids are refused even if well-formed, and so are past weeks.
    checks.positive_data_acceptance
]
LEFT_OUT_OF = {
    # A retired slot is not deleted: administrators can bring it back by an edit.
    "editSlot": [checks.use_after_free],
    # Nor is a retired entry: administrators read it, and bring it back.
    **{name: [checks.use_after_free] for name in ("getStoredUseCase", "getStoredBot", "putUseCase", "putBot")},
}


LONGEST_QUERY, SHORTENED = 7_000, 200


@dataclass(slots=True)
class Target:
    """A running server, the headers of each kind of caller, and existing ids. Counts the responses of each operation."""

    url: str
    session: requests.Session
    callers: dict[str, dict[str, str]] = field(default_factory=dict)
    there: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    thoroughly: set[str] = field(default_factory=set)
    _guarded: set[str] = field(default_factory=set)

    def ask(self, method: str, path: str, caller: str, body: Any = None) -> Any:
        """A response that must be 200."""
        answer = self.session.request(
            method, f"{self.url}/api/v1{path}", headers=self.callers[caller], json=body, timeout=SECONDS
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    def call(self, case: schemathesis.Case[Any], caller: str) -> None:
        """Send a generated request as a caller, and check the response against the document."""
        self.put_real_names(case)
        name = name_of(case)
        excluded = self.excluded(name)
        if case.body is None and case.operation.definition.raw.get("requestBody", {}).get("required") is False:
            # It counts as no body. A schema that says so breaks the clients that generators make.
            excluded.append(checks.negative_data_rejection)
        response = case.call_and_validate(excluded_checks=excluded, **self.arguments(caller))
        check_code(case, response)
        self.note(name, response.status_code, caller)

    def arguments(self, caller: str) -> dict[str, Any]:
        return {"base_url": self.url, "session": self.session, "headers": self.callers[caller], "timeout": SECONDS}

    def put_real_names(self, case: schemathesis.Case[Any]) -> None:
        # A value set here counts as changed by hand, and is no longer judged by how it was generated.
        for place in ("path_parameters", "body"):
            values = getattr(case, place)
            real = self._really(values)
            if isinstance(values, dict):
                values |= real
            elif isinstance(values, str) and real != values:
                case.body = real

        if len(urlencode(dict(case.query or {}))) > LONGEST_QUERY:
            # A request line over 8 KiB is 414 before dispatch, so the document does not list it.
            case.query = {name: str(value)[:SHORTENED] for name, value in case.query.items()}

    def _really(self, value: Any) -> Any:
        """A value with its placeholders replaced, at any depth and also in JSON text."""
        if isinstance(value, dict):
            return {name: self._really(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._really(inner) for inner in value]
        if isinstance(value, str):
            return self.there.get(value) or value.replace(PLACEMENT, self.there[PLACEMENT])
        return value

    def excluded(self, name: str) -> list[Any]:
        """`ignored_auth` repeats a successful request twice without a good key. Once per operation is enough."""
        seen = [checks.ignored_auth] if name in self._guarded else []
        return [*LEFT_OUT, *LEFT_OUT_OF.get(name, ()), *seen]

    def note(self, name: str, status: int, caller: str) -> None:
        self.answers[name][status] += 1
        if status == 200 and caller != "keyless":
            self._guarded.add(name)


def check_code(case: schemathesis.Case[Any], response: Response) -> None:
    """Fail unless the document lists the code of a refusal for its status, which schemas do not tell."""
    described = case.operation.definition.raw["responses"].get(str(response.status_code), {})
    if "x-error-codes" in described:
        assert response.json()["error"] in described["x-error-codes"], f"{name_of(case)}: {response.text}"


def name_of(case: schemathesis.Case[Any]) -> str:
    name: str = case.operation.definition.raw["operationId"]
    return name


@contextmanager
def running_target() -> Iterator[Target]:
    """A server with its own embedded Postgres and with test data."""
    with tempfile.TemporaryDirectory(prefix="catalog-tests-", dir=in_memory(), ignore_cleanup_errors=True) as directory:
        # The embedded Postgres may run as another user, which needs access.
        Path(directory).chmod(0o711)
        settings = LIMITS | {"log.level": "warning", "admin.emails": BOSS}
        with serving(Path(directory) / "data", settings) as service, requests.Session() as session:
            target = Target(service.url, session)
            _introduce(target, service)
            _furnish(target)
            yield target


def _introduce(target: Target, service: Service) -> None:
    """An anonymous client, an anonymous key, an account, its scoped key, and an administrator."""
    issued = (("--email", SPONSOR), ("--email", BOSS, "--admin"))
    keys = [service.command("issue-key", *options).strip() for options in issued]
    assert all(keys), "no key was issued"
    target.callers = {"keyless": {}, "sponsor": bearer(keys[0]), "administrator": bearer(keys[1])}
    minted = target.ask("POST", "/auth/agent", "keyless")
    target.callers["anonymous"] = bearer(minted["apiKey"])
    target.there[CLAIM_TOKEN] = minted["claimToken"]
    scoped = {"name": "Reporting", "scopes": ["sponsor:read"]}
    target.callers["scoped"] = bearer(target.ask("POST", "/sponsors/keys", "sponsor", scoped)["apiKey"])


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _furnish(target: Target) -> None:
    """Slots, and an administrator's profile, campaign, booking and scoped key."""
    for slot in SLOTS:
        side = slot.partition("-")[0]
        body = {"id": slot, "name": slot, "side": side, "weekPriceCents": 12_000, "packageKind": "bundle"}
        target.ask("POST", "/admin/sponsorships/slots", "administrator", body)
    brand = {
        "name": "Example Tools",
        "website": ADDRESSES[0],
        "headline": "Ship your first agent today",
        "body": "Example Tools turns a prompt into a bot that answers your mail.",
        "slotId": SLOTS[0],
        "weekStart": WEEKS[0],
        "idempotencyKey": "00000000-0000-4000-8000-000000000001",
    }
    booking = target.ask("POST", "/sponsors/bookings/start", "administrator", brand)["booking"]
    target.there[PLACEMENT] = _shown(target, brand)
    scoped = {"name": "Spare", "scopes": ["library:read"]}
    target.there[CAMPAIGN] = booking["campaignId"]
    target.there[BOOKING] = booking["id"]
    hook = {"url": "http://127.0.0.1:1/hook", "events": ["booking.paid"]}
    target.there[WEBHOOK] = target.ask("POST", "/sponsors/webhooks", "administrator", hook)["webhook"]["id"]
    test = f"/sponsors/webhooks/{target.there[WEBHOOK]}/test"
    target.there[DELIVERY] = target.ask("POST", test, "administrator")["delivery"]["id"]
    target.there[KEY] = target.ask("POST", "/sponsors/keys", "administrator", scoped)["id"]
    entry = {
        "slug": "bin-finder",
        "name": "Bin Finder",
        "category": "Homes",
        "who": "A tenant",
        "handle": "@tenant",
        "job": "Finds bins.",
    }
    entry["templateUrl"] = "https://example.com/bins"
    proposed = {"kind": "bots", "entry": entry}
    made = target.ask("POST", "/catalog/submissions", "administrator", proposed)
    target.there[SUBMISSION] = made["submission"]["id"]


def _shown(target: Target, brand: Mapping[str, Any]) -> str:
    """A paid booking of another slot, with an approved campaign that is live now."""
    another = {"slotId": SLOTS[1], "idempotencyKey": "00000000-0000-4000-8000-000000000002"}
    booking = target.ask("POST", "/sponsors/bookings/start", "administrator", {**brand, **another})["booking"]
    review = f"/admin/sponsorships/campaigns/{booking['campaignId']}/review"
    target.ask("POST", review, "administrator", {"decision": "approve"})
    page = target.ask("POST", f"/sponsors/bookings/{booking['id']}/checkout", "administrator")["checkoutUrl"]
    assert target.session.post(page, data={"do": "pay"}, timeout=SECONDS).status_code == 200
    shown: str = booking["id"]
    return shown
