"""The load generator: many connections, each of which sends its next request as soon as the response is complete.

Uses `wrk` if it is installed, otherwise `bench.generator`, which is slower. The latter waits for every response before
it ends, so its counts are exact.
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
"""Events of an exact run, which waits for all responses."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One run. `failures` are responses above 399 and broken connections; `answers` does not include them. `recorded` counts
    events answered as recorded. `generator_cpu` is the generator's share of its core, 0 to 1."""

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
    """Load `port` for `seconds`. `exact` waits for every response, so that none is in flight at the end."""
    before = _children_cpu()
    measured = await _generate(port, workload, connections, seconds, core, exact=exact)
    return replace(measured, generator_cpu=(_children_cpu() - before) / measured.seconds)


async def measure_all(
    ports: Sequence[int], workloads: Sequence[Workload], connections: int, seconds: float
) -> Measured:
    """Load all ports at once, each with its own generator, workload and `connections`. The generators are not pinned, so
    together they may use more than one core."""
    before = _children_cpu()
    async with asyncio.TaskGroup() as tasks:
        runs = [
            tasks.create_task(_generate(port, workload, connections, seconds, None))
            for port, workload in zip(ports, workloads, strict=True)
        ]
    measured = together([each.result() for each in runs])
    return replace(measured, generator_cpu=(_children_cpu() - before) / measured.seconds)


def together(runs: Sequence[Measured]) -> Measured:
    """Parallel runs as one: the sums, the time of the longest and the latency of the slowest."""
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
    """The output of a command. Raises if it fails."""
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
    # wrk takes whole seconds only.
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
    """CPU seconds of ended children. During a run, only the generator ends."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
