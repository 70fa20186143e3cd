"""A mirror that follows `/changes` has every byte of the catalog after many edits, while nodes are killed.

`CATALOG_TEST_SEED` repeats a run: the edits, their nodes, and the kills.
"""

import os
import random
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Self

import pytest
import trio

from tests.acceptance.clients import Reply, Torn, Unanswered, Wire
from tests.acceptance.fleet import Fleet, Kills
from tests.acceptance.postgres import PostgresServer
from tests.acceptance.processes import SECRET, Settings

SEED = int(os.environ.get("CATALOG_TEST_SEED") or random.SystemRandom().randrange(10**6))
NODES, EDITORS, EDITS = 3, 24, 10_000
ROUNDS = 5
"""In each, every node is killed once."""
SLUGS = 60
PLENTY = 1_000_000
PAUSE_SECONDS = 0.05
SETTINGS: Settings = {
    "server.secret": SECRET,
    "log.level": "warning",
    "tiers.claimed.daily": PLENTY,
    "tiers.claimed.monthly": PLENTY,
    "tiers.claimed.per_minute": PLENTY,
}
LISTS = {"bots": "name", "usecases": "title"}


@pytest.fixture(scope="module")
def fleet(external: PostgresServer, playground: Path) -> Iterator[Fleet]:
    with ExitStack() as services:
        places = [playground / f"mirrored-{number}" for number in range(NODES)]
        yield Fleet(services, places, {**SETTINGS, "database.url": external.url(external.fresh_database())})


