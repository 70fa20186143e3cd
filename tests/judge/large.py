"""Large histories of a service that keeps its promises, or breaks one of them once. Memory is bounded, whatever the length.

python -m tests.judge.large 1000000 [BUG] >history.jsonl
"""

import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.judge.finding import DAY_MS, WEEK_MS, day_of
from tests.judge.lines import line_of
from tests.judge.records import (
    VERSION,
    Answer,
    Asked,
    Booking,
    Campaign,
    Event,
    Header,
    Invoice,
    Key,
    Limit,
    Operation,
    Record,
    Usage,
)
from tests.judge.wire import event_record

BEGIN = 1_795_003_200_000
HOLD_MS = 1_800_000
LOST = 0.01
"""The share of requests without an answer. Half of them take effect."""
CAP, KEYS, BOOKINGS, VISITORS = 40, 40, 2_000, 400

BUGS = (
    "week",
    "outcome",
    "cap",
    "refusal",
    "remaining",
    "recorded",
    "count",
    "missing",
    "state",
    "audit",
    "feed",
    "gap",
    "sum",
)
"""What may go wrong once, in the order of the promises."""


@dataclass(slots=True)
class Sold:
    """A booking of the model."""

    id: str
    slot: str
    week: int
    held: int
    status: str = "reserved"
    counts: list[int] = field(default_factory=lambda: [0, 0])
    seen: set[int] = field(default_factory=set)
    documents: list[Invoice] = field(default_factory=list)
    refunded: int = 0
    request: dict[str, Any] = field(default_factory=dict)

    def shown(self) -> Booking:
        held = self.held if self.status in ("reserved", "checkout") else None
        paid = 100 if self.documents else None
        place = (self.slot, self.week, self.week + WEEK_MS, held)
        return Booking(self.id, self.status, *place, self.counts[0], self.counts[1], paid, self.refunded)


