"""The walks of people from the front page to their last step share these browsers and helpers."""

import re
from itertools import count
from typing import Any

from playwright.sync_api import ViewportSize

from tests.acceptance.postgres import ask
from tests.acceptance.processes import Service
from tests.browser.people import DESKTOP, PHONE, Person
from tests.slow import SLOW

NUMBERS = count(1)
"""A number for each walk, so that walks share a node without meeting."""

Way = tuple[ViewportSize, bool]

WAYS: list[Way] = [(PHONE, False), *([(DESKTOP, True)] if SLOW else [])]
"""The size of the window, and whether scripts run: the narrowest without, and in `make thorough` the widest with them."""

WEEK_MS = 7 * 24 * 3_600_000


def way_id(value: object) -> str:
    """The name of a way in the names of tests."""
    return str(value["width"]) if isinstance(value, dict) else "scripts" if value else "no-scripts"


def fits(person: Person) -> None:
    """The page needs no scrolling sideways once its styles are there, and `axe-core` finds nothing serious in it."""
    person.fits()


class Sponsor:
    """A sponsor who uses the API."""

    def __init__(self, node: Service, person: Person, email: str, brand: str = "") -> None:
        self.node, self.person, self.email = node, person, email
        self.brand = brand or f"Brand {email.partition('@')[0]}"
        self._headers = {"authorization": f"Bearer {node.command('issue-key', '--email', email).strip()}"}
        self.sends("PATCH", "profile", {"name": self.brand, "website": "https://tools.example.com/"})

    def sends(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.person.context.request.fetch(
            f"/api/v1/sponsors/{path}", method=method, headers=self._headers, data=body
        )
        assert answer.ok, answer.text()
        return answer.json()

    def submits(self, name: str) -> str:
        """The id of a campaign."""
        words = {"headline": f"{name}, your ledger", "body": "Balances every evening.", "cta": "See how"}
        body = {"name": name, **words, "targetUrl": "https://tools.example.com/start", "logoText": "LE"}
        return str(self.sends("POST", "campaigns", body)["campaign"]["id"])

    def pays(self, campaign: str, slot: str, number: int) -> str:
        """Book and pay this week of a slot; returns the booking's id."""
        week = self.person.context.request.get("/api/v1/sponsors/inventory").json()["weekStart"]
        key = f"00000000-0000-4000-8000-{number:012d}"
        body = {"campaignId": campaign, "slotId": slot, "weekStart": week, "idempotencyKey": key}
        booking = str(self.sends("POST", "bookings", body)["booking"]["id"])
        opened = self.sends("POST", f"bookings/{booking}/checkout")
        form = {"do": "pay", "terms": opened.get("termsVersion", "")}
        paid = self.person.context.request.post(opened["checkoutUrl"], form=form, headers={"origin": self.node.url})
        assert paid.ok, paid.text()
        return booking

    def booking(self, booking: str) -> Any:
        return self.sends("GET", f"bookings/{booking}")["booking"]


def makes_slots(node: Service, *names: str) -> None:
    """Sell these slots, whose ids are their names."""
    for name in names:
        makes_slot(node, name, name)


def makes_slot(node: Service, slot_id: str, name: str, weeks: int = 1) -> None:
    """Sell a slot by so many weeks."""
    told = ("--id", slot_id, "--name", name, "--side", "left", "--week-price-cents", "2500", "--weeks", str(weeks))
    node.command("create-slot", *told)


def decides(admin: Person, path: str, **body: str) -> None:
    """Do an operation of administrators with the session of an administrator."""
    ours = {"origin": admin.node.url}
    sent = admin.context.request.post(f"/api/v1/admin/sponsorships/{path}", data=body, headers=ours)
    assert sent.ok, sent.text()


def reports(visitor: Person, booking: str, kind: str) -> None:
    """Report an event of a placement, as the script of a page that shows it does."""
    event = {"bookingId": booking, "kind": kind, "visitorId": "5b7d4e90-a1c6-4d9e-8f7b-6a543f2a8c1e"}
    assert visitor.context.request.post("/api/v1/sponsors/events", data=event).json() == {"recorded": True}


def ends(node: Service, booking: str, weeks: int = 1) -> None:
    """Move a booking that began this week, with what was counted for it, so many weeks into the past."""
    ms = weeks * WEEK_MS
    moved = ", ".join(f"{at} = {at} - {ms}" for at in ("week_start_ms", "created_ms", "paid_ms", "next_step_ms"))
    ask(
        node.sockets,
        f"update slot_weeks set week_ms = week_ms - {ms} where booking_id = '{booking}'",
        f"update event_counts set day = day - {7 * weeks} "
        f"where booking = (select number from event_bookings where id = '{booking}')",
        f"update bookings set {moved} where id = '{booking}'",
    )


def link_in_mail(node: Service, email: str, page: str) -> str:
    """The address of a page in the newest mail to an email that has one."""
    for to, text in re.findall(
        r"<dt>To</dt>\s*<dd>(.*?)</dd>.*?<pre[^>]*><code>(.*?)</code></pre>", node.get("/dev/outbox").text, re.DOTALL
    ):
        if to == email and (address := re.search(rf"/{page}/lnk_[\w-]+", text)):
            return address[0]
    raise AssertionError(f"no mail to {email} links to /{page}")


def counts(node: Service, booking_id: str) -> tuple[int, int]:
    """The impressions and clicks of a booking, as its sponsor sees them."""
    [row] = ask(
        node.sockets,
        "select coalesce(sum(impressions), 0)::int as impressions, coalesce(sum(clicks), 0)::int as clicks "
        f"from deliveries where booking_id = '{booking_id}'",
    )
    return row["impressions"], row["clicks"]
