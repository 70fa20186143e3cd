"""Helpers for several worker processes under one parent."""

import re
from pathlib import Path

import trio

from tests.acceptance.clients import Unanswered, Wire
from tests.acceptance.processes import Service, children_of, until


def is_worker(pid: int) -> bool:
    try:
        return b"service.process.worker_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def workers_of(service: Service) -> set[int]:
    """The pids of a parent's workers."""
    return set(filter(is_worker, children_of(service.process.pid)))


async def answers(wire: Wire) -> bool:
    """Whether a connection still gets responses."""
    try:
        return (await wire.get("/healthz")).status == 200
    except Unanswered:
        return False


async def ask_by_new_connections(url: str, stop: trio.Event) -> int:
    """Send requests over new connections until stopped. Asserts that all are answered. Returns their number."""
    answered = 0
    while not stop.is_set():
        wire = await Wire.open(url)
        assert (await wire.get("/healthz")).status == 200
        wire.close()
        answered += 1
        await trio.sleep(0.005)
    return answered


def operators_of(service: Service) -> str:
    """The URL of `server.ops_bind`. Its log line comes just after the service is ready."""
    found = re.compile(r"serving operators on (http://127\.0\.0\.1:\d+)")
    until(lambda: found.search(service.log()), what="the address for operators")
    (url,) = found.findall(service.log())
    return str(url)