class Asker:
    """A client with a key that asks any node, and asks again while nodes are killed."""

    def __init__(self, fleet: Fleet, key: str, chance: random.Random) -> None:
        self.fleet, self.key, self.chance = fleet, key, chance
        self._wires: dict[str, Wire] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for wire in self._wires.values():
            wire.close()

    async def ask(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Reply:
        while True:
            url = self.chance.choice(self.fleet.urls)
            try:
                if url not in self._wires:
                    self._wires[url] = await Wire.open(url)
                wire = self._wires[url]
                with trio.fail_after(20):
                    await wire.send(path, self.key, method=method, body=body, headers=headers)
                    reply = await wire.read()
                if reply.status not in (429, 503):
                    return reply
            except (OSError, Unanswered, Torn, trio.BrokenResourceError):
                if url in self._wires:
                    self._wires.pop(url).close()
            await trio.sleep(PAUSE_SECONDS)


async def edit(asker: Asker, number: int) -> None:
    """Put or retire a random entry, sometimes only the version that was read."""
    chance = asker.chance
    kind, slug = chance.choice(list(LISTS)), f"entry-{chance.randrange(SLUGS)}"
    headers = {}
    if chance.random() < 0.3:
        read = await asker.ask("GET", f"/api/v1/{kind}/{slug}")
        headers = {"if-match": read.headers["etag"]} if read.status == 200 else {"if-none-match": "*"}
    path = f"/api/v1/admin/catalog/{kind}/{slug}"
    if chance.random() < 0.3:
        headers.pop("if-none-match", None)
        reply = await asker.ask("DELETE", path, headers=headers)
    else:
        reply = await asker.ask("PUT", path, entry(kind, number), headers)
    assert reply.status in (200, 404, 412), reply.body


def entry(kind: str, number: int) -> bytes:
    own = '"job":"Helps.","templateUrl"' if kind == "bots" else '"roi":"Much","sourceUrl"'
    return (
        f'{{"{LISTS[kind]}":"Number {number}","who":"A","handle":"@a",{own}:"https://example.com/{number}"}}'.encode()
    )


class Mirror:
    """Entries by kind and slug. A page of changes counts once each entry was read as new as its change."""

    def __init__(self, asker: Asker) -> None:
        self.asker, self.entries, self.cursor = asker, dict[tuple[str, str], bytes](), ""

    async def step(self) -> bool:
        """Read a page. False if there was nothing new, or if a node is behind."""
        page = (await self.asker.ask("GET", f"/api/v1/changes?limit=100&cursor={self.cursor}")).json()
        found = dict[tuple[str, str], bytes | None]()
        for change in page["data"]:
            name = change["kind"], change["slug"]
            found[name] = None if change["change"] == "removed" else await self._read(change)
            if found[name] is None and change["change"] != "removed":
                return False
        for name, document in found.items():
            if document is None:
                self.entries.pop(name, None)
            else:
                self.entries[name] = document
        self.cursor = page["nextCursor"]
        return bool(found)

    async def _read(self, change: dict[str, Any]) -> bytes | None:
        reply = await self.asker.ask("GET", f"/api/v1/{change['kind']}/{change['slug']}")
        return reply.body if reply.status == 200 and reply.json()["updatedAt"] >= change["at"] else None


async def copied(url: str, key: str) -> dict[str, bytes]:
    """The lists of a node, byte by byte."""
    wire, found = await Wire.open(url), dict[str, bytes]()
    for kind in LISTS:
        cursor, parts = "", []
        while cursor is not None:
            page = await wire.get(f"/api/v1/{kind}?limit=100&cursor={cursor}", key)
            parts.append(page.body.partition(b'{"data":[')[2].rpartition(b'],"nextCursor":')[0])
            cursor = page.json()["nextCursor"]
        found[kind] = b",".join(parts)
    wire.close()
    return found


def of_mirror(mirror: Mirror) -> dict[str, bytes]:
    """The same of a mirror, in the order of the lists."""
    found = {}
    for kind in LISTS:
        own = [(slug, document) for (of, slug), document in mirror.entries.items() if of == kind]
        added = {slug: int(document.partition(b'"addedAt":')[2].split(b",")[0]) for slug, document in own}
        found[kind] = b",".join(document for _, document in sorted(own, key=lambda each: (-added[each[0]], each[0])))
    return found


async def test_a_mirror_is_equal_to_each_node_after_many_edits_with_nodes_killed(fleet: Fleet) -> None:
    chance = random.Random(SEED)
    fleet.nodes[0].command("grant-admin", "admin@example.com")
    key = fleet.nodes[0].command("issue-key", "--email", "admin@example.com", "--admin").strip()
    edited = trio.Event()

    async def editing(kills: Kills, seed: str, first: int) -> None:
        with Asker(fleet, key, random.Random(seed)) as asker:
            for number in range(first, first + EDITS // ROUNDS // EDITORS + 1):
                await edit(asker, number)
                kills.note()

    async def editing_round(kills: Kills, number: int) -> None:
        async with trio.open_nursery() as nursery:
            for place in range(EDITORS):
                nursery.start_soon(editing, kills, f"{SEED} {number} {place}", (number * EDITORS + place) * EDITS)

    async def following(mirror: Mirror) -> None:
        while not edited.is_set():
            if not await mirror.step():
                await trio.sleep(PAUSE_SECONDS)

    with Asker(fleet, key, random.Random(SEED + 1)) as asker:
        mirror = Mirror(asker)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(following, mirror)
            for number in range(ROUNDS):
                kills = Kills.of_each_node(fleet, chance, EDITS // ROUNDS)
                await kills.during(partial(editing_round, kills, number))
                assert kills.done == NODES
            edited.set()
        await _equal(fleet, key, mirror)
    assert not fleet.complaints(), f"seed {SEED}"


async def _equal(fleet: Fleet, key: str, mirror: Mirror) -> None:
    """Wait until all nodes and the mirror have the same bytes."""
    expected = await copied(fleet.urls[0], key)
    with trio.fail_after(30):
        while of_mirror(mirror) != expected or len({str(await copied(url, key)) for url in fleet.urls}) > 1:
            await mirror.step()
            expected = await copied(fleet.urls[0], key)
    assert expected["bots"], "there is something to mirror"
