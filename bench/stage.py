"""The programs under measurement: the service with a catalog and bookings, and its peers on the same Postgres."""

import asyncio
import itertools
import json
import os
import random
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from bench.generate_catalog import COMMON_WORDS, generate
from bench.ledger import Ledger, open_ledger
from bench.peers.asgi_app import Responses
from bench.programs import (
    BEFORE,
    CONSTANT,
    ENGINE,
    FASTAPI,
    HYPERCORN,
    OURS,
    Cores,
    Program,
    Starting,
    constant,
    engine,
    fastapi,
    import_catalog,
    joining,
    postmaster_of,
    service,
)
from bench.scenarios import KEYS, Kind, Scenario
from bench.workloads import Events, Reads, Workload, read

SLUGS = 256
BOOKINGS = 16
"""Live bookings with events, in addition to the demo's placements."""
RELOAD_SECONDS = 60.0
SERVERS_OWN = ("connection", "date", "server")
"""Headers that a server adds."""

LIST = "/api/v1/usecases?limit=20"
PATHS = {
    Kind.LIST: LIST,
    Kind.PLACEMENTS: "/api/v1/sponsors/placements",
    Kind.INVENTORY: "/api/v1/sponsors/inventory",
}


@dataclass(slots=True)
class Stage:
    """The running programs and the subjects of requests. `chance` gives every run its own visitors."""

    programs: dict[str, Program]
    ledger: Ledger
    cores: Cores
    data_dir: Path
    postmaster: int
    bookings: Sequence[str]
    keys: Sequence[str] = ()
    slugs: Sequence[str] = ()
    chance: random.Random = field(default_factory=random.SystemRandom)

    @property
    def service(self) -> Program:
        return self.programs[OURS]

    def workload(self, scenario: Scenario) -> Workload:
        """The workload of one run. Every run searches in another order, so that few responses come from a cache."""
        match scenario.kind:
            case Kind.EVENT | Kind.BATCH:
                return self.events(scenario.size, scenario.repeats)
            case Kind.SEARCH:
                pairs = list(itertools.permutations(COMMON_WORDS.split(), 2))
                self.chance.shuffle(pairs)
                return Reads([read(search_path(" ".join(pair))) for pair in pairs])
            case Kind.ITEM:
                paths = [entry_path(slug) for slug in self.slugs]
            case _:
                paths = [PATHS[scenario.kind]]
        if not scenario.keys:
            return Reads([read(path) for path in paths])
        keys = self.keys[: scenario.keys]
        turns = zip(range(max(len(paths), len(keys))), itertools.cycle(paths), itertools.cycle(keys), strict=False)
        return Reads([read(path, f"Bearer {key}") for _, path, key in turns])

    def events(self, size: int, repeats: int) -> Events:
        return Events(self.bookings, self.chance.getrandbits(52), size, repeats)


@asynccontextmanager
async def set_up(
    entries: int,
    data_dir: Path | None,
    *,
    alone: bool = False,
    anywhere: bool = False,
    other: Path | None = None,
) -> AsyncIterator[Stage]:
    """Start the service with a catalog of `entries` and, unless `alone`, the peers on the same Postgres, with a node of the
    checkout `other` if there is one. Programs and generator are pinned to different cores unless `anywhere`."""
    cores = Cores(None, None) if anywhere else Cores.of_this_machine()
    async with AsyncExitStack() as stack:
        place = stack.enter_context(temporary_place())
        data_dir = data_dir or place / "data"
        tell("starting the service")
        programs = {OURS: await stack.enter_async_context(service(data_dir, place, cores.server))}
        ledger = await stack.enter_async_context(open_ledger(data_dir))
        if await ledger.entries() != entries:
            tell(f"importing a catalog of {entries:,} entries")
            file = place / "catalog.jsonl"
            write_catalog(file, entries)
            await import_catalog(file, data_dir, place)
        bookings = await ledger.book(BOOKINGS, int(time.time() * 1000))
        await ledger.settle()
        stage = Stage(programs, ledger, cores, data_dir, postmaster_of(data_dir), bookings)
        if not alone:
            tell("starting its peers")
            older = [] if other is None else [joining(BEFORE, data_dir, place, other, cores.server)]
            await _enter_all(stack, stage, [*peers(data_dir, place, cores.server), *older])
        minted = [await fetch(stage.service, "/api/v1/auth/agent", method="POST") for _ in range(KEYS)]
        stage.keys = [json.loads(answer)["apiKey"] for answer in minted]
        stage.slugs = await ledger.slugs(SLUGS)
        await check_that_answers_agree(stage)
        if not alone:
            responses = place / "responses.json"
            responses.write_text(json.dumps(await asyncio.to_thread(recorded, stage.service, constant_paths(stage))))
            await _enter_all(stack, stage, [constant(name, responses, place, cores.server) for name in CONSTANT])
            await check_that_answers_agree(stage)
        yield stage


