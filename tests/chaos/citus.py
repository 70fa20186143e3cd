"""Inject faults into a real Citus cluster under load: `python -m tests.chaos.citus --url URL --server DIR --server DIR ...`

Three nodes record events on an empty database of the cluster, whose servers run on this machine: the data directory of the
coordinator comes first, then those of the workers. A directory given by `--spare` belongs to a server that is added.
Servers and nodes are killed and frozen, shards moved and split, partitions made and dropped. Then the history of all answers
is judged, and the counts are compared with the rows. Exits with 1 if a promise was broken.
"""

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import trio

from actors.clock import SystemClock, day_of
from actors.events.messages import Kind, Unit
from actors.events.state import VisitorHasher
from service.running.server_secret import derived
from tests.acceptance.postgres import free_port
from tests.acceptance.processes import SECRET, Service, Settings, children_of, serving
from tests.chaos.auditor import audit
from tests.chaos.campaign import SETTINGS as ALONE
from tests.chaos.campaign import VISIBLE_MS, complaints
from tests.chaos.cores import watch_cores
from tests.chaos.history import LOST, Answers, Stored, Waits
from tests.chaos.judge import ANSWER_SECONDS, FINE, HEALED_SECONDS, broken_counts
from tests.chaos.readers import Owner
from tests.chaos.recording import judged, recording
from tests.chaos.setting import founded
from tests.chaos.stored import COUNTS, EVERY_KEY, SECRETS, SITE_COUNTS, add_counts
from tests.chaos.websites import Website

Address = tuple[str, int]

NODES = 3
WEBSITES = 24
DOWN_SECONDS = (0.5, 3.0)
"""How long a fault lasts."""
CALM_SECONDS = 2.0
"""The pause after a fault healed."""
REFUSE_SUPERUSER = """
select pg_reload_conf(), pg_sleep(0.5), (
    select count(pg_terminate_backend(pid)) from pg_stat_activity where usename = 'postgres' and pid <> pg_backend_pid()
)
"""
"""Applies the changed rules of a server, and ends the connections that they refuse from now on."""
UNCHECKED = """
create or replace function require_local_places(at_place smallint, of_keys bytea[]) returns void language plpgsql
    as 'begin end'
"""
SETTINGS: Settings = {**ALONE, "database.distributed": "true", "events.per_booking_per_hour": 0}


