"""The workloads: reads from a list, or events of new visitors."""

import json
import random
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

HOST = "127.0.0.1"
EVENT = "/api/v1/sponsors/events"
BATCH = "/api/v1/sponsors/events/batch"
RECENT = 8_192
"""A duplicate repeats one of this many newest events."""


@dataclass(frozen=True, slots=True)
class Reads:
    """GETs, sent in rotation. Each is one line with `~` for line ends."""

    lines: Sequence[str]
    size: int = 1


@dataclass(frozen=True, slots=True)
class Events:
    """Events of random visitors, `size` per request; `repeats` percent are duplicates. Every seed gives other visitors."""

    bookings: Sequence[str]
    seed: int
    size: int = 1
    repeats: int = 0

    @property
    def path(self) -> str:
        return EVENT if self.size == 1 else BATCH

    def requests(self) -> Iterator[str]:
        """Endless requests in the format of `Reads.lines`, for a generator that cannot make them itself."""
        chance = random.Random(self.seed)
        sent: deque[dict[str, str]] = deque(maxlen=RECENT)
        while True:
            events = [self._event(chance, sent) for _ in range(self.size)]
            body = json.dumps(events[0] if self.size == 1 else {"events": events}, separators=(",", ":"))
            head = f"POST {self.path} HTTP/1.1~Host: {HOST}~Content-Type: application/json"
            yield f"{head}~Content-Length: {len(body)}~~{body}"

    def _event(self, chance: random.Random, sent: deque[dict[str, str]]) -> dict[str, str]:
        if sent and chance.randrange(100) < self.repeats:
            return chance.choice(sent)
        sent.append(
            {
                "bookingId": chance.choice(self.bookings),
                "kind": "impression" if chance.randrange(16) else "click",
                "visitorId": str(uuid.UUID(int=chance.getrandbits(128), version=4)),
            }
        )
        return sent[-1]


Workload = Reads | Events


def read(path: str, authorization: str | None = None, accept_encoding: str | None = None) -> str:
    """A GET as sent over the wire."""
    assert "~" not in f"{path}{authorization}{accept_encoding}"
    key = "" if authorization is None else f"Authorization: {authorization}~"
    codings = "" if accept_encoding is None else f"Accept-Encoding: {accept_encoding}~"
    return f"GET {path} HTTP/1.1~Host: {HOST}~{key}{codings}~"
