"""Does a node stay as it is for hours? `python -m bench.soak --minutes 25` soaks one in pieces, which can be days apart.

One node with its embedded Postgres and years of rows gets the requests of `bench.mixed` at a fixed rate. A sample a minute is
appended to the file of the piece, and in the end the last samples of all pieces are compared with the first ones. A piece
goes on with the data that the last one left; without them, it begins anew, and its file says so.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import asyncpg

from bench.load import run_on
from bench.mixed import Mixed, People, Waits, send, stage, turns
from bench.programs import ROOT, database_of, postmaster_of
from bench.stage import tell, temporary_place
from bench.usage import PROC, calculation_seconds, cpu_seconds, memory_bytes, parent_of

ENTRIES = 10_000
CONNECTIONS = 16
DATABASE_CONNECTIONS = 8
"""The default of `database.connections`. With more, a piece would open some of them in a rare rush only, hours later."""
WARM_UP = 10
"""Samples of each piece that are left out: caches fill, and the first request for a page loads the pages."""
FULL_CONNECTIONS, FULL_SECONDS = 64, 60.0
"""Before its first sample, a piece sends all that the node can answer, over so many connections. Each connection of the pool
fills its caches then: 13 to 17 MiB of Postgres, which would else be added when it is first needed, hours later."""
FIRST = 60
"""Samples of the first hour, which are compared with as many of the end, or with thirds of what there is."""
MOST = 1.05
"""The most that each figure may be at the end, over that of the first hour."""
ROUNDS = 50_000
"""Of the calculation that tells a slower machine."""
MIB = 1024 * 1024
ROWS = """
    select coalesce(root.relname, own.relname), sum(pg_stat_get_live_tuples(own.oid))::bigint,
        sum(pg_table_size(own.oid))::bigint, sum(pg_indexes_size(own.oid))::bigint
    from pg_class own left join pg_class root on root.oid = pg_partition_root(own.oid) and own.relispartition
    where own.relkind = 'r' and own.relnamespace = 'public'::regnamespace
    group by 1 having sum(pg_total_relation_size(own.oid)) > 65536 order by 1
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """One minute: what its requests met, and the sizes at its end in bytes. `tables` has rows, bytes and bytes of indexes."""

    second: float
    rate: float
    """Requests a second that were sent."""
    resident: int
    own: int
    """The part of it that is in no file, so that it does not depend on what other processes map."""
    postgres: int
    """The own memory of all processes of Postgres together, without shared_buffers, which fill up to their bound."""
    files: int
    threads: int
    node_cpu: float
    waited: float
    """Seconds for which the node's main thread was ready and had no core: with more than a few, times tell little."""
    machine_ms: float
    """CPU time of a fixed calculation, which tells a slower machine from a slower node."""
    answers: int
    failures: dict[str, int]
    """By kind of request and status."""
    p50_ms: float
    p99_ms: float
    turns: int
    late_turns: int
    """Turns of the event loop above 50 ms."""
    database: int
    wal_written: int
    wal_kept: int
    tables: dict[str, tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the first samples and of the last ones."""

    name: str
    first: float
    last: float

    @property
    def within(self) -> bool:
        return self.last <= MOST * self.first

    def __str__(self) -> str:
        ratio = self.last / self.first if self.first else 1.0
        return f"{self.name}: {self.first:.1f}, at the end {self.last:.1f}: {ratio:.3f} times" + (
            "" if self.within else f", **more than {MOST:g}**"
        )


def figures(pieces: Sequence[Sequence[Sample]]) -> list[Figure]:
    """Compare the end of the last piece with the beginning of the first."""

    def figure(name: str, of: str, unit: float = 1) -> Figure:
        return Figure(name, *(median(getattr(each, of) / unit for each in part) for part in parts))

    parts = first_and_last(pieces)
    if not parts[0]:
        return []
    before, after = sizes(parts[0]), sizes(parts[1])
    growth = [(*before[name], *after[name]) for name in after if before.get(name, (0, 0))[0]]
    as_before = sum(size / rows * later for rows, size, later, _ in growth)
    return [
        figure("the node's memory, MiB", "own", MIB),
        figure("Postgres's memory, MiB", "postgres", MIB),
        figure("open files", "files"),
        Figure("tables and indexes, MiB for as many rows", as_before / MIB, sum(size for *_, size in growth) / MIB),
        figure("p50, ms", "p50_ms"),
        figure("p99, ms", "p99_ms"),
    ]


def first_and_last(pieces: Sequence[Sequence[Sample]]) -> tuple[list[Sample], list[Sample]]:
    """Return the samples that are compared, without warm-ups and those that were in a hurry: none if there are too few."""
    samples = [sample for piece in pieces for sample in piece[WARM_UP:]]
    if len(samples) < 3:
        return [], []
    count, usual = min(FIRST, len(samples) // 3), min(sample.rate for sample in samples)
    first, last = ([each for each in part if each.rate == usual] for part in (samples[:count], samples[-count:]))
    return first, last


def sizes(samples: Sequence[Sample]) -> dict[str, tuple[float, float]]:
    """The median of each table's rows, and of its bytes with indexes, over samples that have it."""
    found = {name: [each.tables[name] for each in samples if name in each.tables] for name in samples[-1].tables}
    return {
        name: (median(rows for rows, _, _ in known), median(size + indexes for _, size, indexes in known))
        for name, known in found.items()
    }


def slope(samples: Sequence[Sample]) -> float:
    """By how many MiB an hour the node's memory grew in the second half of a piece: the median of all pairs of samples."""
    half = samples[len(samples) // 2 :]
    pairs = [(one, other) for place, one in enumerate(half) for other in half[place + 1 :]]
    return median((other.own - one.own) / MIB / (other.second - one.second) * 3600 for one, other in pairs or [])


def rolled_up(pid: int, what: str) -> int:
    """Bytes of all mappings of a process: `Pss_Anon`, `Anonymous`. 0 if it has ended."""
    with suppress(OSError):
        for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith(f"{what}:"):
                return int(line.split()[1]) * 1024
    return 0


def family(postmaster: int) -> list[int]:
    """Postgres's processes."""
    found = [postmaster]
    for path in PROC.glob("[0-9]*"):
        with suppress(IndexError):  # it has ended
            if parent_of(int(path.name)) == postmaster:
                found.append(int(path.name))
    return found


class Soak:
    """The samples of one running node."""

    def __init__(self, mixed: Mixed, data_dir: Path, database: asyncpg.Connection) -> None:
        self._mixed, self._data_dir, self._database = mixed, data_dir, database
        self._waits = Waits(mixed.node.pid)
        self._began = time.perf_counter()

    async def sample(self, seconds: float, rate: float) -> Sample:
        """Send the mix for so long, and measure."""
        pid, mix = self._mixed.node.pid, self._mixed.mix()
        whole = sum(weight for weight, _ in mix.values())
        kinds = {name: (rate * weight / whole, fields) for name, (weight, fields) in mix.items()}
        before, cpu, waited = await turns(self._mixed.node), cpu_seconds(pid), self._waits.read()
        found = await send(self._mixed, kinds, CONNECTIONS, seconds)
        met = await turns(self._mixed.node) - before
        often = [found[name] for name in ("event", "placements", "entry")]
        failures = {
            f"{name}: {status}": count for name, kind in found.items() for status, count in kind["failures"].items()
        }
        wal = "select (pg_current_wal_lsn() - '0/0')::bigint, (select sum(size) from pg_ls_waldir())::bigint"
        written, kept = await self._database.fetchrow(wal)
        status = (PROC / str(pid) / "status").read_text().split("Threads:")[1].split()[0]
        return Sample(
            round(time.perf_counter() - self._began, 1),
            rate,
            memory_bytes(pid),
            rolled_up(pid, "Anonymous"),
            sum(rolled_up(each, "Pss_Anon") for each in family(postmaster_of(self._data_dir))),
            len(os.listdir(PROC / str(pid) / "fd")),
            int(status),
            round(cpu_seconds(pid) - cpu, 2),
            round(self._waits.read() - waited, 2),
            round(median(calculation_seconds(ROUNDS) * 1e3 for _ in range(5)), 2),
            sum(kind["answers"] for kind in found.values()),
            failures,
            median(kind["p50_ms"] for kind in often),
            max(kind["p99_ms"] for kind in often),
            met.total(),
            sum(count for bound, count in met.items() if bound > 0.05),
            await self._database.fetchval("select pg_database_size(current_database())"),
            written,
            kept,
            {name: (rows, size, indexes) for name, rows, size, indexes in await self._database.fetch(ROWS)},
        )


def rates(count: int, rate: float, hurry: float) -> list[float]:
    """Return the rate of each sample of a piece, which is higher in the middle of one in a hurry."""
    part = min(FIRST, (count - WARM_UP) // 3)
    return [rate * hurry if WARM_UP + part <= number < count - part else rate for number in range(count)]


async def soak(place: Path, minutes: float, rate: float, seconds: float, hurry: float) -> None:
    """Run one piece, and append its samples to a file of its own."""
    data_dir, number = place / "data", len(pieces_in(place)) + 1
    fresh = not data_dir.exists()
    people = People(**json.loads(await run_on(None, sys.executable, "-m", "bench.filled", str(data_dir), str(ENTRIES))))
    commit = await run_on(None, "git", "-C", str(ROOT), "rev-parse", "--short=10", "HEAD")
    piece = place / f"piece-{number:02}.jsonl"
    with temporary_place() as scratch, piece.open("a", encoding="utf-8", buffering=1) as file:

        def write(line: dict[str, Any]) -> None:
            file.write(json.dumps(line) + "\n")

        began = datetime.now(UTC).isoformat(timespec="seconds")
        write(
            {"piece": number, "commit": commit.strip(), "began": began, "rate": rate, "hurry": hurry, "new_data": fresh}
        )
        async with stage(data_dir, scratch, people, DATABASE_CONNECTIONS) as mixed:
            asked = database_of(data_dir)
            database = await asyncpg.connect(host=asked["PGHOST"], user=asked["PGUSER"], database=asked["PGDATABASE"])
            try:
                await send(mixed, mixed.mix(), FULL_CONNECTIONS, min(FULL_SECONDS, seconds), "--flat-out")
                soaking = Soak(mixed, data_dir, database)
                for wanted in rates(round(minutes * 60 / seconds), rate, hurry):
                    sample = await soaking.sample(seconds, wanted)
                    write(asdict(sample))
                    tell(f"{sample.second:.0f} s: {brief(sample)}")
            finally:
                await database.close()


def brief(sample: Sample) -> str:
    return (
        f"node {sample.own / MIB:.1f} MiB, Postgres {sample.postgres / MIB:.1f} MiB, {sample.files} files, "
        f"database {sample.database / MIB:.0f} MiB, {sample.answers:,} answers, failures {sample.failures}, "
        f"p50 {sample.p50_ms:.1f}, p99 {sample.p99_ms:.1f} ms, waited for a core {sample.waited:.1f} s"
    )


def pieces_in(place: Path) -> list[Path]:
    return sorted(place.glob("piece-*.jsonl"))


def samples_of(piece: Path) -> list[Sample]:
    """The samples of a piece, which may have been killed while it wrote its last line."""
    found = []
    for line in piece.read_text(encoding="utf-8").split("\n")[:-1]:
        fields = json.loads(line)
        if "own" in fields:
            found.append(Sample(**fields))
    return found


def report(pieces: Sequence[Sequence[Sample]]) -> Iterator[str]:
    """Yield a line for each piece, then the figures of all, then the tables that grew most."""
    for number, piece in enumerate(pieces, 1):
        if len(piece) > 3:
            failures = sum(sum(each.failures.values()) for each in piece)
            yield (
                f"piece {number}: {piece[-1].second / 60:.0f} minutes, {sum(each.answers for each in piece):,} answers, "
                f"{failures} failures; the node had {piece[0].own / MIB:.1f} MiB, in the end {piece[-1].own / MIB:.1f}, and "
                f"grew by {slope(piece):+.1f} MiB an hour in its second half"
            )
    yield from map(str, figures(pieces))
    parts = first_and_last(pieces)
    if parts[0]:
        first, last = (median(sample.machine_ms for sample in part) for part in parts)
        yield f"the machine took {first:.1f} ms for a fixed calculation, at the end {last:.1f}: {last / first:.3f} times"
    if whole := [sample for piece in pieces for sample in piece]:
        yield f"log that is kept: at most {max(each.wal_kept for each in whole) / MIB:.0f} MiB"
        before, after = whole[0].tables, whole[-1].tables
        grown = {name: sum(sizes[1:]) - sum(before.get(name, (0, 0, 0))[1:]) for name, sizes in after.items()}
        for name in sorted(grown, key=grown.__getitem__, reverse=True)[:5]:
            rows, size, indexes = after[name]
            sizes = f"{size / MIB:.1f} MiB, indexes {indexes / MIB:.1f} MiB, grew by {grown[name] / MIB:.1f}"
            yield f"{name}: {rows:,} rows, {sizes}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description="Soak a node in pieces.")
    parser.add_argument("--minutes", type=float, default=0, help="length of one more piece (none: only report)")
    parser.add_argument("--rate", type=float, default=40, help="requests a second (40)")
    parser.add_argument("--hurry", type=float, default=1, help="times the rate in the middle third of the piece (1)")
    parser.add_argument("--every", type=float, default=60, help="seconds of a sample (60)")
    parser.add_argument(
        "--place", type=Path, default=Path("/var/tmp/soak"), help="data and samples of all pieces (/var/tmp/soak)"
    )
    given = parser.parse_args()
    place = given.place.resolve()
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0o755)  # Postgres may run as another user
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if given.minutes:
        with suppress(KeyboardInterrupt):  # it reports what it has
            asyncio.run(soak(place, given.minutes, given.rate, given.every, given.hurry))
    pieces = [samples_of(piece) for piece in pieces_in(place)]
    sys.stdout.write("".join(f"{line}\n" for line in report(pieces)))
    if not all(figure.within for figure in figures(pieces)):
        sys.exit("bench: the node does not stay as it is")


if __name__ == "__main__":
    main()