@dataclass(slots=True)
class Server:
    """A server of the cluster, on this machine."""

    directory: Path
    pg_ctl: str

    @property
    def pid(self) -> int:
        return int(self._line(0))

    @property
    def port(self) -> int:
        return int(self._line(3))

    def _line(self, number: int) -> str:
        return (self.directory / "postmaster.pid").read_text().splitlines()[number]

    def kill(self) -> None:
        """Kill -9 the server with all its processes, as a machine that loses its power."""
        for pid in (self.pid, *children_of(self.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # Its parent may never ask how it ended, and then its number stays in use.
        lock = Path(self._line(4)) / f".s.PGSQL.{self.port}.lock"
        (self.directory / "postmaster.pid").unlink()
        lock.unlink(missing_ok=True)

    def start(self) -> None:
        owner = (self.directory / "PG_VERSION").stat().st_uid
        # Its own log file keeps what it says.
        words = [self.pg_ctl, "-D", str(self.directory), "-l", str(self.directory / "chaos.log"), "-w", "start"]
        subprocess.run(
            words, check=True, user=owner, stdout=subprocess.DEVNULL, cwd="/", env={"HOME": str(self.directory)}
        )

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the server and all its processes."""
        for pid in (self.pid, *children_of(self.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, number)


@dataclass(slots=True)
class Cluster:
    """The servers, and how to ask the coordinator."""

    url: str
    servers: list[Server]
    spare: Server | None
    added: bool = False

    async def ask(self, statement: str, *, admin: bool = False, port: int | None = None) -> list[Any]:
        """Ask the coordinator, or the server of a port, as the service's role or as the superuser."""
        parts = urlsplit(self.url)
        user, place = parts.username, f"{parts.hostname}:{port or parts.port}"
        url = urlunsplit(parts._replace(netloc=f"{'postgres' if admin else user}@{place}"))

        async def work() -> list[Any]:
            connection = await asyncpg.connect(
                url, timeout=20, server_settings={"citus.override_table_visibility": "off"}
            )
            try:
                rows: list[Any] = await connection.fetch(statement)
                return rows
            finally:
                connection.terminate()

        return await trio.to_thread.run_sync(asyncio.run, work())

    async def change(self, statement: str) -> None:
        """Change the cluster, once the engine has ended other work on its tables."""
        for _ in range(20):
            try:
                await self.ask(statement, admin=True)
                return
            except asyncpg.PostgresError as error:
                if "could not acquire the lock" not in str(error):
                    raise
            await trio.sleep(0.5)
        raise TimeoutError(statement)


@dataclass(slots=True)
class Node:
    """A node of the service, which may be killed and started again at the same address."""

    number: int
    start: Callable[[], Service]
    service: Service


@dataclass(slots=True)
class Run:
    """The run so far."""

    cluster: Cluster
    nodes: list[Node]
    chance: random.Random
    bookings: Sequence[str]
    answers: Answers
    spans: list[tuple[int, float, float]] = field(default_factory=list)
    """Times in which a node was frozen: the node, begin and end."""
    waits: defaultdict[int, Waits] = field(default_factory=lambda: defaultdict(Waits))
    faults: list[Callable[["Run"], Awaitable[None]]] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    made: dict[str, int] = field(default_factory=dict)
    unchecked: bool = False
    """Whether the check of places is removed, once the nodes know the added server by it."""

    def pids(self) -> dict[int, int]:
        return {node.number: node.service.process.pid for node in self.nodes}

    async def some_seconds(self) -> None:
        await trio.sleep(self.chance.uniform(*DOWN_SECONDS))


# Faults.


async def kill_worker(run: Run) -> None:
    await _killed(run, run.chance.choice(run.cluster.servers[1:]))


async def kill_coordinator(run: Run) -> None:
    await _killed(run, run.cluster.servers[0])


async def _killed(run: Run, server: Server) -> None:
    server.kill()
    await run.some_seconds()
    await trio.to_thread.run_sync(server.start)


async def freeze_worker(run: Run) -> None:
    await _frozen(run, run.chance.choice(run.cluster.servers[1:]))


async def freeze_coordinator(run: Run) -> None:
    await _frozen(run, run.cluster.servers[0])


async def _frozen(run: Run, server: Server) -> None:
    server.send(signal.SIGSTOP)
    try:
        await run.some_seconds()
    finally:
        server.send(signal.SIGCONT)


async def kill_node(run: Run) -> None:
    node = run.chance.choice(run.nodes)
    node.service.kill()
    await run.some_seconds()
    node.service = await trio.to_thread.run_sync(node.start)


async def freeze_node(run: Run) -> None:
    node = run.chance.choice(run.nodes)
    began = trio.current_time()
    os.kill(node.service.process.pid, signal.SIGSTOP)
    try:
        await run.some_seconds()
    finally:
        os.kill(node.service.process.pid, signal.SIGCONT)
        run.spans.append((node.number, began, trio.current_time()))


async def move_shard(run: Run) -> None:
    shard, source, *others = await _placement(run)
    await _moved(run, shard, source, run.chance.choice(others))


async def _moved(run: Run, shard: int, source: Address, target: Address) -> None:
    how = run.chance.choice(["force_logical", "block_writes"])
    await run.cluster.change(
        f"select citus_move_shard_placement({shard}, '{source[0]}', {source[1]}, '{target[0]}', {target[1]}, '{how}')"
    )


async def split_shard(run: Run) -> None:
    rows = await run.cluster.ask(
        "select shardid, shardminvalue::int as first, shardmaxvalue::int as last, nodeid from pg_dist_shard "
        "join pg_dist_placement using (shardid) join pg_dist_node using (groupid) "
        "where logicalrelid = 'event_keys'::regclass and shardminvalue <> shardmaxvalue"
    )
    row = run.chance.choice(rows)
    middle = (row["first"] + row["last"]) // 2
    await run.cluster.ask(
        f"select citus_split_shard_by_split_points({row['shardid']}, array['{middle}'], "
        f"array[{row['nodeid']}, {row['nodeid']}], 'block_writes')",
        admin=True,
    )


async def add_worker(run: Run) -> None:
    if run.cluster.spare is None or run.cluster.added:
        await move_shard(run)
        return
    run.cluster.added = True
    run.cluster.servers.append(run.cluster.spare)
    added = "127.0.0.1", run.cluster.spare.port
    await run.cluster.ask(f"select citus_add_node('127.0.0.1', {run.cluster.spare.port})", admin=True)
    for _ in range(4):
        while (placement := await _placement(run))[1] == added:
            pass
        await _moved(run, placement[0], placement[1], added)


async def remove_worker(run: Run) -> None:
    """Drain the added server and remove it from the cluster. It goes on answering, without the tables of the cluster."""
    if run.cluster.spare is None or not run.cluster.added or run.cluster.spare not in run.cluster.servers:
        await add_worker(run)
        return
    name = f"'127.0.0.1', {run.cluster.spare.port}"
    await run.cluster.change(f"select citus_drain_node({name}, 'force_logical')")
    await run.cluster.ask(f"select citus_remove_node({name})", admin=True)
    run.cluster.servers.remove(run.cluster.spare)


async def forget_worker(run: Run) -> None:
    """Drain the added server and remove it while the coordinator cannot reach it, so that it goes on answering as if it
    knew where the places are. Then they move."""
    spare = run.cluster.spare
    if spare is None or not run.cluster.added or spare not in run.cluster.servers:
        await add_worker(run)
        return
    name = f"'127.0.0.1', {spare.port}"
    await run.cluster.change(f"select citus_drain_node({name}, 'force_logical')")
    rules = spare.directory / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"host all postgres all reject\n{before}")
    try:
        # Only the superuser can end the coordinator's connections. Its own is the last to pass.
        await run.cluster.ask(REFUSE_SUPERUSER, admin=True, port=spare.port)
        await run.cluster.ask(f"select citus_remove_node({name})", admin=True)
        run.cluster.servers.remove(spare)
        for _ in range(6):
            await move_shard(run)
            await trio.sleep(CALM_SECONDS)
    finally:
        rules.write_text(before)
        os.kill(spare.pid, signal.SIGHUP)


async def change_partitions(run: Run) -> None:
    """Make a day and drop it, as nodes do."""
    day = 10_000 + run.chance.randrange(5_000)
    await run.cluster.ask(f"create table event_keys_{day} (like event_keys including all)")
    await run.cluster.ask(f"alter table event_keys attach partition event_keys_{day} for values in ({day})")
    await run.cluster.ask(f"drop table event_keys_{day}")


async def _placement(run: Run) -> list[Any]:
    """A shard of the keys, the server that holds it, and the others."""
    rows = await run.cluster.ask(
        "select shardid, nodename, nodeport from pg_dist_shard join pg_dist_placement using (shardid) "
        "join pg_dist_node using (groupid) where logicalrelid = 'event_keys'::regclass"
    )
    nodes = await run.cluster.ask("select nodename, nodeport from pg_dist_node where shouldhaveshards and isactive")
    row = run.chance.choice(rows)
    source = row["nodename"], row["nodeport"]
    return [row["shardid"], source, *({(each["nodename"], each["nodeport"]) for each in nodes} - {source})]


FAULTS: list[Callable[[Run], Awaitable[None]]] = [
    kill_worker,
    freeze_worker,
    kill_coordinator,
    freeze_coordinator,
    kill_node,
    freeze_node,
    move_shard,
    split_shard,
    add_worker,
    change_partitions,
    remove_worker,
    forget_worker,
]


# The run.


async def suffer(run: Run, seconds: float, out: Callable[[str], None]) -> None:
    """Inject faults one after the other, each kind once before any comes again."""
    ends = trio.current_time() + seconds
    while trio.current_time() < ends:
        for fault in run.chance.sample(run.faults, len(run.faults)):
            name = _name(fault)
            began = trio.current_time()
            try:
                await fault(run)
            except asyncpg.PostgresError as error:
                out(f"{name}: refused by the engine: {error}")
            took = trio.current_time() - began
            healed = await _healed(run)
            run.made[name] = run.made.get(name, 0) + 1
            out(f"{name}: took {took:.1f} s, healed after {healed:.2f} s")
            if run.unchecked and (run.cluster.added or run.cluster.spare is None):
                await run.cluster.ask(UNCHECKED)
                run.unchecked = False
            if healed > HEALED_SECONDS:
                run.found.append(
                    f"{name}: a node recorded an event {healed:.1f} s after the end, not within {HEALED_SECONDS:g} s"
                )
            if len(run.faults) > 1:
                await trio.sleep(CALM_SECONDS)


def _name(fault: Callable[[Run], Awaitable[None]]) -> str:
    return fault.__name__.replace("_", " ")


async def _healed(run: Run) -> float:
    """Seconds until each node records events in all places again."""
    began = trio.current_time()
    for node in run.nodes:
        probe = Website({node.number: node.service.url}, run.answers, run.chance, bookings=run.bookings)
        while True:
            events = [probe._event(Unit.DEVICE) for _ in range(60)]
            reply = await probe.report_batch("probe", events)
            if reply is not None and reply.status == 200 and "error" not in str(reply.json()):
                break
            await trio.sleep(0.05)
        probe.close()
    return trio.current_time() - began


def judge(run: Run, after: Stored, days: range) -> list[str]:
    """Every broken promise that the history does not show."""
    hasher = VisitorHasher(derived(SECRET.encode(), "visitors"))
    found = [*run.found, *broken_counts(run.answers, after, hasher, days)]
    found += [f"no answer at the end: {each}" for each in run.answers.unanswered]
    for request in run.answers.notable:
        frozen = sum(
            max(0.0, min(ended, request.ended) - max(began, request.began))
            for node, began, ended in run.spans
            if node == request.node
        )
        starved = run.waits[request.node].between(request.began, request.ended)
        if request.outcome != LOST and request.seconds - frozen - starved > ANSWER_SECONDS:
            found.append(f"no answer within {ANSWER_SECONDS:g} s: {request}, {starved:.2f} s of it without a full core")
    for what, counts in run.answers.outcomes.items():
        found += [f"{what}: {times} times {outcome}" for outcome, times in counts.items() if outcome not in FINE]
    return found


async def campaign(
    cluster: Cluster,
    seed: int,
    seconds: float,
    place: Path,
    out: Callable[[str], None],
    *,
    unchecked: bool = False,
    only: str = "",
) -> list[str]:
    """Run for about `seconds`. Returns every broken promise."""
    began_ms = SystemClock().now_ms()
    with recording(f"citus-{seed}", visible_ms=VISIBLE_MS) as history, ExitStack() as services:
        nodes = [await trio.to_thread.run_sync(_node, services, place, number, cluster.url) for number in range(NODES)]
        answers = Answers(history)
        setting = await founded(nodes[0].service, answers)
        run = Run(cluster, nodes, random.Random(seed), setting.bookings, answers)
        run.faults = [fault for fault in FAULTS if only in _name(fault)]
        run.unchecked = unchecked
        stop = trio.Event()
        urls = {node.number: node.service.url for node in nodes}
        async with trio.open_nursery() as watching:
            watching.start_soon(watch_cores, run.pids, run.waits)
            async with trio.open_nursery() as nursery:
                for number in range(WEBSITES):
                    chance = random.Random(f"{number} of {seed}")
                    nursery.start_soon(Website(urls, answers, chance, stop, bookings=run.bookings).run)
                key = setting.accounts[0].key
                owner = Owner(urls, answers, random.Random(seed), stop, key=key, bookings=run.bookings)
                nursery.start_soon(owner.run)
                await suffer(run, seconds, out)
                stop.set()
            watching.cancel_scope.cancel()
        await audit(urls, answers, setting)
        for node in nodes:
            node.service.terminate()
            code = await trio.to_thread.run_sync(node.service.wait)
            if code:
                run.found.append(f"node {node.number} ended with {code}")
        run.found += await trio.to_thread.run_sync(_complaints, place)
    after = Stored()
    for booking, day, key, click in await cluster.ask(EVERY_KEY):
        after.rows[key] = booking, day, Kind.CLICK if click else Kind.IMPRESSION
    after.secrets = dict(await cluster.ask(SECRETS))
    add_counts(after, await cluster.ask(COUNTS), await cluster.ask(SITE_COUNTS))
    out(
        f"{run.answers.requests:,} requests, {run.answers.recorded.total():,} events recorded, {len(after.rows):,} rows"
    )
    for what, counts in run.answers.outcomes.items():
        out(f"{what}: " + ", ".join(f"{outcome} {times:,}" for outcome, times in counts.most_common()))
    out(
        f"slowest answer {run.answers.slowest:.2f} s; "
        + ", ".join(f"{what} {times}" for what, times in run.made.items())
    )
    broken, told = judged(history.path)
    for line in told:
        out(line)
    return [*broken, *judge(run, after, range(day_of(began_ms), day_of(SystemClock().now_ms()) + 1))]


def _complaints(place: Path) -> list[str]:
    return complaints([log.read_text(errors="replace") for log in sorted(place.glob("*.err"))])


def _node(services: ExitStack, place: Path, number: int, url: str) -> Node:
    bind = f"127.0.0.1:{free_port()}"
    settings = {**SETTINGS, "database.url": url}

    def start() -> Service:
        return services.enter_context(serving(place / f"node-{number}", settings, bind=bind))

    return Node(number, start, start())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.citus", description=__doc__)
    parser.add_argument("--url", required=True, help="an empty database of the coordinator")
    parser.add_argument(
        "--server", type=Path, action="append", required=True, help="data directory, the coordinator first"
    )
    parser.add_argument("--spare", type=Path, help="data directory of a server to add")
    parser.add_argument("--pg-ctl", default="pg_ctl", help="the program that starts a server")
    parser.add_argument(
        "--unchecked", action="store_true", help="without the check of places, to see that it is needed"
    )
    parser.add_argument("--only", default="", help="only faults whose name contains this, and no pauses between them")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args()

    def out(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    out(f"seed {given.seed}")
    servers = [Server(each, given.pg_ctl) for each in given.server]
    cluster = Cluster(given.url, servers, given.spare and Server(given.spare, given.pg_ctl))
    with tempfile.TemporaryDirectory(prefix="chaos-") as directory:
        place = Path(directory)
        place.chmod(0o711)
        run = partial(
            campaign, cluster, given.seed, 60.0 * given.minutes, place, out, unchecked=given.unchecked, only=given.only
        )
        found = trio.run(run)
    for line in found[:50]:
        out(f"BROKEN: {line}")
    out(f"promises broken: {len(found)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
