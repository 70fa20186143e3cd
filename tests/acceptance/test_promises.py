"""Histories of the real service over HTTP, recorded by the proxy: the judge finds nothing in a clean one, and names the
promise that a lying layer before the node breaks."""

import json
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import httpx

from actors.times import WEEK_MS
from tests.acceptance.prepared import REPOSITORY
from tests.acceptance.processes import START_SECONDS, Service, serving, until
from tests.api.sponsors import CAMPAIGN
from tests.judge.finding import Verdict
from tests.judge.judging import CHECKS, judge
from tests.judge.lines import read_history
from tests.judge.records import VERSION, Header, History, Operation

CAP = 6
SETTINGS = {
    **dict.fromkeys((f"tiers.anonymous.{name}" for name in ("lifetime", "daily", "usecase_reads")), CAP),
    "bookings.open_holds": 100,
    "bookings.holds_per_day": 100,
    "log.level": "warning",
}
EMAIL = "sponsor@example.com"
BOTS, EVENTS, USAGE = "/api/v1/bots?limit=1", "/api/v1/sponsors/events", "/api/v1/usage"
CAMPAIGNS, BOOKINGS = "/api/v1/sponsors/campaigns", "/api/v1/sponsors/bookings"
ADMIN = "/api/v1/admin/sponsorships"


# The lying layer.


@dataclass(slots=True)
class Answer:
    """A response of the node, to be changed before the proxy gets it."""

    asked: str
    status: int
    headers: dict[str, str]
    body: Any


Lie = Callable[[Answer, list[Any]], None]
"""Changes an answer in place. The list is what it remembers of earlier ones."""


