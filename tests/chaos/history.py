"""The history of a run: requests and answers, faults with their times, and the rows at the end. Plain data.

Times are seconds of Trio's clock. Nodes are numbers.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from actors.events.messages import Event, Kind
from tests.chaos.recording import Recording

LOST = "lost"
"""The outcome of a request whose connection ended before its answer."""

SLOW_SECONDS = 1.0
"""Slower requests are recorded one by one."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request with its outcome: `200`, `503 service_unavailable`, or `lost`."""

    client: str
    what: str
    node: int
    began: float
    ended: float
    outcome: str

    @property
    def seconds(self) -> float:
        return self.ended - self.began

    def __str__(self) -> str:
        return f"{self.what} of a {self.client} on node {self.node}: {self.outcome} after {self.seconds:.2f} s"


@dataclass(frozen=True, slots=True)
class Span:
    """A period in which something held on a node."""

    node: int
    began: float
    ended: float

    def overlap(self, began: float, ended: float) -> float:
        """Return the seconds that both periods share."""
        return max(0.0, min(self.ended, ended) - max(self.began, began))


@dataclass(frozen=True, slots=True)
class Made:
    """A fault that was injected.

    `hit` counts how often it took effect; `healed_seconds` is how long after its end each node gave its first good
    answer.
    """

    kind: str
    began: float
    ended: float
    hit: int
    healed_seconds: tuple[float, ...]


@dataclass(slots=True)
class Key:
    """An answered key.

    `claimed` is whether its email owns it now; `owner` is the email that the service names at the end.
    """

    text: str
    email: str = ""
    claimed: bool = False
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Wish:
    """A request to book."""

    account: str
    idempotency_key: str
    campaign: str
    slot: str
    week_ms: int


@dataclass(slots=True)
class Waits:
    """Time that a node or its clients were ready to run and had no core, or that a slow one took longer, as sampled."""

    at: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def note(self, now: float, waited: float) -> None:
        """Add `waited` seconds since the last sample."""
        self.at.append(now)
        self.seconds.append(waited + (self.seconds[-1] if self.seconds else 0.0))

    def between(self, began: float, ended: float) -> float:
        """Return the seconds of waiting from the sample before `began` to the one after `ended`."""
        if not self.at:
            return 0.0
        first = max(0, bisect_right(self.at, began) - 1)
        last = min(len(self.at) - 1, bisect_right(self.at, ended))
        return self.seconds[last] - self.seconds[first]


OTHER = "other"
"""The website of events that come from no website with a name."""


@dataclass(slots=True)
class Answers:
    """Everything sent and answered. The `recording` has it in the judge's format."""

    recording: Recording | None = None
    outcomes: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Outcomes, counted by client and request."""
    slowest: float = 0.0
    notable: list[Request] = field(default_factory=list)
    """Requests that were slow, and those without an answer."""

    events: dict[Event, str] = field(default_factory=dict)
    """The website that sent each event."""
    unit_ignored: bool = False
    """Whether some nodes know no unit: an event of the unit day may then count by its visitor id, too."""
    recorded: Counter[Event] = field(default_factory=Counter)

    keys: dict[str, Key] = field(default_factory=dict)
    wishes: set[Wish] = field(default_factory=set)
    booked: defaultdict[Wish, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Booking ids answered for each wish."""
    checked_out: dict[str, str] = field(default_factory=dict)
    """Bookings whose checkout was requested, with the key of their account."""
    paid: set[str] = field(default_factory=set)
    """Bookings that a page called paid."""
    sessions: dict[str, str] = field(default_factory=dict)
    """Emails of browser sessions, by token."""
    asked_back: set[str] = field(default_factory=set)
    """Bookings whose refund was requested, whatever the answer."""
    requested: list[str] = field(default_factory=list)
    """Bookings whose request for a refund was accepted."""
    refunded: set[str] = field(default_factory=set)
    """Bookings that an administrator has ordered to refund."""
    approved: dict[str, set[str]] = field(default_factory=dict)
    """Headlines that an administrator has approved, or tried to, by campaign."""
    visible: list[tuple[str, str]] = field(default_factory=list)
    """Campaigns with the headline that an answer called approved."""
    unanswered: list[str] = field(default_factory=list)
    """Requests at the end, when all is well, that were answered by nothing but 503."""

    def note(self, request: Request) -> None:
        self.outcomes[f"{request.client}: {request.what}"][request.outcome] += 1
        self.slowest = max(self.slowest, request.seconds)
        if request.seconds > SLOW_SECONDS or request.outcome == LOST:
            self.notable.append(request)

    @property
    def requests(self) -> int:
        return sum(counts.total() for counts in self.outcomes.values())


@dataclass(slots=True)
class Happened:
    """Faults, and events of processes."""

    planned: Counter[str] = field(default_factory=Counter)
    faults: list[Made] = field(default_factory=list)
    frozen: list[Span] = field(default_factory=list)
    down: list[Span] = field(default_factory=list)
    """From a kill or a SIGTERM until the node listened again."""
    waits: defaultdict[int, Waits] = field(default_factory=lambda: defaultdict(Waits))
    """Waits by node, each including those of the clients."""
    exits: list[tuple[int, int]] = field(default_factory=list)
    """The exit codes of nodes that were sent SIGTERM."""
    complaints: list[str] = field(default_factory=list)
    """Log lines of nodes that indicate a bug."""


@dataclass(frozen=True, slots=True)
class Booked:
    """A stored booking."""

    id: str
    account: str
    campaign: str
    slot: str
    week_ms: int
    weeks: int
    status: str


@dataclass(slots=True)
class Stored:
    """The state after a run."""

    rows: dict[bytes, tuple[str, int, Kind]] = field(default_factory=dict)
    """Events by key: booking, day and kind."""
    secrets: dict[int, bytes] = field(default_factory=dict)
    """The secrets of days, under which events of the unit day are hashed."""
    counts: Counter[tuple[str, int, Kind]] = field(default_factory=Counter)
    site_counts: Counter[tuple[str, int, Kind, str]] = field(default_factory=Counter)
    """Counts by website."""
    bookings: dict[str, Booked] = field(default_factory=dict)
    slot_weeks: list[tuple[str, int, str]] = field(default_factory=list)
    """Slot, week and booking."""
    booking_keys: list[tuple[str, str, str]] = field(default_factory=list)
    """Account, idempotency key and booking."""
    audits: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Actions and targets of audit records."""
    mails: dict[str, str] = field(default_factory=dict)
    """Templates of the messages in the outbox."""
    ads: dict[str, str] = field(default_factory=dict)
    """Headlines of campaigns."""
