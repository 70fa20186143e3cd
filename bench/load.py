"""The load generator: many connections that each send the next request as soon as the answer is there.

`wrk` where it is installed, else a process of our own over raw sockets (`bench.generator`), which is slower but waits for
every answer before it ends, so that what it counts is exact.
"""

import asyncio
import json
import resource
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bench.programs import ROOT, pinned_to
from bench.workloads import HOST, Events, Workload

SCRIPT = ROOT / "bench" / "load.lua"
EXACT_EVENTS = 20_000
"""Events of an exact run, whose answers are all waited for."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One run. `failures` are answers above 399 and broken connections, and are not among the `answers`; `recorded` are
    the events that were answered so; `generator_cpu` is how much of its core the generator used, 0 to 1."""

    answers: int
    failures: int
    recorded: int
    seconds: float
    p50_ms: float
    p99_ms: float
    generator_cpu: float = 0.0


def generator(*, exact: bool = False) -> str:
    return "python" if exact or shutil.which("wrk") is None else "wrk"


async def measure(
    port: int, workload: Workload, connections: int, seconds: float, core: int | None, *, exact: bool = False
) -> Measured:
    """Load `port` for `seconds`. `exact` waits for every answer, so that none is in flight at the end."""
    before = _children_cpu()
    measured = await _generate(port, workload, connections, seconds, core, exact=exact)
    return replace(measured, generator_cpu=(_children_cpu() - before) / measured.seconds)


async def measure_all(
    ports: Sequence[int], workloads: Sequence[Workload], connections: int, seconds: float
) -> Measured:
    """Load all ports at the same moment, each by a generator of its own with a workload and so many connections of its own.
    Nothing is kept on a core, so the generators may use more than one."""
    before = _children_cpu()
    async with asyncio.TaskGroup() as tasks:
        runs = [
            tasks.create_task(_generate(port, workload, connections, seconds, None))
            for port, workload in zip(ports, workloads, strict=True)
        ]
    measured = together([each.result() for each in runs])
    return replace(measured, generator_cpu=(_children_cpu() - before) / measured.seconds)


def together(runs: Sequence[Measured]) -> Measured:
    """Runs beside one another as one: what they did in all, the time of the longest, the latency of the slowest."""
    return Measured(
        answers=sum(run.answers for run in runs),
        failures=sum(run.failures for run in runs),
        recorded=sum(run.recorded for run in runs),
        seconds=max(run.seconds for run in runs),
        p50_ms=max(run.p50_ms for run in runs),
        p99_ms=max(run.p99_ms for run in runs),
    )


async def _generate(
    port: int, workload: Workload, connections: int, seconds: float, core: int | None, *, exact: bool = False
) -> Measured:
    with tempfile.TemporaryDirectory() as directory:
        output = await run_on(core, *_command(Path(directory), port, workload, connections, seconds, exact))
    return Measured(**json.loads(output.strip().rpartition("\n")[2]))


async def run_on(core: int | None, *command: str, environment: dict[str, str] | None = None) -> str:
    """What a command writes; raises when it fails."""
    with pinned_to(core):
        process = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
    try:
        output, errors = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        raise RuntimeError(f"{' '.join(command[:3])} failed: {(errors or output).decode().strip()}")
    return output.decode()


def _command(
    directory: Path, port: int, workload: Workload, connections: int, seconds: float, exact: bool
) -> list[str]:
    if generator(exact=exact) == "python":
        described = directory / "workload.json"
        described.write_text(json.dumps(asdict(workload)))
        most = ["--most", str(EXACT_EVENTS // workload.size)] if exact and isinstance(workload, Events) else []
        numbers = [str(port), str(connections), str(seconds)]
        return [sys.executable, "-m", "bench.generator", *numbers, str(described), *most]
    # wrk knows whole seconds only.
    options = ["-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "20s", "-s", str(SCRIPT)]
    return ["wrk", *options, f"http://{HOST}:{port}", "--", *_arguments(directory, workload)]


def _arguments(directory: Path, workload: Workload) -> list[str]:
    if isinstance(workload, Events):
        numbers = [str(number) for number in (workload.seed, workload.size, workload.repeats)]
        return ["events", *numbers, workload.path, ",".join(workload.bookings)]
    lines = directory / "requests"
    lines.write_text("".join(f"{line}\n" for line in workload.lines))
    return ["requests", str(lines)]


def _children_cpu() -> float:
    """Seconds of children that have ended; while a run lasts that is the generator alone."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