def peers(data_dir: Path, place: Path, core: int | None) -> list[Starting]:
    """The peers, not yet started. They read the live bookings at their start, so those must exist."""
    return [
        joining(HYPERCORN, data_dir, place, core=core, SERVER__ENGINE="hypercorn"),
        *(fastapi(name, data_dir, place, core) for name in FASTAPI),
        engine(place, core),
    ]


async def _enter_all(stack: AsyncExitStack, stage: Stage, starting: Iterable[Starting]) -> None:
    """Start programs at once. If one fails, all of them are stopped."""
    async with asyncio.TaskGroup() as tasks:
        started = [tasks.create_task(stack.enter_async_context(each)) for each in starting]
    stage.programs |= {each.result().name: each.result() for each in started}


def constant_paths(stage: Stage) -> list[str]:
    return [PATHS[Kind.PLACEMENTS], *map(entry_path, stage.slugs)]


def recorded(program: Program, paths: Iterable[str]) -> Responses:
    """The responses of a program, without the headers that a server adds to those of its application."""
    responses = {}
    for path in paths:
        with urllib.request.urlopen(f"http://127.0.0.1:{program.port}{path}", timeout=20) as answer:
            headers = [(name.lower(), value) for name, value in answer.headers.items()]
            responses[path] = [each for each in headers if each[0] not in SERVERS_OWN], answer.read().decode()
    return responses


def write_catalog(file: Path, entries: int) -> None:
    with file.open("w", encoding="utf-8") as lines:
        lines.writelines(f"{line}\n" for line in generate(entries, seed=1))


@contextmanager
def temporary_place() -> Iterator[Path]:
    """A directory on a disk, because a commit costs nothing on a file system in memory."""
    disk = "/var/tmp" if os.access("/var/tmp", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="bench-", dir=disk) as directory:
        place = Path(directory).resolve()
        place.chmod(0o755)  # Postgres may run as another user
        yield place


async def check_that_answers_agree(stage: Stage) -> None:
    """Assert that all programs return the same bodies, and for a search as many entries, since each ranks by its own rules.
    The peers leave out `updatedAt`, which their table lacks. Waits for the service to load the import."""
    alive = [program for program in stage.programs.values() if program.name not in (ENGINE, *CONSTANT)]
    fixed = [program for program in stage.programs.values() if program.name in CONSTANT]
    search = search_path("invoice report")
    for path in [*PATHS.values(), search, entry_path(stage.slugs[0])]:
        asked = [*alive, *fixed] if path in constant_paths(stage) else alive
        for attempt in itertools.count():
            bodies = [json.loads(await fetch(program, path)) for program in asked]
            for body in bodies:
                body.pop("nextCursor", None)  # programs differ in spelling
                for entry in (body, *body.get("data", ())):
                    entry.pop("updatedAt", None)
                if path == search:
                    body["data"] = len(body["data"])
            if all(body == bodies[0] for body in bodies):
                break
            if attempt >= RELOAD_SECONDS:
                others = [each.name for each, body in zip(asked, bodies, strict=True) if body != bodies[0]]
                raise RuntimeError(f"{', '.join(others)} and {asked[0].name} do not answer the same to GET {path}")
            await asyncio.sleep(1)
    for program in [*alive, *(each for each in stage.programs.values() if each.name == ENGINE)]:
        await check_that_an_event_is_recorded(stage, program)


async def check_that_an_event_is_recorded(stage: Stage, program: Program) -> None:
    events = stage.events(1, 0)
    body = next(events.requests()).partition("~~")[2]
    answer = json.loads(await fetch(program, events.path, method="POST", body=body.encode()))
    if answer != {"recorded": True}:
        raise RuntimeError(f"{program.name} answers an event with {answer}")


async def fetch(program: Program, path: str, *, method: str = "GET", body: bytes | None = None) -> bytes:
    """The body of one response. Raises unless it is 2xx."""
    headers = {} if body is None else {"content-type": "application/json"}
    url = f"http://127.0.0.1:{program.port}{path}"
    request = urllib.request.Request(url, data=body, method=method, headers=headers)

    def ask() -> bytes:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return bytes(answer.read())

    return await asyncio.to_thread(ask)


def entry_path(slug: str) -> str:
    return f"/api/v1/usecases/{slug}"


def search_path(words: str) -> str:
    return f"/api/v1/usecases?{urlencode({'q': words, 'limit': 20})}"


def tell(words: str) -> None:
    sys.stderr.write(f"bench: {words}\n")
    sys.stderr.flush()
