"""The records of a history: operations with what was asked and what was answered. README.md describes each field.

A record all of whose fields are required is an array in JSON, any other an object without its absent fields.
"""

from collections.abc import Sequence
from typing import NamedTuple

VERSION = 1


class Event(NamedTuple):
    """An impression or click that was reported. `visitor` is a digest, or None if the request does not tell who it is."""

    booking: str
    kind: str
    visitor: str | None


class Limit(NamedTuple):
    """A cap of requests and what is left of it. `window` is `day`, `month` or `lifetime`."""

    window: str
    cap: int
    left: int


class Day(NamedTuple):
    """The counts of a booking on a day, which is 00:00 UTC in epoch milliseconds."""

    day: int
    impressions: int
    clicks: int


class Record(NamedTuple):
    """An item of the audit, of the feed of webhook events or of the changes, or an entry. `digest` is of what must not
    change; that of a change is its type, and that of an entry that was retired `removed`."""

    id: str
    at: int
    digest: str


class Campaign(NamedTuple):
    id: str
    status: str


class Booking(NamedTuple):
    """A booking as an answer shows it. `week`, `end` and `held` are epoch milliseconds, `paid`,
    `refunded` and `price` cents."""

    id: str
    status: str
    slot: str | None = None
    week: int | None = None
    end: int | None = None
    held: int | None = None
    impressions: int | None = None
    clicks: int | None = None
    paid: int | None = None
    refunded: int = 0
    issue: str | None = None
    demo: bool = False
    price: int | None = None


class Usage(NamedTuple):
    """Requests used, as `getUsage` shows them: over the lifetime if `status` is anonymous, else in the month."""

    status: str
    used: int
    cap: int
    day_used: int
    day_cap: int | None = None


class Key(NamedTuple):
    """A key or a session that an answer shows once: its name as a caller, its id, its account, its end in epoch milliseconds,
    the id and the end of the key that it replaces, the digest of the token that claims or refreshes it, and the seconds that
    the text of a refreshed key works."""

    caller: str
    id: str | None = None
    tenant: str | None = None
    ends: int | None = None
    replaces: str | None = None
    old_ends: int | None = None
    claim: str | None = None
    lives: int | None = None


class Login(NamedTuple):
    """A device login: its state, and where it begins the digests of its two codes, the seconds until it expires and those
    between two polls."""

    status: str
    device: str | None = None
    user: str | None = None
    lives: int | None = None
    pace: int | None = None


class Invoice(NamedTuple):
    """An invoice or a credit note. `digest` is of all but its buyer, `rate` its tax in thousandths of a percent."""

    number: str
    kind: str
    booking: str
    cents: int
    digest: str
    of: str | None = None
    payment: str | None = None
    tax: int = 0
    rate: int = 0


class Money(NamedTuple):
    """The report of an event of the payment processor, and when in seconds: that a booking was `paid`, a `refund`, the
    `total` of refunds, absent for all of the payment, or a `dispute`. `state` is the processor's word. `made` is when a
    refund was made: a total before does not have it."""

    event: str
    about: str
    payment: str
    cents: int | None = None
    id: str | None = None
    state: str | None = None
    at: int | None = None
    made: int | None = None


class Asked(NamedTuple):
    """The facts of a request. Absent ones are None, False or empty. `grace` is in seconds. An import `writes` entries, and
    `removes` the others of some lists."""

    caller: str | None = None
    id: str | None = None
    metered: bool = False
    key: str | None = None
    body: str | None = None
    campaign: str | None = None
    slot: str | None = None
    week: int | None = None
    decision: str | None = None
    ends: int | None = None
    grace: int | None = None
    query: str | None = None
    cursor: str | None = None
    events: Sequence[Event] = ()
    money: Money | None = None
    writes: Sequence[Record] = ()
    removes: Sequence[str] = ()


class Answer(NamedTuple):
    """The facts of a response. Absent ones are None, False or empty."""

    status: int
    code: str | None = None
    retry: int | None = None
    shared: bool = False
    tenant: str | None = None
    limits: Sequence[Limit] = ()
    usage: Usage | None = None
    keys: Sequence[Key] = ()
    revoked: Sequence[str] = ()
    bookings: Sequence[Booking] = ()
    campaigns: Sequence[Campaign] = ()
    outcomes: Sequence[str] = ()
    days: Sequence[Day] = ()
    records: Sequence[Record] = ()
    cursor: str | None = None
    more: bool = False
    invoices: Sequence[Invoice] = ()
    login: Login | None = None
    entry: str | None = None


NOTHING = Answer(0)


class Operation(NamedTuple):
    """One request of a client to a node. `began` and `ended` are milliseconds of the recorder's clock. Without an answer it
    may have taken effect at any moment after its beginning."""

    client: str
    node: str
    kind: str
    began: float
    ended: float
    asked: Asked
    answer: Answer | None = None

    @property
    def said(self) -> Answer:
        """The answer, or one without facts and with the status 0."""
        return self.answer or NOTHING

    @property
    def status(self) -> int:
        return self.said.status

    @property
    def good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def read(self) -> bool:
        """Whether it succeeded with a body that was read, so that what is not among its facts was not shown."""
        return self.good and self.said.code is None

    @property
    def doubtful(self) -> bool:
        """Whether it may or may not have taken effect: there was no answer, or a server error."""
        return self.answer is None or self.answer.status >= 500


class Header(NamedTuple):
    """The first line. `whole`: every request that changed the service's state is in the history. `fresh`: so is everything
    since the database was empty. `single`: each address is one process. `clock_ms`: the most by which the clock of a node
    differs from the recorder's. `visible_ms`: after that, every node shows a change in what it serves from memory."""

    history: int
    recorder: str = ""
    whole: bool = False
    fresh: bool = False
    single: bool = False
    clock_ms: int = 1_000
    visible_ms: int = 10_000


class History(NamedTuple):
    """A history as it was read. `torn` tells what the last line lacked."""

    header: Header
    operations: Sequence[Operation]
    torn: str | None = None
