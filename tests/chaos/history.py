"""What happened: what was sent and answered, what went wrong when, and what is kept afterwards. Data without a judgement.

Times are seconds of Trio's clock. Nodes are numbers.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from actors.events.messages import Event, Kind

LOST = "lost"
"""The outcome of a request whose connection ended before its answer."""

SLOW_SECONDS = 1.0
"""Requests that took longer are remembered one by one."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request and what became of it: `200`, `503 service_unavailable`, or `lost`."""

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
    """From when until when something was so on a node."""

    node: int
    began: float
    ended: float

    def overlap(self, began: float, ended: float) -> float:
        """For how many seconds of that time it was so."""
        return max(0.0, min(self.ended, ended) - max(self.began, began))


@dataclass(frozen=True, slots=True)
class Made:
    """A fault that was made. `hit` says how often it was seen to bite, `healed_seconds` how long after its end each node
    gave its first good answer."""

    kind: str
    began: float
    ended: float
    hit: int
    healed_seconds: tuple[float, ...]


@dataclass(slots=True)
class Key:
    """A key that was answered. `sent` and `answered` count what it was spent on; `claimed` that an email has it now."""

    text: str
    sent: int = 0
    answered: int = 0
    email: str = ""
    claimed: bool = False


@dataclass(frozen=True, slots=True)
class Wish:
    """What a booking is asked for."""

    account: str
    idempotency_key: str
    campaign: str
    slot: str
    week_ms: int


@dataclass(frozen=True, slots=True)
class Told:
    """That a booking was said to have a status, as of the moment the answer came."""

    booking: str
    status: str


@dataclass(slots=True)
class Waits:
    """How long a node or its clients were ready to run and had no core, as it was looked at now and then."""

    at: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def note(self, now: float, waited: float) -> None:
        """`waited` seconds more since it was last looked at."""
        self.at.append(now)
        self.seconds.append(waited + (self.seconds[-1] if self.seconds else 0.0))

    def between(self, began: float, ended: float) -> float:
        """Seconds of waiting from the look before `began` to the one after `ended`."""
        if not self.at:
            return 0.0
        first = max(0, bisect_right(self.at, began) - 1)
        last = min(len(self.at) - 1, bisect_right(self.at, ended))
        return self.seconds[last] - self.seconds[first]


@dataclass(slots=True)
class Said:
    """All that was sent and answered."""

    outcomes: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Counts of outcomes, by client and what it asked."""
    slowest: float = 0.0
    notable: list[Request] = field(default_factory=list)
    """Requests that were slow, and those that have no answer."""

    events: set[Event] = field(default_factory=set)
    recorded: Counter[Event] = field(default_factory=Counter)
    duplicates: set[Event] = field(default_factory=set)

    keys: dict[str, Key] = field(default_factory=dict)
    wishes: set[Wish] = field(default_factory=set)
    booked: defaultdict[Wish, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The ids of bookings that were answered to a wish."""
    told: list[Told] = field(default_factory=list)
    sessions: dict[str, str] = field(default_factory=dict)
    """Tokens of browser sessions that were given, and whose they are."""

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
    """What went wrong, and what processes did."""

    planned: Counter[str] = field(default_factory=Counter)
    faults: list[Made] = field(default_factory=list)
    frozen: list[Span] = field(default_factory=list)
    down: list[Span] = field(default_factory=list)
    """From a kill or a SIGTERM until the node listened again."""
    waits: defaultdict[int, Waits] = field(default_factory=lambda: defaultdict(Waits))
    """By node; that the clients had no core is in each."""
    exits: list[tuple[int, int]] = field(default_factory=list)
    """The exit codes of nodes that were told to stop."""
    complaints: list[str] = field(default_factory=list)
    """What logs of nodes say of bugs."""


@dataclass(frozen=True, slots=True)
class Booked:
    """A booking as it is kept."""

    id: str
    account: str
    campaign: str
    slot: str
    week_ms: int
    weeks: int
    status: str


@dataclass(slots=True)
class Kept:
    """What is there afterwards."""

    rows: dict[bytes, tuple[str, int, Kind]] = field(default_factory=dict)
    """Events by key: booking, day and kind."""
    counts: Counter[tuple[str, int, Kind]] = field(default_factory=Counter)
    used: dict[str, int] = field(default_factory=dict)
    """How often each key was charged."""
    works: dict[str, str] = field(default_factory=dict)
    """What each key, and the token of each session, is answered now."""
    emails: dict[str, str] = field(default_factory=dict)
    """Whose each claimed key is."""
    bookings: dict[str, Booked] = field(default_factory=dict)
    slot_weeks: list[tuple[str, int, str]] = field(default_factory=list)
    """Slot, week and booking."""
    booking_keys: list[tuple[str, str, str]] = field(default_factory=list)
    """Account, idempotency key and booking."""
