"""An attack on search: many addresses of one network, with many anonymous keys, ask for what costs the index most."""

import json
import random
import subprocess
import sys
from itertools import cycle
from pathlib import Path
from urllib.parse import urlencode

import trio

from bench.generate_catalog import COMMON_WORDS
from tests.abuse.ground import Ground
from tests.abuse.node import PLACEMENTS, Watched
from tests.abuse.probe import VISITOR, Errand
from tests.acceptance.prepared import REPOSITORY
from tests.acceptance.processes import Settings, command

KEYS, CONNECTIONS = 10, 40
ADDRESSES = [f"127.0.1.{number}" for number in range(1, 21)]
"""The attacker's addresses, in another network (/24) than the probe's."""
SEARCHED: Settings = {
    "database.connections": 8,
    # No limit per minute holds the attacker, so its searches and those of the probe wait for the same threads.
    "keyless.per_minute": 1_000_000,
    "mint.per_hour": 1_000,
    "tiers.anonymous.per_minute": 1_000_000,
    "tiers.anonymous.lifetime": 1_000_000,
    "tiers.anonymous.daily": 1_000_000,
    "tiers.anonymous.usecase_reads": 1_000_000,
}
"""Settings of a node under this attack, with as many connections to the database as by default."""
BUSY_SECONDS = 0.05
"""The pause after a refusal, so that the attack is on the index and not on the node's HTTP."""

SEARCH = Errand("GET", f"/api/v1/usecases?limit=5&q=orchard+choir+-x{VISITOR}", 200)
ERRANDS = [PLACEMENTS, SEARCH, PLACEMENTS, PLACEMENTS]
"""The requests of a reader elsewhere: each search is another one, so none is answered from memory."""


def import_large_catalog(node: Watched, entries: int, place: Path) -> None:
    """Replace the catalog of a running node with a generated one."""
    file = place / "catalog.jsonl"
    with file.open("wb") as output:
        subprocess.run(
            [sys.executable, "bench/generate_catalog.py", str(entries)], cwd=REPOSITORY, stdout=output, check=True
        )
    command("import-catalog", file, "--prune", "--data-dir", node.service.data_dir)


async def search_hog(ground: Ground) -> None:
    """40 connections from 20 addresses of one network, with 10 keys, search for excluded phrases without a pause."""
    addresses = cycle(ADDRESSES)
    keys = [await _minted(ground) for _ in range(KEYS)]

    async def one(ground: Ground) -> None:
        async with ground.connection(source=next(addresses)) as stream:
            while True:
                query = urlencode({"q": _excluded_phrases(), "limit": 100})
                key = f"authorization: Bearer {random.choice(keys)}\r\n".encode()
                status, _ = await _exchanged(stream, f"GET /api/v1/usecases?{query}".encode(), key)
                ground.counts["requests"] += 1
                ground.counts[f"status {status}"] += 1
                if status in (429, 503):
                    await trio.sleep(BUSY_SECONDS)

    await ground.many(CONNECTIONS, one)


def _excluded_phrases() -> str:
    words = COMMON_WORDS.split()
    return " ".join(f'-"{random.choice(words)} {random.choice(words)}"' for _ in range(8))[:200]


async def _minted(ground: Ground) -> str:
    async with ground.connection() as stream:
        status, body = await _exchanged(stream, b"POST /api/v1/auth/agent", b"content-length: 0\r\n")
        assert status == 200, body
        key: str = json.loads(body)["apiKey"]
    return key


async def _exchanged(stream: trio.SocketStream, request: bytes, headers: bytes) -> tuple[int, bytes]:
    """The status and the body of the response. Raises `ConnectionError` if the node ends the connection."""
    await stream.send_all(request + b" HTTP/1.1\r\nhost: node.example.com\r\n" + headers + b"\r\n")
    data = b""
    while b"\r\n\r\n" not in data:
        data += await _more(stream)
    head, _, body = data.partition(b"\r\n\r\n")
    lines = dict(line.split(b": ", 1) for line in head.lower().split(b"\r\n")[1:])
    while len(body) < int(lines[b"content-length"]):
        body += await _more(stream)
    return int(head.split(b" ")[1]), body


async def _more(stream: trio.SocketStream) -> bytes:
    data = bytes(await stream.receive_some(65_536))
    if not data:
        raise ConnectionError("closed before the answer was whole")
    return data
