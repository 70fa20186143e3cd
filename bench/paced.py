"""A load generator for requests of several kinds at once, in its own process: `python -m bench.paced`.

Requests of each kind become due at random moments, so many a second (a Poisson process), and their time counts from then on,
whether or not a connection was free: a server that stands still delays all that become due meanwhile. Without a rate, each
connection sends its next request at once, of a kind by its weight.
"""

import argparse
import heapq
import json
import random
import selectors
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from bench.generator import DRAIN_SECONDS, Connection, requests_of
from bench.workloads import HOST, Events, Reads

WEEK_MS = 7 * 86_400_000


class Source:
    """Endless requests of one kind."""

    def __init__(self, requests: Iterator[bytes]) -> None:
        self._requests = requests

    def next(self) -> bytes:
        return next(self._requests)

    def answered(self, body: bytes) -> None:
        """Take the body of an answer into account."""


class Bookings(Source):
    """Reserves weeks of slots, for one buyer after the other with the campaign of each, and cancels each booking again."""

    def __init__(self, buyers: Sequence[Mapping[str, str]], slots: int, first_week_ms: int, weeks: int) -> None:
        self._buyers = cycle(buyers)
        places = [(slot, first_week_ms + week * WEEK_MS) for week in range(weeks) for slot in range(1, slots + 1)]
        self._places = cycle(places)
        # The key and the id of each booking that is held. Answers name the campaign, which tells its buyer.
        self._held: list[tuple[str, str]] = []
        self._keys = {buyer["campaign"]: buyer["key"] for buyer in buyers}

    def next(self) -> bytes:
        if self._held:
            key, booking_id = self._held.pop()
            return _post(key, f"/{booking_id}/cancel", {})
        buyer, (slot, week_ms) = next(self._buyers), next(self._places)
        body = {"campaignId": buyer["campaign"], "slotId": f"slot-{slot}", "weekStart": week_ms}
        return _post(buyer["key"], "", {**body, "idempotencyKey": str(uuid.uuid4())})

    def answered(self, body: bytes) -> None:
        booking = json.loads(body)["booking"]
        if booking["status"] == "reserved":
            self._held.append((self._keys[booking["campaignId"]], booking["id"]))


def _post(key: str, path: str, body: Mapping[str, Any]) -> bytes:
    text = json.dumps(body)
    head = f"HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
    return f"POST /api/v1/sponsors/bookings{path} {head}Content-Length: {len(text)}\r\n\r\n{text}".encode()


def source_of(fields: dict[str, Any]) -> Source:
    if "lines" in fields:
        return Source(requests_of(Reads(**fields)))
    return Bookings(**fields) if "buyers" in fields else Source(requests_of(Events(**fields)))


class RequestKind:
    """Requests of a kind, and what became of them: seconds of each success, and answers above 399 by status."""

    def __init__(self, name: str, rate: float, fields: dict[str, Any]) -> None:
        self.name, self.rate, self.source = name, rate, source_of(fields)
        self.seconds: list[float] = []
        self.failures: Counter[str] = Counter()

    def report(self) -> dict[str, Any]:
        found = sorted(self.seconds)
        p50, p99, most = (found[int((len(found) - 1) * share)] * 1e3 if found else 0.0 for share in (0.5, 0.99, 1.0))
        return {"answers": len(found), "failures": dict(self.failures), "p50_ms": p50, "p99_ms": p99, "most_ms": most}


class Paced:
    """Sends requests of all kinds over the same connections."""

    def __init__(self, port: int, connections: int, kinds: list[RequestKind], seed: int, *, flat_out: bool) -> None:
        self._kinds, self._chance, self._flat_out = kinds, random.Random(seed), flat_out
        self._ready = selectors.DefaultSelector()
        self._port = port
        self._idle: list[Connection] = []
        for _ in range(connections):
            self._connect()
        self._busy: dict[Connection, RequestKind] = {}
        # (due, place of the kind)
        self._due: list[tuple[float, int]] = []

    def run(self, seconds: float) -> None:
        began = time.perf_counter()
        ends = began + seconds
        self._due = [(began + self._pause(kind), place) for place, kind in enumerate(self._kinds)]
        heapq.heapify(self._due)
        while (now := time.perf_counter()) < ends or (self._busy and now < ends + DRAIN_SECONDS):
            if now < ends:
                self._send(now)
            pause = ends - now if self._flat_out or not self._idle else self._due[0][0] - now
            for key, _ in self._ready.select(min(1.0, max(0.0, pause))):
                self._take(key.data)
        for kind in self._busy.values():
            kind.failures["unanswered"] += 1

    def _connect(self) -> None:
        connection = Connection(self._port)
        self._ready.register(connection.socket, selectors.EVENT_READ, connection)
        self._idle.append(connection)

    def _closed(self, connection: Connection) -> None:
        """Replace a connection that the server has closed: one that was idle for long, or a failure."""
        self._ready.unregister(connection.socket)
        connection.socket.close()
        if connection in self._busy:
            self._busy.pop(connection).failures["closed"] += 1
        else:
            self._idle.remove(connection)
        self._connect()

    def _pause(self, kind: RequestKind) -> float:
        return self._chance.expovariate(kind.rate)

    def _send(self, now: float) -> None:
        while self._idle and (self._flat_out or self._due[0][0] <= now):
            if self._flat_out:
                due, [kind] = (
                    time.perf_counter(),
                    self._chance.choices(self._kinds, [each.rate for each in self._kinds]),
                )
            else:
                due, place = self._due[0]
                kind = self._kinds[place]
                heapq.heapreplace(self._due, (due + self._pause(kind), place))
            connection = self._idle.pop(0)
            self._busy[connection] = kind
            try:
                connection.send(kind.source.next())
            except OSError:
                self._closed(connection)
            connection.sent_at = due

    def _take(self, connection: Connection) -> None:
        try:
            status = connection.receive()
        except OSError:
            return self._closed(connection)
        if status is None:
            return None
        kind = self._busy.pop(connection)
        self._idle.append(connection)
        if status > 399:
            kind.failures[str(status)] += 1
        else:
            kind.seconds.append(time.perf_counter() - connection.sent_at)
            kind.source.answered(connection.body)
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description="Load a server with requests of several kinds; print JSON by kind.")
    parser.add_argument("port", type=int)
    parser.add_argument("connections", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument(
        "kinds", type=Path, help="JSON: by name, the rate a second or weight, and the fields of a workload"
    )
    parser.add_argument("--flat-out", action="store_true", help="keep all connections busy; rates are weights")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    kinds = [RequestKind(name, *each) for name, each in json.loads(given.kinds.read_text()).items()]
    Paced(given.port, given.connections, kinds, given.seed, flat_out=given.flat_out).run(given.seconds)
    sys.stdout.write(json.dumps({kind.name: kind.report() for kind in kinds}) + "\n")


if __name__ == "__main__":
    main()
