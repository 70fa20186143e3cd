"""The judge of a run, without processes: it finds what no answer shows, and the judge of histories finds the rest."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace

import pytest

from actors.events.messages import Event, Kind
from actors.events.state import SECRET_BYTES, VisitorHasher, visitor_of_day
from tests.chaos.campaign import complaints
from tests.chaos.cores import USUAL_SECONDS, lacked, slowness
from tests.chaos.history import (
    LOST,
    OTHER,
    Answers,
    Booked,
    Happened,
    Key,
    Made,
    Request,
    Span,
    Stored,
    Waits,
    Wish,
)
from tests.chaos.judge import Verdict, judge
from tests.chaos.websites import by_device, unit_of

DAY, WEEK_MS = 20_775, 7 * 86_400_000
DAYS = range(DAY, DAY + 1)
SEALS = VisitorHasher(b"the secret that visitors are hashed with")
SECRETS = {DAY: bytes(SECRET_BYTES)}
SEEN = [Event("bok_live", Kind.IMPRESSION, f"00000000-0000-4000-8000-{number:012d}") for number in range(6)]
BY_DAY = Event("bok_day", Kind.CLICK, visitor_of_day("127.0.0.1", f"website/{SEEN[1].visitor}"))
CLICK = Event("bok_live", Kind.CLICK, SEEN[0].visitor)
ANON, CLAIMED, DEVICE = "cs_anon_one", "cs_anon_two", "cs_user_three"
WISHES = [Wish("ten_1", f"key-{number}", "cmp_1", "slot-1", number * WEEK_MS) for number in range(3)]
ASKED = {
    "website": ("report", "report a batch"),
    "agent": ("mint", "spend"),
    "sponsor": ("reserve",),
    "reader": ("search",),
}


def row_of(event: Event) -> bytes:
    SEALS.learn(SECRETS, first_day=DAY)
    return SEALS.key(DAY, event, unit_of(event))


@dataclass(slots=True)
class Story:
    """A history: what was answers, what happened, and what is stored."""

    answers: Answers = field(default_factory=Answers)
    happened: Happened = field(default_factory=Happened)
    after: Stored = field(default_factory=Stored)

    def request(self, began: float, ended: float, outcome: str = "200", node: int = 0) -> None:
        self.answers.note(Request("website", "report", node, began, ended, outcome))

    def keep(self, event: Event) -> None:
        """Add a row and its count."""
        self.after.rows[row_of(event)] = (event.booking_id, DAY, event.kind)
        self.after.counts[event.booking_id, DAY, event.kind] += 1
        self.after.site_counts[event.booking_id, DAY, event.kind, self.answers.events.get(event, OTHER)] += 1

    def book(self, number: int, wish: Wish, status: str) -> None:
        """Add a stored booking with its week and its key."""
        name = f"bok_{number}"
        self.after.bookings[name] = Booked(name, wish.account, wish.campaign, wish.slot, wish.week_ms, 1, status)
        self.after.booking_keys.append((wish.account, wish.idempotency_key, name))
        if status in ("reserved", "checkout", "paid"):
            self.after.slot_weeks.append((wish.slot, wish.week_ms, name))

    def rebook(self, name: str, **change: object) -> None:
        self.after.bookings[name] = replace(self.after.bookings[name], **change)  # type: ignore[arg-type]

    def verdict(self) -> Verdict:
        return judge(self.answers, self.happened, self.after, SEALS, DAYS, ASKED)


def good() -> Story:
    """Return a run with all planned faults and no broken promise."""
    story = Story()
    for client, asked in ASKED.items():
        for what in asked:
            story.answers.note(Request(client, what, 0, 0.0, 0.1, "200"))
            story.answers.note(Request(client, what, 0, 1.0, 1.1, "503 service_unavailable"))
    story.happened.planned.update({"a kill": 2, "a cut": 1})
    for kind, hit, began in (("a kill", 1, 10.0), ("a cut", 4, 20.0), ("a kill", 0, 30.0)):
        story.happened.faults.append(Made(kind, began, began + 2, hit, (0.5, 2.9)))
    story.happened.down += [Span(0, 10.0, 12.0), Span(1, 30.0, 32.0)]
    story.happened.frozen.append(Span(1, 50.0, 54.0))
    story.happened.exits += [(0, 0), (1, 0)]
    story.request(9.9, 10.1, LOST)
    story.request(40.0, 42.9)
    story.request(49.0, 56.0, node=1)
    story.answers.events.update(dict.fromkeys([*SEEN, BY_DAY], OTHER) | {CLICK: "one.example.com"})
    story.after.secrets = SECRETS
    for event in (*SEEN[:3], CLICK, BY_DAY):
        story.keep(event)
    story.answers.keys = {
        ANON: Key(ANON),
        CLAIMED: Key(CLAIMED, email="a@example.com", claimed=True, owner="a@example.com"),
        DEVICE: Key(DEVICE, email="b@example.com", claimed=True, owner="b@example.com"),
    }
    story.answers.wishes.update(WISHES)
    for number, (wish, status) in enumerate(zip(WISHES, ("reserved", "paid", "cancelled"), strict=True)):
        story.book(number, wish, status)
    story.answers.paid |= {"bok_1", "bok_3"}
    story.book(3, again := replace(WISHES[0], idempotency_key="key-3", week_ms=3 * WEEK_MS), "refunded")
    story.answers.wishes.add(again)
    story.answers.asked_back.add("bok_1")
    story.answers.requested.append("bok_1")
    story.answers.refunded.add("bok_3")
    story.answers.approved["cmp_1"] = {"All goes wrong", "Edit 1"}
    story.answers.visible.append(("cmp_1", "All goes wrong"))
    story.after.audits = {"aud_2": ("booking.paid", "bok_1"), "aud_3": ("booking.refund_requested", "bok_1")}
    story.after.mails = {"msg_2_o": "booking_receipt", "msg_3_o": "refund_requested", "msg_3_a_1": "refund_to_decide"}
    story.after.ads["cmp_1"] = "Edit 1"
    return story


Bug = Callable[[Story], object]


def without_waits(story: Story) -> None:
    story.request(100.0, 105.2)


def barely_starved(story: Story) -> None:
    """Half a second without a core does not excuse a second."""
    story.request(100.0, 106.0)
    story.happened.waits[0] = Waits([99.0, 103.0, 107.0], [0.0, 0.2, 0.5])


def frozen_elsewhere(story: Story) -> None:
    story.request(49.0, 56.0, node=0)


def frozen_too_short(story: Story) -> None:
    story.request(48.0, 58.0, node=1)


def by_visitor_id(story: Story) -> None:
    story.after.rows[row_of(by_device(BY_DAY))] = story.after.rows.pop(row_of(BY_DAY))


def swapped_count(story: Story) -> None:
    """One too many of one kind, one too few of the other: the sum is right."""
    story.after.counts["bok_live", DAY, Kind.IMPRESSION] += 1
    story.after.counts["bok_live", DAY, Kind.CLICK] -= 1


def counted_for_another_site(story: Story) -> None:
    one = ("bok_live", DAY, Kind.CLICK, "one.example.com")
    story.after.site_counts.subtract([one])
    story.after.site_counts.update([(*one[:3], OTHER)])


def stranger_booking(story: Story) -> None:
    story.book(9, Wish("ten_1", "key-nobody", "cmp_1", "slot-9", 0), "reserved")


def keyless_booking(story: Story) -> None:
    story.book(9, Wish("ten_1", "key-9", "cmp_1", "slot-9", 0), "reserved")
    story.after.booking_keys.pop()


def stranger_row(story: Story) -> None:
    story.after.rows[b"a stranger"] = ("bok_live", DAY, Kind.CLICK)
    story.after.counts["bok_live", DAY, Kind.CLICK] += 1


BUGS: dict[str, tuple[Bug, str]] = {
    # Changes of a good history, with what the judge has to report.
    "a key is lost": (
        lambda s: s.answers.note(Request("auditor", "use a key", 0, 90.0, 90.1, "401 invalid_api_key")),
        "auditor: use a key: 1 times 401",
    ),
    "a booking is lost": (
        lambda s: s.answers.note(Request("auditor", "read a booking to its end", 0, 90.0, 90.1, "404 not_found")),
        "auditor: read a booking to its end: 1 times 404",
    ),
    "nothing is answered at the end": (
        lambda s: s.answers.unanswered.append("use a session: /sessions"),
        "no answer at the end: use a session",
    ),
    "a claim is lost": (lambda s: setattr(s.answers.keys[CLAIMED], "owner", ""), "belongs to None"),
    "a claim belongs to another email": (
        lambda s: setattr(s.answers.keys[CLAIMED], "owner", "c@example.com"),
        "belongs to c@",
    ),
    "a key was claimed by itself": (lambda s: setattr(s.answers.keys[ANON], "owner", "c@example.com"), "never claimed"),
    "a payment is lost": (lambda s: s.rebook("bok_1", status="checkout"), "bok_1 was paid but is checkout"),
    "a week is that of another booking": (
        lambda s: s.after.slot_weeks.__setitem__(0, (*s.after.slot_weeks[0][:2], "bok_9")),
        "is booked by bok_0",
    ),
    "a week that is booked is free": (lambda s: s.after.slot_weeks.pop(0), "is not in the table"),
    "a booking that was never requested": (stranger_booking, "under a key that was never sent"),
    "a booking without a key": (keyless_booking, "is stored under no key"),
    "a change is not mailed": (lambda s: s.after.mails.pop("msg_2_o"), "nobody was mailed about a change: msg_2_o"),
    "a mail has a template of its own": (
        lambda s: s.after.mails.update(let_1="webhook_off"),
        "is about no change: let_1",
    ),
    "administrators are not mailed": (lambda s: s.after.mails.pop("msg_3_a_1"), "mailed about a change: msg_3_a_1"),
    "a change is mailed twice": (
        lambda s: s.after.mails.update({"msg_2_2_o": "booking_receipt"}),
        "a mail is about no change: msg_2_2_o",
    ),
    "a mail is about another change": (
        lambda s: s.after.mails.update({"msg_2_o": "refund_made"}),
        "refund_made instead of booking_receipt",
    ),
    "a request is forgotten": (lambda s: s.answers.requested.append("bok_1"), "2 requests for a refund of bok_1"),
    "a request of nobody": (lambda s: s.answers.asked_back.clear(), "nobody asked for a refund of bok_1"),
    "a refund of nobody": (lambda s: s.answers.refunded.clear(), "nobody ordered the refund of bok_3"),
    "an edit is visible": (lambda s: s.after.ads.update({"cmp_1": "Edit 2"}), "nobody has approved"),
    "an edit is answered as approved": (lambda s: s.answers.visible.append(("cmp_1", "Edit 2")), "nobody has approved"),
    "an event of the unit day counts by its visitor id": (by_visitor_id, "rows match no event that was sent"),
    "a day without its secret": (lambda s: setattr(s.after, "secrets", {}), "rows match no event that was sent"),
    "an event counts twice": (
        lambda s: s.after.counts.update([("bok_live", DAY, Kind.IMPRESSION)]),
        "4 counted, 3 stored",
    ),
    "an event does not count": (
        lambda s: s.after.counts.subtract([("bok_live", DAY, Kind.CLICK)]),
        "0 counted, 1 stored",
    ),
    "an event counts as another kind": (swapped_count, "4 counted, 3 stored"),
    "an event counts for another website": (counted_for_another_site, "'one.example.com'): 0 counted, 1 stored"),
    "a row without an event": (stranger_row, "rows match no event that was sent"),
    "a row of another booking": (
        lambda s: s.after.rows.update({row_of(CLICK): ("bok_other", DAY, Kind.CLICK)}),
        "a row of",
    ),
    "a late answer": (without_waits, "a late answer: report of a website on node 0: 200 after 5.20 s"),
    "a late answer of a node that had a core": (barely_starved, "0.50 s of it without a full core"),
    "a late answer while another node was stopped": (frozen_elsewhere, "a late answer"),
    "a late answer of a node that was stopped for less": (frozen_too_short, "a late answer"),
    "no answer from a node that was up": (lambda s: s.request(60.0, 60.1, LOST), "no answer from a node that was up"),
    "no answer while another node was down": (lambda s: s.request(10.5, 11.0, LOST, node=1), "no answer from a node"),
    "a request that was never answered": (lambda s: s.request(60.0, 80.0, LOST), "a late answer"),
    "a bug that was answered": (lambda s: s.request(60.0, 60.1, "500 internal_error"), "1 times 500 internal_error"),
    "an unexpected refusal": (lambda s: s.request(60.0, 60.1, "404 not_found"), "1 times 404 not_found"),
    "a kind of client was never served": (
        lambda s: s.answers.outcomes.pop("reader: search"),
        "reader: some request never",
    ),
    "one request never got a 200": (
        lambda s: s.answers.outcomes["agent: mint"].pop("200"),
        "agent: some request never got a 200",
    ),
    "a fault that was planned is missing": (lambda s: s.happened.faults.pop(), "planned 2 times, made 1 times"),
    "a kind of fault was never hit": (
        lambda s: s.happened.faults.__setitem__(1, replace(s.happened.faults[1], hit=0)),
        "a cut: was planned but had no effect",
    ),
    "a kind of fault was never made": (lambda s: s.happened.planned.update({"a flood": 1}), "a flood: was planned but"),
    "a fault that was not planned": (lambda s: s.happened.planned.pop("a cut"), "a cut: was not planned"),
    "a node that did not heal": (
        lambda s: s.happened.faults.append(Made("a cut", 60.0, 61.0, 1, (0.1, 3.1))),
        "node 1 recovered after 3.10 s",
    ),
    "a fault without a check of recovery": (
        lambda s: s.happened.faults.append(Made("a cut", 60.0, 61.0, 1, ())),
        "recovery was not checked",
    ),
    "a node that ended badly": (lambda s: s.happened.exits.append((1, 1)), "node 1 ended with 1"),
    "a traceback in a log": (lambda s: s.happened.complaints.append("Traceback"), "a bug in a log"),
}


def test_a_history_in_which_all_promises_are_kept_is_good() -> None:
    verdict = good().verdict()
    assert verdict.found == []
    assert (verdict.frozen, verdict.starved) == (1, [])


@pytest.mark.parametrize("name", BUGS)
def test_a_broken_promise_is_found(name: str) -> None:
    bug, words = BUGS[name]
    story = good()
    bug(story)
    found = story.verdict().found
    assert any(words in each for each in found), found


def test_an_answer_is_excused_where_the_kernel_says_that_there_was_no_core_and_is_told_apart() -> None:
    story = good()
    story.request(100.0, 106.0)
    story.happened.waits[0] = Waits([99.0, 103.0, 107.0], [1.0, 1.7, 2.2])
    verdict = story.verdict()
    assert verdict.found == []
    assert verdict.starved == ["report of a website on node 0: 200 after 6.00 s, 1.20 s of it without a full core"]


def test_a_node_that_heals_late_for_want_of_a_core_is_told_apart_too() -> None:
    story = good()
    story.happened.faults.append(Made("a cut", 60.0, 61.0, 1, (0.1, 4.0)))
    story.happened.waits[1] = Waits([60.0, 68.0], [0.0, 2.0])
    verdict = story.verdict()
    assert verdict.found == []
    assert verdict.starved == ["a cut: node 1 recovered after 4.00 s, 2.00 s of it without a full core"]


def test_threads_that_have_ended_take_no_waits_away() -> None:
    assert lacked(0.1, 0.0625, 0.03125) == 0.09375
    assert lacked(0.1, 0.0625, -7.0) == lacked(0.1, -7.0, 0.0625) == 0.0625
    assert lacked(0.1, 0.25, 0.0625) == 0.1


def test_a_machine_of_half_the_usual_speed_lacks_half_of_its_time_and_a_faster_one_none() -> None:
    assert slowness(2 * USUAL_SECONDS) == 0.5
    assert slowness(USUAL_SECONDS) == slowness(USUAL_SECONDS / 2) == 0.0


def test_waits_are_added_up_over_the_processes_of_a_node() -> None:
    waits = Waits()
    for at, waited in ((1.0, 0.5), (2.0, 0.25), (3.0, 0.125)):
        waits.note(at, waited)
    assert waits.between(1.0, 3.0) == 0.375
    assert waits.between(1.5, 1.6) == 0.25, "from the look before to the look after"
    assert Waits().between(0.0, 9.0) == 0.0


def test_a_history_is_judged_without_being_changed() -> None:
    story = good()
    copy = deepcopy(story)
    story.verdict()
    assert story == copy


def test_only_bugs_in_a_log_are_complaints() -> None:
    calm = "2026-11-18 warning storage.connection.pool the database is away\n"
    bug = "2026-11-18 error service.api.dispatch listBots failed\nTraceback (most recent call last):\n  File\nValueError: 1\n"
    expired = "2026-01-01T00:00:00.000Z error actors.mail.actor mail let_1 to a***@example.com given up: expired\n"
    assert complaints([calm + expired]) == []
    assert len(complaints([calm + bug])) == 2
    assert "ValueError: 1" in complaints([calm, bug])[0]
