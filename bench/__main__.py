"""`python -m bench`: measure the service against its peers side by side, then print and plot the results."""

import argparse
import asyncio
import os
import platform
import re
import signal
import sys
from pathlib import Path

from bench.memory import follow, publish
from bench.plots import memory as plot_memory
from bench.plots import write_plots
from bench.programs import checkout
from bench.report import WRONG, absolute, published
from bench.results import Result
from bench.rounds import audit_events, audit_reads, compare
from bench.scenarios import Plan
from bench.setting import generator_version, kernel, setting_of
from bench.stage import set_up, tell

RESULTS = Path(__file__).parent / "results"
PREFACE = "# Results of the benchmark\n\nMethod: [README.md](../README.md).\n\n"


async def run(plan: Plan, only: re.Pattern[str], data_dir: Path | None, directory: Path | None) -> bool:
    """Measure, print, and write to `directory` if there is one. Returns whether all counts match the responses."""
    async with set_up(plan.entries, data_dir, other=plan.other) as stage:
        wanted = [each for each in plan.scenarios() if only.search(f"{each.kind.name.lower()} {each.load}")]
        results: list[Result] = [await compare(stage, plan, scenario) for scenario in wanted]
        audits = [*await audit_events(stage, plan), *await audit_reads(stage, plan)] if plan.audit else []
        setting = await setting_of(stage, plan)
    report = published(setting, results, audits, plan.middle)
    sys.stdout.write(f"{report}\n{absolute(results)}\n")
    if directory is not None:
        plots = write_plots(results, directory)
        shown = "".join(f"![{path.stem}]({path.name})\n\n" for path in plots)
        (directory / "RESULTS.md").write_text(f"{PREFACE}{shown}{report}")
        tell(f"wrote {directory / 'RESULTS.md'} and {len(plots)} plots")
    return WRONG not in report


async def follow_memory(minutes: float, data_dir: Path | None, directory: Path) -> bool:
    """Measure and write the memory report. Returns whether memory stayed flat and the count matches."""
    course = await follow(minutes, data_dir)
    setting = (
        f"{os.cpu_count() or 1} cores, Python {platform.python_version()}, Linux {kernel()}, {generator_version()}."
    )
    sys.stdout.write(publish(course, setting, directory))
    plot_memory(course.seconds, course.shares, directory / "memory.svg")
    return course.flat and course.kept_right


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure the service against its peers.")
    parser.add_argument("--seconds", type=float, default=2, help="length of one run (2)")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds of each scenario (3)")
    parser.add_argument("--connections", default="32,128,512", help="numbers of connections (32,128,512)")
    parser.add_argument("--entries", type=int, default=100_000, help="size of the generated catalog (100000)")
    parser.add_argument("--only", default="", help="scenarios that match this pattern: 'event unique', 'list'")
    parser.add_argument("--data-dir", type=Path, help="keep the data in this directory and reuse its catalog")
    parser.add_argument("--results", type=Path, help="directory of tables and plots (bench/results; none with --quick)")
    parser.add_argument("--no-audit", action="store_true", help="skip the runs that wait for their last response")
    parser.add_argument(
        "--quick", action="store_true", help="one short round of each kind of scenario, as a smoke test"
    )
    parser.add_argument(
        "--before", type=checkout, help="also compare with a node of another checkout, which is not newer"
    )
    parser.add_argument("--memory", type=float, metavar="MINUTES", help="only follow the service's memory")
    given = parser.parse_args()
    connections = tuple(int(number) for number in given.connections.split(","))
    plan = Plan(given.entries, given.seconds, given.rounds, connections, not given.no_audit, other=given.before)
    only, results = re.compile(given.only), given.results or RESULTS
    if given.quick:
        plan, results = Plan(200, 0.3, 1, (16,), audit=False, quick=True, other=given.before), given.results
    data_dir = given.data_dir and given.data_dir.resolve()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if given.memory:
        if not asyncio.run(follow_memory(given.memory, data_dir, results or RESULTS)):
            sys.exit(
                "bench: memory grew, was not followed for long enough, or what was counted is not what was answered"
            )
    elif not asyncio.run(run(plan, only, data_dir, results)):
        sys.exit("bench: what was counted is not what was answered")


if __name__ == "__main__":
    main()
