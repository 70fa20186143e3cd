"""The pages to look at, the people who look, and what the demo lacks for that.

`tests/browser/test_pages.py` opens each look, and `tests/pages` measures and photographs them.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser

from actors.times import WEEK_MS
from service.web.pages.parts.page import Audience
from service.web.pages.table import PAGES
from tests.acceptance.processes import Service, until
from tests.api.oauth import VERIFIER, challenge_of
from tests.browser.conftest import ADMIN
from tests.browser.people import Person
from tests.browser.walking import Sponsor, counts, decides, ends, makes_slot, reports

ACCOUNT = "demo-sponsor@example.com"
EVERYBODY = ("visitor", "account", "administrator")
WHO = {Audience.ANYBODY: EVERYBODY, Audience.ACCOUNT: EVERYBODY[1:], Audience.ADMIN: EVERYBODY[2:]}


@dataclass(frozen=True, slots=True)
class Look:
    """A page at an address. `who` are those who look, where that is not everybody who may; `pressed` is the button that
    leads on to what is looked at; and `alike` names parts that are like others before them, which axe-core leaves out."""

    name: str
    path: str
    address: str = ""
    who: tuple[str, ...] = ()
    status: int = 200
    pressed: str = ""
    alike: str = ""


LOOKS = (
    Look("home", "/"),
    Look("embed", "/embed", "/embed?side=&look=warm&label=Anzeige", ("visitor",)),
    Look("embed-light", "/embed", "/embed?site=blog.example.com", ("visitor",)),
    Look("usecases", "/usecases"),
    Look("usecases-none", "/usecases", "/usecases?q=zeppelins", ("visitor",)),
    Look("usecases-most", "/usecases", "/usecases?q=invioce+zeppelins&category=Finance", ("visitor",)),
    Look("usecase", "/usecases/{slug}", "/usecases/USECASE"),
    Look("bots", "/bots"),
    Look("bot", "/bots/{slug}", "/bots/BOT"),
    Look("advertise", "/advertise"),
    Look("advertise-sample", "/advertise/sample-report", who=("visitor",)),
    Look("changelog", "/changelog", who=("visitor",)),
    Look("status", "/status", who=("visitor",)),
    Look("claim", "/claim", "/claim#clm_0123456789"),
    Look("claim-form", "/claim/form"),
    Look("sign-in", "/sign-in", who=("visitor",)),
    Look("sign-in-link", "/sign-in/link", "/sign-in/link?token=unknown", ("visitor",)),
    Look("end", "/end/{token}", "END"),
    Look("end-unknown", "/end/{token}", "/end/unknown", ("visitor",), status=404),
    Look("unsubscribe", "/unsubscribe/{token}", "STOP"),
    Look("sign-out", "/sign-out", who=("account",)),
    Look("checkout", "/checkout/{token}", "CHECKOUT"),
    Look("receipt", "/receipt/{token}", "RECEIPT"),
    Look("checkout-cancelled", "/checkout-cancelled"),
    Look("outbox", "/dev/outbox"),
    Look("components", "/dev/components", who=("visitor",)),
    Look("device", "/device"),
    Look("authorize", "/oauth/authorize", "/oauth/authorize?AUTHORIZE", ("account",)),
    Look(
        "authorize-refused",
        "/oauth/authorize",
        "/oauth/authorize?AUTHORIZE&response_type=token",
        ("account",),
        status=400,
    ),
    Look("device-asked", "/device", "/device?user_code=DEVICE", ("account",), pressed="Continue"),
    Look("dashboard", "/dashboard"),
    Look("security", "/dashboard/security"),
    Look("settings", "/dashboard/settings"),
    Look("key", "/dashboard/keys/{id}", "/dashboard/keys/KEY", ("account",)),
    Look("account-delete", "/account/delete"),
    Look("submissions", "/submissions", who=("account",)),
    Look("submission-new", "/submissions/new"),
    Look("submission-new-bot", "/submissions/new", "/submissions/new?kind=bots", ("account",)),
    Look("submission-edit", "/submissions/new", "/submissions/new?kind=usecases&slug=USECASE", ("account",)),
    Look("sponsor", "/sponsor"),
    Look("sponsor-profile", "/sponsor/profile"),
    Look("sponsor-inventory", "/sponsor/inventory"),
    Look("sponsor-book", "/sponsor/book", "/sponsor/book?slotId=demo-left-top"),
    Look("sponsor-campaigns", "/sponsor/campaigns"),
    Look("sponsor-campaign-new", "/sponsor/campaigns/new"),
    Look("sponsor-campaign", "/sponsor/campaigns/{id}", "/sponsor/campaigns/demo-campaign-receipts", ("account",)),
    Look("sponsor-bookings", "/sponsor/bookings"),
    Look("sponsor-booking", "/sponsor/bookings/{id}", "/sponsor/bookings/PAID", ("account",)),
    Look("sponsor-booking-held", "/sponsor/bookings/{id}", "/sponsor/bookings/HELD", ("account",)),
    Look("sponsor-booking-rejected", "/sponsor/bookings/{id}", "/sponsor/bookings/REJECTED", ("sponsor",)),
    Look("sponsor-booking-asked", "/sponsor/bookings/{id}", "/sponsor/bookings/ASKED", ("sponsor",)),
    Look("sponsor-booking-ended", "/sponsor/bookings/{id}", "/sponsor/bookings/ENDED", ("sponsor",)),
    Look("sponsor-campaign-edited", "/sponsor/campaigns/{id}", "/sponsor/campaigns/EDITED", ("sponsor",)),
    Look("sponsor-invoice", "/sponsor/bookings/{id}/invoice", "/sponsor/bookings/ENDED/invoice", ("sponsor",)),
    Look("sponsor-invoices", "/sponsor/invoices", who=("sponsor", "account")),
    Look("sponsor-webhooks", "/sponsor/webhooks"),
    Look("sponsor-webhook", "/sponsor/webhooks/{id}", "/sponsor/webhooks/WEBHOOK", ("account",)),
    Look("sponsor-reports", "/sponsor/reports"),
    Look("sponsor-report-shared", "/shared/{token}", "SHARED"),
    Look("sponsor-reports-by", "/sponsor/reports", "/sponsor/reports?by=booking", ("account",)),
    Look("sponsor-report", "/sponsor/bookings/{id}/report", "/sponsor/bookings/PAID/report", ("account",)),
    Look("admin", "/admin"),
    Look("admin-reviews", "/admin/reviews"),
    Look("admin-submissions", "/admin/submissions"),
    Look("admin-bookings", "/admin/bookings"),
    Look("admin-booking", "/admin/bookings/{id}", "/admin/bookings/PAID"),
    Look("admin-booking-asked", "/admin/bookings/{id}", "/admin/bookings/ASKED"),
    Look("admin-bookings-refused", "/admin/bookings", "/admin/bookings?week=0001-01-01&status=live", status=400),
    Look("admin-usecases", "/admin/usecases"),
    Look("admin-bots", "/admin/bots"),
    Look("admin-usecase-new", "/admin/new-usecase"),
    Look("admin-bot-new", "/admin/new-bot"),
    Look("admin-usecase", "/admin/usecases/{slug}", "/admin/usecases/chasing-late-invoices"),
    Look("admin-bot", "/admin/bots/{slug}", "/admin/bots/invoice-chaser"),
    Look("admin-slots", "/admin/slots"),
    Look("admin-slot-new", "/admin/slots/new"),
    Look("admin-slot", "/admin/slots/{id}", "/admin/slots/demo-left-top"),
    Look("admin-sponsors", "/admin/sponsors"),
    Look("admin-sites", "/admin/sites"),
    Look("admin-accounts", "/admin/accounts"),
    Look("admin-account", "/admin/accounts/{id}", "/admin/accounts/ACCOUNT"),
    Look("admin-revenue", "/admin/revenue"),
    Look("admin-audit", "/admin/audit"),
    Look("ops", "/ops"),
    Look("reference", "/docs", who=("visitor",), alike=".chapters section ~ section, tr ~ tr"),
    Look("reference-found", "/docs", "/docs?q=refund", ("visitor",)),
    Look("reference-group", "/docs", "/docs/bookings", ("visitor",), alike=".contents details:not([open])"),
    Look("reference-operation", "/docs", "/docs/createBooking", ("visitor",), alike=".contents details:not([open])"),
    Look(
        *("reference-run", "/docs", "/docs/listBookings?run=1&limit=1", ("account",)),
        alike=".contents details:not([open])",
    ),
    Look("not-found", "/nothing", who=("visitor",), status=404),
    Look("forbidden", "/admin", who=("account",), status=403),
)
NO_PAGES = {"/docs", "/nothing"}
"""Paths of looks that are not in the table of pages."""


def lookers(look: Look) -> tuple[str, ...]:
    return look.who or WHO[next(page.who for page in PAGES if page.path == look.path)]


@contextmanager
def everybody(browser: Browser, node: Service, **options: Any) -> Iterator[dict[str, Person]]:
    """One person of each kind. `placeholders` signs the sponsor in."""
    met = {who: Person(browser, node, color_scheme="light", **options) for who in (*EVERYBODY, "sponsor")}
    met["account"].comes(ACCOUNT, "/dashboard")
    met["administrator"].comes(ADMIN, "/dashboard")
    yield met
    for person in met.values():
        person.context.close()


def address_of(look: Look, found: Mapping[str, str]) -> str:
    """The address of a look on this node."""
    return re.sub(r"[A-Z]{3,}", lambda word: found[word[0]], look.address or look.path)


def placeholders(node: Service, people: Mapping[str, Person]) -> dict[str, str]:
    """Creates what the demo lacks. Returns the ids that only the service knows, by their placeholder in a look."""
    key = node.command("issue-key", "--email", ACCOUNT).strip()

    def get(path: str) -> Any:
        answer = node.get(f"/api/v1/{path}", key)
        assert answer.status_code == 200, answer.text
        return answer.json()

    bookings = get("sponsors/bookings")["items"]
    paid = max((each for each in bookings if each["status"] == "paid"), key=lambda each: each["impressions"])
    held = next(each for each in bookings if "heldUntil" in each)
    receipt = get(f"sponsors/bookings/{paid['id']}")["receipt"]["url"]
    again = node.http.post(
        f"/api/v1/sponsors/bookings/{held['id']}/checkout", headers={"authorization": f"Bearer {key}"}
    )
    assert again.status_code == 200, again.text
    hooked = node.http.post(
        "/api/v1/sponsors/webhooks",
        headers={"authorization": f"Bearer {key}"},
        json={"url": "https://tools.example.com/hook", "events": ["booking.paid"]},
    )
    assert hooked.status_code == 200, hooked.text
    webhook = hooked.json()["webhook"]["id"]
    tested = node.http.post(f"/api/v1/sponsors/webhooks/{webhook}/test", headers={"authorization": f"Bearer {key}"})
    assert tested.status_code == 200, tested.text
    proposes(node, key)
    return in_their_states(node, people["sponsor"], people["administrator"]) | {
        "WEBHOOK": webhook,
        "KEY": people["account"].context.request.get(f"{node.url}/api/v1/account/keys").json()["items"][0]["id"],
        "USECASE": get("usecases?limit=1")["data"][0]["slug"],
        "ACCOUNT": get("usage")["tenantId"],
        "BOT": get("bots?limit=1")["data"][0]["slug"],
        "PAID": paid["id"],
        "HELD": held["id"],
        "RECEIPT": receipt.removeprefix(node.url),
        "SHARED": _shared_report(node, people["account"]),
        "CHECKOUT": again.json()["checkoutUrl"].removeprefix(node.url),
        "END": _link(node, "end"),
        "STOP": _stop_link(node, key),
        "AUTHORIZE": authorization(node),
        "DEVICE": node.post("/api/v1/auth/device", {"client_id": "terminal"}).json()["user_code"],
    }


def authorization(node: Service, redirect_uri: str = "https://agent.example.com/oauth/callback") -> str:
    """The request of a program that is registered for a redirect URI."""
    registration = {"client_name": "Research agent", "redirect_uris": [redirect_uri]}
    client = node.post("/oauth/register", registration).json()
    return urlencode(
        {
            "response_type": "code",
            "client_id": client["client_id"],
            "redirect_uri": redirect_uri,
            "scope": "library:read sponsor:read",
            "state": "a state",
            "code_challenge": challenge_of(VERIFIER),
            "code_challenge_method": "S256",
            "resource": f"{node.url}/mcp",
        }
    )


def _shared_report(node: Service, person: Person) -> str:
    """The link to a report of an account, with what it costs."""
    ours = {"origin": node.url}
    made = person.context.request.post(
        f"{node.url}/sponsor/reports", form={"do": "share", "costs": "yes"}, headers=ours
    )
    found = re.search(r"/shared/rpt_\w+", made.text().replace("<wbr>", ""))
    assert found is not None, made.text()
    return found[0]


def in_their_states(node: Service, person: Person, admin: Person) -> dict[str, str]:
    """Bookings of a sponsor in the states that the demo lacks, and a campaign whose edit waits."""
    makes_slot(node, "front-page", "Front page")
    makes_slot(node, "archive-margin", "Archive, margin")
    makes_slot(node, "guides-top", "Guides, top", weeks=2)
    sponsor = Sponsor(node, person, "evening@example.com", "Evening Ledger")
    bad, good = sponsor.submits("Ledger for two"), sponsor.submits("Evening balances")
    rejected = sponsor.pays(bad, "front-page", 9_001)
    asked = sponsor.pays(good, "archive-margin", 9_002)
    ended = sponsor.pays(good, "guides-top", 9_003)
    decides(admin, f"campaigns/{bad}/review", decision="reject", note="Say what the product does.")
    decides(admin, f"campaigns/{good}/review", decision="approve")
    sponsor.sends("PATCH", f"campaigns/{good}", {"headline": "A ledger that everybody reads"})
    sponsor.sends("POST", f"bookings/{asked}/refund-request", {"reason": "The week was booked by mistake."})
    until(lambda: ended in node.get("/api/v1/sponsors/placements").text, what="the placement")
    reports(person, ended, "impression")
    until(lambda: counts(node, ended) == (1, 0), what="the impression")
    ends(node, ended, weeks=2)
    until(lambda: sponsor.booking(ended)["status"] == "refunded", what="the refund of a week")
    person.comes(sponsor.email, "/sponsor")
    return {"REJECTED": rejected, "ASKED": asked, "ENDED": ended, "EDITED": good}


def proposes(node: Service, key: str) -> None:
    """Submissions that wait: a new entry, an edit, and one that is outdated; and one that was accepted."""
    headers, path = {"authorization": f"Bearer {key}"}, "/api/v1/catalog/submissions"
    admin = {"authorization": f"Bearer {node.command('issue-key', '--email', ADMIN, '--admin').strip()}"}

    def send(to: str, body: Any, by: Mapping[str, str]) -> Any:
        answer = node.http.post(to, json=body, headers=by)
        assert answer.status_code == 200, answer.text
        return answer.json()["submission"]

    cases, bots = (node.get(f"/api/v1/{kind}?limit=2").json()["data"] for kind in ("usecases", "bots"))
    new = {"slug": "parcel-tracker", "name": "Parcel tracker", "category": "Logistics", "who": "Clerk of a small shop"}
    new |= {"handle": "@sample-clerk", "job": "Follows parcels, and writes to customers whose parcel is late."}
    send(path, {"kind": "bots", "entry": new | {"templateUrl": "https://bots.example.com/parcels"}}, headers)
    send(
        path,
        {"kind": "usecases", "slug": cases[0]["slug"], "entry": cases[0] | {"roi": "Three hours a week."}},
        headers,
    )
    both = [
        {"kind": "bots", "slug": bots[0]["slug"], "entry": bots[0] | {"name": name}} for name in ("Old", "Newer name")
    ]
    send(path, both[0], headers)
    accepted = send(path, both[1], headers)
    waiting = node.http.get("/api/v1/admin/catalog/submissions?status=pending", headers=admin).json()["items"]
    [seen] = [each["version"] for each in waiting if each["id"] == accepted["id"]]
    review = {"decision": "accept", "note": "Thank you.", "seen": seen}
    send(f"/api/v1/admin/catalog/submissions/{accepted['id']}/review", review, admin)


def _link(node: Service, page: str) -> str:
    """The address of a page in the newest mail that has one."""
    address = re.search(rf"/{page}/lnk_[\w-]+", node.get("/dev/outbox").text)
    assert address
    return address[0]


def _stop_link(node: Service, key: str) -> str:
    """The address in the mail about a week that is held."""
    headers = {"authorization": f"Bearer {key}"}
    week = node.get("/api/v1/sponsors/inventory").json()["weekStart"] + 20 * WEEK_MS
    wanted = {"campaignId": "demo-campaign-receipts", "slotId": "demo-left-top", "weekStart": week}
    body = wanted | {"idempotencyKey": "3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a54"}
    held = node.http.post("/api/v1/sponsors/bookings", json=body, headers=headers)
    assert held.status_code == 200, held.text
    node.http.post(f"/api/v1/sponsors/bookings/{held.json()['booking']['id']}/cancel", headers=headers)
    return _link(node, "unsubscribe")
