"""Nodes behind nginx are renewed one after the other under load, and no request fails (docs/operations.md). Clients of the
chaos run are among the load, and what they are answered keeps the promises."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, STDOUT

import pytest
import trio

from tests.acceptance.postgres import PostgresServer, free_port
from tests.acceptance.processes import Service, Settings, serving
from tests.acceptance.proxies import HOST, PACKAGES, Proxy, proxying
from tests.chaos.agents import Agent, Person
from tests.chaos.auditor import audit
from tests.chaos.campaign import SETTINGS, clients_of
from tests.chaos.history import Answers
from tests.chaos.judge import ALSO_FINE
from tests.chaos.recording import Recording, Sent, judged, now_ms, recording
from tests.chaos.setting import founded
from tests.chaos.websites import EVENTS
from tests.programs import program

REQUESTS = 15_000
"""Requests of each load: reads and events over HTTP/1.1 with keep-alive, and the same over HTTP/2."""

CONNECTIONS = 32
"""Of each load. All four stay below the 200 of one address in nginx-http.conf, and no connection reaches the 1,000 requests
after which nginx ends it, because h2load opens no other when it keeps a pace."""

PACE = 8
"""Requests a second on each connection: one node serves all of them, so that none is refused as overload."""

OPTIONS = {"HTTP/1.1": ["--h1"], "HTTP/2": ["-m", "1"]}
DRAIN_SECONDS = 9
"""Longer than `keepalive_timeout` of the upstream in nginx.conf, so that no request meets a connection that is closed."""

RENEWALS = int(os.environ.get("CATALOG_TEST_RENEWALS", "2"))
"""Loads are sent again until there were so many."""

MOST_RENEWALS = 30
"""For the last loads to end."""

VISITOR = "3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a54"
PATHS = {"reads": "/api/v1/usecases?limit=2", "events": EVENTS}
SEED = 17
COUNTS = re.compile(
    r"^requests: (\d+) total, .* (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout$", re.MULTILINE
)
CODES = re.compile(r"^status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Load:
    """One h2load."""

    name: str
    command: Sequence[str]
    process: subprocess.Popen[str]

    @classmethod
    def start(cls, name: str, command: Sequence[str]) -> "Load":
        return cls(name, command, subprocess.Popen(command, stdout=PIPE, stderr=STDOUT, text=True))

    def outcome(self) -> tuple[list[int], list[int]]:
        """Requests: in all, succeeded, failed, with errors, timed out. Responses: 2xx, 3xx, 4xx, 5xx."""
        output = self.process.communicate()[0]
        counts, codes = COUNTS.search(output), CODES.search(output)
        assert counts is not None, f"{self.name}: {output}"
        assert codes is not None, f"{self.name}: {output}"
        return [*map(int, counts.groups())], [*map(int, codes.groups())]


def loads(proxy: Proxy, body: Path) -> list[Load]:
    found = []
    for version, options in OPTIONS.items():
        for what, path in PATHS.items():
            own = [*options, *(["-d", str(body), "-H", "content-type: application/json"] if what == "events" else [])]
            count = ["-n", str(REQUESTS), "-c", str(CONNECTIONS), f"--rps={PACE}"]
            to = [f"--connect-to=127.0.0.1:{proxy.https}", f"https://{HOST}{path}"]
            command = [program("h2load", "nghttp2-client"), *count, *own, *to]
            found.append(Load.start(f"{what} over {version}", command))
    return found


@pytest.fixture
def start(external: PostgresServer, playground: Path) -> Callable[[ExitStack, int, int], Service]:
    """Starts a node by its number and port, over one new database."""
    settings: Settings = {
        **SETTINGS,
        "database.url": external.url(external.fresh_database()),
        "server.base_url": f"https://{HOST}",
        "server.trusted_proxies": "127.0.0.1/32",
        "server.allow_unsafe_public": "true",  # there is no mail here
        "server.drain_seconds": DRAIN_SECONDS,
    }

    def begin(stack: ExitStack, number: int, port: int) -> Service:
        place = playground / f"renewed-{number}"
        node = stack.enter_context(serving(place, settings, bind=f"127.0.0.1:{port}", wait=False))
        node.wait_ready()
        return node

    return begin


def in_the_history(history: Recording, body: Path) -> None:
    """The event that the loads repeat: nobody reads their answers, so that it may be recorded at any moment from now on."""
    sent = Sent("POST", EVENTS, {"content-type": "application/json"}, body.read_bytes())
    for version in OPTIONS:
        history.note(f"h2load over {version}", "nginx", now_ms(), sent, None)


async def test_nodes_behind_nginx_are_renewed_one_after_the_other_and_no_request_fails(
    start: Callable[[ExitStack, int, int], Service], playground: Path
) -> None:
    program("nginx", PACKAGES["nginx"])
    ports, plain, stop = [free_port(), free_port()], free_port(), trio.Event()
    # The clients of the chaos run speak no TLS.
    without_tls = {"ssl_protocols": f"listen 127.0.0.1:{plain}; ssl_protocols"}
    with ExitStack() as stack, recording("renewal", single=False) as history:
        nodes = [await trio.to_thread.run_sync(start, stack, number, port) for number, port in enumerate(ports)]
        answers = Answers(history)
        setting = await founded(nodes[0], answers)
        behind = [f"127.0.0.1:{port}" for port in ports]
        proxy = stack.enter_context(proxying("nginx", playground / "renewing", behind, without_tls))
        urls = {0: f"http://127.0.0.1:{plain}"}
        body = playground / "event.json"
        body.write_text(json.dumps({"bookingId": setting.bookings[0], "kind": "impression", "visitorId": VISITOR}))
        in_the_history(history, body)
        renewed, outcomes, logs = 0, [], []
        async with trio.open_nursery() as nursery:
            for client in clients_of(urls, answers, setting, SEED, stop):
                if isinstance(client, Agent):
                    client.claims = 0  # a public service shows nobody its mail
                if not isinstance(client, Person):
                    nursery.start_soon(client.run)
            running = loads(proxy, body)
            while renewed < RENEWALS or any(load.process.poll() is None for load in running):
                assert renewed < RENEWALS + MOST_RENEWALS, "the load takes too long"
                number = renewed % len(nodes)
                nodes[number].terminate()
                assert await trio.to_thread.run_sync(nodes[number].wait) == 0, nodes[number].log()
                logs.append(nodes[number].log())
                nodes[number] = await trio.to_thread.run_sync(start, stack, number, ports[number])
                renewed += 1
                for place, load in enumerate(running):
                    if renewed < RENEWALS and load.process.poll() is not None:
                        outcomes.append((load.name, load.outcome()))
                        running[place] = Load.start(load.name, load.command)
            stop.set()
        await audit(urls, answers, setting)
        outcomes += [(load.name, load.outcome()) for load in running]
    sys.stdout.write(f"{renewed} renewals, {len(outcomes) * REQUESTS:,} requests\n")
    told = "\n".join([*logs, *(each.log() for each in nodes)])
    for name, outcome in outcomes:
        assert outcome == ([REQUESTS, REQUESTS, 0, 0, 0], [REQUESTS, 0, 0, 0]), f"{name}, {renewed} renewals: {told}"
    for asked, counts in answers.outcomes.items():
        assert counts.keys() <= {"200", *ALSO_FINE.get(asked, ())}, f"{asked}: {counts}: {told}"
    broken, report = judged(history.path)
    assert broken == [], report
