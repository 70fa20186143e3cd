"""The initial data: slots, sponsors with approved campaigns, and visible placements."""

from typing import Any

import httpx

from tests.acceptance.processes import Service
from tests.chaos.history import Answers
from tests.chaos.sponsors import Account
from tests.chaos.stage import PROBED

ACCOUNTS = 3
SLOTS = tuple(f"chaos-{number}" for number in range(12))
CAMPAIGN = {
    "name": "Chaos",
    "headline": "All goes wrong",
    "body": "And nothing is lost.",
    "cta": "Go",
    "targetUrl": "https://example.com/",
    "logoText": "C",
}


def sponsored(service: Service, answers: Answers) -> tuple[list[str], list[Account]]:
    """Return the bookings that the demo shows, and create accounts that may book."""
    emails = [f"sponsor-{number}@example.com" for number in range(ACCOUNTS)]
    service.command("grant-admin", emails[0])
    keys = [service.command("issue-key", "--email", emails[0], "--admin").strip()]
    keys += [service.command("issue-key", "--email", email).strip() for email in emails[1:]]
    with httpx.Client(base_url=service.url, trust_env=False, timeout=30.0) as http:
        for slot in (*SLOTS, PROBED):
            made = {"id": slot, "name": slot, "side": "left", "weekPriceCents": 1_000}
            _sent(http, keys[0], "POST", "/api/v1/admin/sponsorships/slots", made)
        accounts = [_account(http, key, number) for number, key in enumerate(keys)]
        placements = _sent(http, None, "GET", "/api/v1/sponsors/placements")["placements"]
    assert placements, "the demo has placements"
    return [each["bookingId"] for each in placements], accounts


def _account(http: httpx.Client, key: str, number: int) -> Account:
    profile = {"name": f"Example {number}", "website": "https://sponsor.example.com/"}
    _sent(http, key, "PATCH", "/api/v1/sponsors/profile", profile)
    campaign = _sent(http, key, "POST", "/api/v1/sponsors/campaigns", CAMPAIGN)["campaign"]["id"]
    return Account(key, _sent(http, key, "GET", "/api/v1/usage")["tenantId"], campaign)


def _sent(http: httpx.Client, key: str | None, method: str, path: str, body: object = None) -> Any:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    answer = http.request(method, path, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()