class LyingLayer(ThreadingHTTPServer):
    """Passes requests on to a node, and changes its answers by `lie`."""

    node: httpx.Client
    lie: Lie
    memory: list[Any]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Passing(BaseHTTPRequestHandler):
    server: LyingLayer

    def log_message(self, *words: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        sent = self.rfile.read(int(self.headers.get("content-length", 0)))
        kept = {
            name: value for name, value in self.headers.items() if name.lower() not in ("connection", "accept-encoding")
        }
        got = self.server.node.request(
            self.command, self.path, headers={**kept, "accept-encoding": "identity"}, content=sent
        )
        own, status, body = dict(got.headers), got.status_code, got.content
        if "json" in own.get("content-type", ""):
            answer = Answer(f"{self.command} {self.path}", status, own, got.json())
            self.server.lie(answer, self.server.memory)
            own, status, body = answer.headers, answer.status, json.dumps(answer.body).encode()
        own["content-length"] = str(len(body))
        self.send_response_only(status)
        for name, value in own.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - the library's name


# The clients.


@dataclass(slots=True)
class Sponsor:
    """An administrator that buys weeks, and readers beside it, through one listener of the proxy."""

    http: httpx.Client
    key: str
    slot: str
    campaign: str
    weeks: Iterator[int]
    live: str = ""
    bought: list[str] = field(default_factory=list)

    def ask(self, method: str, path: str, body: Any = None, *, key: str | None = None, **headers: str) -> Any:
        """The body of a success, or of a refusal."""
        key = self.key if key is None else key
        fields = {**({"authorization": f"Bearer {key}"} if key else {}), **headers}
        answer = self.http.request(method, path, json=body, headers=fields)
        assert answer.status_code in (200, 403), answer.text
        return answer.json()

    def book(self) -> str:
        wish = {
            "campaignId": self.campaign,
            "slotId": self.slot,
            "weekStart": next(self.weeks),
            "idempotencyKey": str(uuid.uuid4()),
        }
        return str(self.ask("POST", BOOKINGS, wish)["booking"]["id"])

    def read(self, booking: str) -> Any:
        return self.ask("GET", f"{BOOKINGS}/{booking}")["booking"]

    def buy(self) -> None:
        self.pay(self.book())

    def pay(self, booking: str) -> None:
        page = urlsplit(self.ask("POST", f"{BOOKINGS}/{booking}/checkout", {})["checkoutUrl"]).path
        self.http.post(page, data={"do": "pay"})
        self.bought.append(booking)

    def view(self, visitor: str) -> None:
        self.ask("POST", EVENTS, {"bookingId": self.live, "kind": "impression", "visitorId": visitor})

    def mint(self) -> str:
        return str(self.ask("POST", "/api/v1/auth/agent", key="")["apiKey"])


def weeks_are_booked(sponsor: Sponsor) -> None:
    first = sponsor.book()
    sponsor.book()
    sponsor.read(first)


def a_request_is_repeated(sponsor: Sponsor) -> None:
    key = str(uuid.uuid4())
    for _ in range(2):
        sponsor.ask("POST", CAMPAIGNS, CAMPAIGN, **{"idempotency-key": key})


def a_key_is_used_up(sponsor: Sponsor) -> None:
    key = sponsor.mint()
    for _ in range(CAP + 1):
        sponsor.ask("GET", BOTS, key=key)


def a_key_reads_what_is_left(sponsor: Sponsor) -> None:
    key = sponsor.mint()
    sponsor.ask("GET", BOTS, key=key)
    sponsor.ask("GET", BOTS, key=key)
    sponsor.ask("GET", USAGE, key=key)


def a_visitor_comes_twice(sponsor: Sponsor) -> None:
    visitor = str(uuid.uuid4())
    sponsor.view(visitor)
    sponsor.view(visitor)


def a_count_is_read(sponsor: Sponsor) -> None:
    sponsor.view(str(uuid.uuid4()))
    sponsor.read(sponsor.live)


def a_booking_is_cancelled(sponsor: Sponsor) -> None:
    booking = sponsor.book()
    sponsor.ask("POST", f"{BOOKINGS}/{booking}/cancel", {})
    sponsor.read(booking)


def the_audit_is_read(sponsor: Sponsor) -> None:
    for _ in range(2):
        sponsor.ask("GET", f"{ADMIN}/audit?limit=10")


def documents_are_read(sponsor: Sponsor) -> None:
    sponsor.buy()
    for booking in sponsor.bought * 2:
        sponsor.read(booking)
        sponsor.ask("GET", f"{BOOKINGS}/{booking}/invoice")
        sponsor.read(booking)


# The lies.


def two_owners(answer: Answer, seen: list[Any]) -> None:
    if answer.asked == f"POST {BOOKINGS}":
        seen.append(answer.body["booking"])
    elif len(seen) == 2:
        answer.body["booking"] |= {name: seen[1][name] for name in ("weekStart", "weekEnd")}


def another_outcome(answer: Answer, seen: list[Any]) -> None:
    seen.append(answer)
    if len(seen) == 2:
        answer.body["campaign"]["id"] += "x"


def beyond_the_cap(answer: Answer, seen: list[Any]) -> None:
    if answer.status == 200:
        seen.append(answer)
    else:
        answer.status, answer.headers, answer.body = seen[-1].status, seen[-1].headers, seen[-1].body


def one_more_left(answer: Answer, seen: list[Any]) -> None:
    if "ratelimit" in answer.headers:
        told = answer.headers["ratelimit"]
        answer.headers["ratelimit"] = told.replace(f'"lifetime";r={CAP - 2}', f'"lifetime";r={CAP - 1}')


def recorded_twice(answer: Answer, seen: list[Any]) -> None:
    answer.body["recorded"] = True
    answer.headers.pop("x-event-dropped", None)


def one_less(answer: Answer, seen: list[Any]) -> None:
    if answer.asked.startswith(f"GET {BOOKINGS}"):
        answer.body["booking"]["impressions"] -= 1


def reserved_again(answer: Answer, seen: list[Any]) -> None:
    if answer.asked.startswith(f"GET {BOOKINGS}"):
        answer.body["booking"]["status"] = "reserved"


def a_record_less(answer: Answer, seen: list[Any]) -> None:
    seen.append(answer)
    if len(seen) == 2:
        del answer.body["items"][3]


def a_missing_number(answer: Answer, seen: list[Any]) -> None:
    for document in answer.body.get("invoices", ()):
        document["number"] = document["number"].replace("000002", "000003")


PLANTED: Sequence[tuple[Callable[[Sponsor], None], Lie]] = [
    (weeks_are_booked, two_owners),
    (a_request_is_repeated, another_outcome),
    (a_key_is_used_up, beyond_the_cap),
    (a_key_reads_what_is_left, one_more_left),
    (a_visitor_comes_twice, recorded_twice),
    (a_count_is_read, one_less),
    (a_booking_is_cancelled, reserved_again),
    (the_audit_is_read, a_record_less),
    (documents_are_read, a_missing_number),
]
"""A workload for each promise, and a lie that breaks it."""


# The test.


@contextmanager
def recording(file: Path, *nodes: str) -> Iterator[list[str]]:
    """The proxy in front of nodes. Yields the addresses of its listeners."""
    options = [word for node in nodes for word in ("--to", node)]
    command = [sys.executable, "-m", "tests.judge.proxy", *options, "--record", str(file), "--whole", "--fresh"]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield [re.findall(r"http://\S+", process.stdout.readline())[0] for _ in nodes]
        finally:
            process.terminate()
            assert process.wait(START_SECONDS) == 0
            assert "operations are in" in process.stdout.read()


@contextmanager
def lying() -> Iterator[LyingLayer]:
    with LyingLayer(("127.0.0.1", 0), _Passing) as layer:
        thread = Thread(target=layer.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield layer
        finally:
            layer.shutdown()
            thread.join()


def sponsor_of(service: Service, http: httpx.Client) -> Sponsor:
    """An administrator with a slot, and a booking of the current week whose campaign is approved."""
    service.command("grant-admin", EMAIL)
    key = service.command("issue-key", "--email", EMAIL, "--admin").split()[-1]
    sponsor = Sponsor(http, key, "left-hero", "", iter(()))
    sponsor.ask("GET", USAGE)
    slot = {"id": sponsor.slot, "name": "Left, hero", "side": "left", "weekPriceCents": 12_000}
    sponsor.ask("POST", f"{ADMIN}/slots", slot)
    week = sponsor.ask("GET", "/api/v1/sponsors/inventory")["weekStart"]
    sponsor.weeks = count(week + WEEK_MS, WEEK_MS)
    wish = {"name": "Example Tools", "website": "https://tools.example.com/", "headline": CAMPAIGN["headline"]}
    wish["body"] = CAMPAIGN["body"]
    wish |= {"slotId": sponsor.slot, "weekStart": week, "idempotencyKey": str(uuid.uuid4())}
    booking = sponsor.ask("POST", f"{BOOKINGS}/start", wish)["booking"]
    sponsor.campaign, sponsor.live = booking["campaignId"], booking["id"]
    sponsor.pay(sponsor.live)
    sponsor.ask("POST", f"{ADMIN}/campaigns/{sponsor.campaign}/review", {"decision": "approve"})
    until(lambda: sponsor.live in http.get("/api/v1/sponsors/placements").text, what="the placement")
    return sponsor


def test_each_broken_promise_is_named_and_none_of_a_service_that_keeps_them(data_dir: Path) -> None:
    """The lying layer stands between two listeners of the proxy, so that each workload is recorded with its true answers and
    with those that the lie changed."""
    file, runs = data_dir.with_name("history.jsonl"), dict[str, range]()
    with serving(data_dir, SETTINGS) as service, lying() as layer:
        service.command("seed-demo", "--remove")
        with recording(file, service.url, layer.url) as (true, lied), client_of(true) as layer.node:
            sponsor = sponsor_of(service, layer.node)
            with client_of(lied) as sponsor.http:
                for promise, (workload, lie) in zip(CHECKS, PLANTED, strict=True):
                    began, layer.lie, layer.memory = len(operations_in(file)), lie, []
                    workload(sponsor)
                    runs[promise] = range(began, len(operations_in(file)))
    operations, lies = operations_in(file), layer.url.removeprefix("http://")
    verdicts = judged([each for each in operations if each.node != lies])
    assert {promise: each.broken for promise, each in verdicts.items() if each.broken} == {}
    assert [promise for promise, each in verdicts.items() if not each.judged] == []
    for promise, run in runs.items():
        # Up to the end of its run: true answers of later ones would contradict the lie, which breaks other promises, too.
        told = enumerate(operations[: run.stop])
        verdicts = judged([each for at, each in told if (each.node == lies) == (at in run)])
        assert [promise for promise, each in verdicts.items() if each.broken] == [promise]


def operations_in(file: Path) -> Sequence[Operation]:
    with file.open("rb") as stream:
        return read_history(stream).operations


def judged(operations: Sequence[Operation]) -> Mapping[str, Verdict]:
    return judge(History(Header(VERSION, whole=True, fresh=True), operations))


def client_of(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, trust_env=False, timeout=15.0)