@dataclass(slots=True)
class Model:
    """A service whose requests take effect one after another, and the clients that ask it."""

    chance: Random
    bug: str | None = None
    now: float = BEGIN
    count: int = 0
    most: int = 0
    sold: list[Sold] = field(default_factory=list)
    keys: deque[list[Any]] = field(default_factory=lambda: deque(maxlen=KEYS))
    audit: deque[Record] = field(default_factory=lambda: deque(maxlen=20))
    feed: list[Record] = field(default_factory=list)
    forgotten: int = 0
    readers: list[tuple[str | None, int]] = field(default_factory=lambda: [(None, 0), (None, 0)])
    numbers: dict[str, int] = field(default_factory=lambda: {"INV": 0, "CN": 0})
    ad: str = "pending"
    ready: bool = False

    def operations(self, most: int) -> Iterator[Operation]:
        """So many operations. A bug comes in the second half, once it can."""
        asks = (
            self.event,
            self.event,
            self.event,
            self.spend,
            self.spend,
            self.book,
            self.move,
            self.read,
            self.review,
            self.look,
        )
        self.most = most
        while self.count < most:
            self.ready = self.count > most // 2
            yield self.chance.choice(asks)()
        # Twice, so that the second reading can tell that a number is of no booking.
        for sold in self.sold * 2:
            yield self._documents(sold)
            yield self._sure("getBooking", Asked("key-0", sold.id), Answer(200, bookings=(sold.shown(),)))

    def _op(self, kind: str, asked: Asked, answer: Answer) -> Operation:
        """An operation that takes effect now; without its answer if that is lost."""
        self.count += 1
        self.now += self.chance.random() * 6
        began, ended = self.now - self.chance.random() * 20, self.now + self.chance.random() * 20
        lost = self.chance.random() < LOST and kind not in ("mintKey", "cancelBooking", "openCheckout")
        client = f"client-{self.chance.randrange(50)}"
        return Operation(client, f"node-{self.count % 3}", kind, began, ended, asked, None if lost else answer)

    def most_bookings(self) -> int:
        """The bookings that there may be by now: they come all the time."""
        return 1 + min(BOOKINGS, self.most // 50) * self.count // self.most

    def _broken(self, bug: str) -> bool:
        """Whether this is the moment of the planted bug."""
        if self.bug != bug or not self.ready:
            return False
        self.bug = None
        return True

    # Events and charges.

    def event(self) -> Operation:
        if not self.sold:
            return self.book()
        sold, at = self.chance.choice(self.sold), day_of(self.now)
        kind, visitor = self.chance.randrange(2), self.chance.randrange(VISITORS)
        new = (at * 2 + kind) * VISITORS + visitor not in sold.seen
        if self.chance.random() < LOST:
            self._count(sold, visitor, kind, at) if new and self.chance.random() < 0.5 else None
            return self._op("recordEvent", self._event(sold, visitor, kind), Answer(503))
        if not new and self._broken("recorded"):
            new = True
        if new:
            self._count(sold, visitor, kind, at)
        return self._sure(
            "recordEvent", self._event(sold, visitor, kind), Answer(200, outcomes=("recorded" if new else "duplicate",))
        )

    def _event(self, sold: Sold, visitor: int, kind: int) -> Asked:
        return Asked(events=(Event(sold.id, ("impression", "click")[kind], f"v{visitor}"),))

    def _count(self, sold: Sold, visitor: int, kind: int, at: int) -> None:
        sold.seen.add((at * 2 + kind) * VISITORS + visitor)
        sold.counts[kind] += 0 if self._broken("missing") else 2 if self._broken("count") else 1

    def _sure(self, kind: str, asked: Asked, answer: Answer) -> Operation:
        return self._op(kind, asked, answer)._replace(answer=answer)

    def spend(self) -> Operation:
        """A request with a key, the first one of a key, or the use that it is told."""
        key = self.chance.choice(self.keys) if self.keys and self.chance.random() < 0.95 else None
        if key is None:
            name = f"key-{self.count}"
            self.keys.append([name, 0])
            return self._op("mintKey", Asked(), Answer(200, keys=(Key(name, tenant=f"t-{self.count}"),)))
        name, used = key
        if self.chance.random() < 0.1:
            usage = Usage("anonymous", used, CAP, used, 1_000)
            return self._op("getUsage", Asked(name), Answer(200, usage=usage, tenant=name.replace("key", "t")))
        asked = Asked(name, metered=True)
        if (used >= CAP and not self._broken("cap")) or (0 < used < CAP // 2 and self._broken("refusal")):
            return self._op("listBots", asked, Answer(403, "quota_exhausted"))
        key[1] += 1
        left = max(0, CAP - key[1]) + (2 if 9 < key[1] < CAP and self._broken("remaining") else 0)
        return self._op(
            "listBots", asked, Answer(200, limits=(Limit("day", 1_000, 1_000 - key[1]), Limit("lifetime", CAP, left)))
        )

    # Bookings.

    def book(self) -> Operation:
        """A booking of a free week, or the same request again."""
        if self.sold and (self.chance.random() < 0.2 or len(self.sold) >= self.most_bookings()):
            sold = self.chance.choice(self.sold)
            if self._broken("outcome"):
                sold = Sold(f"b{self.count}x", f"slot-{self.count}", sold.week, int(self.now) + HOLD_MS)
        else:
            n, week = self.count, BEGIN - BEGIN % WEEK_MS + 4 * DAY_MS + WEEK_MS
            slot = f"slot-{n}"
            held = next((each for each in self.sold if each.status in ("reserved", "checkout", "paid")), None)
            if held is not None and held.held > self.now + 60_000 and self._broken("week"):
                slot = held.slot
            sold = Sold(f"b{n}", slot, week, int(self.now) + HOLD_MS)
            sold.request = {"key": f"i{n}", "body": f"d{n}", "campaign": "x", "slot": slot, "week": week}
            self.sold.append(sold)
            self._note("reserved", sold)
            return self._sure("createBooking", Asked("key-0", **sold.request), Answer(200, bookings=(sold.shown(),)))
        request = sold.request or self.sold[0].request
        source = next((each for each in self.sold if each.request == request), sold)
        return self._op(
            "createBooking", Asked("key-0", **(source.request or request)), Answer(200, bookings=(sold.shown(),))
        )

    def move(self) -> Operation:
        """A checkout, a cancellation, a payment that no request tells, or a refund."""
        if not self.sold:
            return self.book()
        sold = self.chance.choice(self.sold)
        if sold.held < self.now and sold.status in ("reserved", "checkout"):
            sold.status = "expired"
            return self.read()
        if sold.status == "reserved":
            sold.status = "cancelled" if self.chance.random() < 0.2 else "checkout"
            self._note(sold.status, sold)
            kind = "cancelBooking" if sold.status == "cancelled" else "openCheckout"
            return self._op(kind, Asked("key-0", sold.id), Answer(200, bookings=(sold.shown(),)))
        if sold.status == "checkout":
            sold.status = "paid"
            self._document(sold, "INV")
        elif sold.status == "paid" and self.chance.random() < 0.2:
            sold.status, sold.refunded = "refunding", 0
            return self._op("refundBooking", Asked("key-1", sold.id), Answer(200, bookings=(sold.shown(),)))
        elif sold.status == "refunding":
            sold.status, sold.refunded = "refunded", 100
            self._document(sold, "CN")
        elif sold.status == "cancelled" and self._broken("state"):
            sold.status = "reserved"
        return self._op("getBooking", Asked("key-0", sold.id), Answer(200, bookings=(sold.shown(),)))

    def _document(self, sold: Sold, series: str) -> None:
        self._note(sold.status, sold)
        self.numbers[series] += 2 if self._broken("gap") else 1
        kind = "invoice" if series == "INV" else "credit_note"
        cents = 99 if series == "CN" and self._broken("sum") else 100
        number = f"TEST-{series}-{self.numbers[series]:06}"
        of = sold.documents[0].number if series == "CN" else None
        sold.documents.append(Invoice(number, kind, sold.id, cents, number, of))

    def read(self) -> Operation:
        if not self.sold:
            return self.book()
        sold = self.chance.choice(self.sold)
        if self.chance.random() < 0.3:
            return self._documents(sold)
        return self._op("getBooking", Asked("key-0", sold.id), Answer(200, bookings=(sold.shown(),)))

    def _documents(self, sold: Sold) -> Operation:
        return self._sure("getInvoices", Asked("key-0", sold.id), Answer(200, invoices=tuple(sold.documents)))

    # The campaign, and what grows.

    def review(self) -> Operation:
        moves = {"pending": ("approve", "approved"), "approved": ("pause", "paused"), "paused": ("resume", "approved")}
        decision, self.ad = moves[self.ad]
        return self._op(
            "reviewCampaign", Asked("key-1", "x", decision=decision), Answer(200, campaigns=(Campaign("x", self.ad),))
        )

    def _note(self, what: str, sold: Sold) -> None:
        """An audit record and an event of the feed."""
        self.audit.appendleft(Record(f"a{self.count:09}{what}", int(self.now), what))
        self.feed.append(event_record(f"{sold.id} {what}", f"booking.{what}", sold.id, ""))

    def look(self) -> Operation:
        if self.chance.random() < 0.5:
            records = list(self.audit)[:10]
            if len(records) == 10 and self._broken("audit"):
                del records[5]
            return self._op("listAudit", Asked("key-1"), Answer(200, records=tuple(records), more=len(self.audit) > 10))
        reader = self.chance.randrange(2)
        cursor, place = self.readers[reader]
        rest = self.feed[place - self.forgotten :]
        shown = rest[:20]
        if len(shown) > 2 and self._broken("feed"):
            del shown[1]
        answer = Answer(200, records=tuple(shown), cursor=f"c{self.count}", more=len(rest) > 20)
        operation = self._op("listWebhookEvents", Asked("key-0", cursor=cursor), answer)
        if operation.answer is not None:
            self.readers[reader] = (answer.cursor, place + len(rest[:20]))
            least = min(place for _, place in self.readers)
            del self.feed[: least - self.forgotten]
            self.forgotten = least
        return operation


def large(most: int, seed: int = 0, bug: str | None = None) -> Iterator[Operation]:
    """A whole and fresh history of about so many operations."""
    yield from Model(Random(seed), bug).operations(most)


if __name__ == "__main__":
    out = sys.stdout.buffer
    out.write(line_of(Header(VERSION, "tests.judge.large", whole=True, fresh=True)))
    for made in large(int(sys.argv[1]), bug=sys.argv[2] if len(sys.argv) > 2 else None):
        out.write(line_of(made))
