"""`python -m bench.nodes`: three nodes of the service against one, on one Postgres, side by side in one run.

The same three generators load one node or all three, so only the answering nodes differ. Nothing is pinned to a core:
the gain of more nodes depends on the cores that are left for them, which the report shows.
"""

import argparse
import asyncio
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from bench.load import measure_all
from bench.nodes_report import published
from bench.programs import OURS, joining
from bench.report import WRONG, absolute
from bench.results import Result, Run
from bench.rounds import compare
from bench.scenarios import KEYS, Kind, Plan, Scenario
from bench.setting import setting_of
from bench.stage import Stage, check_that_answers_agree, set_up, tell
from bench.usage import Meter

RESULTS = Path(__file__).parent / "results"
PREFACE = "# Three nodes against one\n\nMethod: [README.md](../README.md#nodes).\n\n"
ONE, THREE = "one node", "three nodes"
NODES = (OURS, "node-2", "node-3")
GROUPS = {ONE: NODES[:1], THREE: NODES}


def scenarios(connections: int) -> list[Scenario]:
    """The scenarios, with `connections` in total."""
    asked = (THREE, ONE)
    return [
        Scenario(Kind.EVENT, connections, asked),
        Scenario(Kind.BATCH, connections, asked, size=50),
        # More such large requests would wait for one another for seconds, on any number of nodes.
        Scenario(Kind.BATCH, connections // 4 // len(NODES) * len(NODES), asked, size=500),
        Scenario(Kind.LIST, connections, asked, keys=KEYS),
        Scenario(Kind.ITEM, connections, asked),
        Scenario(Kind.ITEM, connections, asked, keys=1),
    ]


async def run_nodes(stage: Stage, scenario: Scenario, name: str, seconds: float) -> Run:
    """One run of one node or of all, always with the same number of generators."""
    nodes = [stage.programs[node] for node in GROUPS[name]]
    ports = [nodes[place % len(nodes)].port for place in range(len(NODES))]
    workloads = [stage.workload(scenario) for _ in ports]
    meter = Meter([node.pid for node in nodes], stage.postmaster)
    measured = await measure_all(ports, workloads, scenario.connections // len(ports), seconds)
    return Run(measured, meter.read(), scenario.size)


@asynccontextmanager
async def three_nodes(entries: int) -> AsyncIterator[Stage]:
    """A node with its embedded Postgres, and two more nodes on the same Postgres."""
    async with set_up(entries, None, alone=True, anywhere=True) as stage, AsyncExitStack() as stack:
        for name in NODES[1:]:
            tell(f"starting {name}")
            program = joining(name, stage.data_dir, stage.data_dir.parent)
            stage.programs[name] = await stack.enter_async_context(program)
        await check_that_answers_agree(stage)
        yield stage


async def run(plan: Plan, only: re.Pattern[str], directory: Path | None) -> bool:
    """Measure, print, and write to `directory` if there is one. Returns whether all counts match without a deadlock."""
    async with three_nodes(plan.entries) as stage:
        wanted = [each for each in scenarios(plan.middle) if only.search(f"{each.kind.name.lower()} {each.load}")]
        results: list[Result] = [await compare(stage, plan, scenario, run_nodes) for scenario in wanted]
        deadlocks = await stage.ledger.deadlocks()
        setting = await setting_of(stage, plan)
    report = published(setting, results, deadlocks)
    sys.stdout.write(f"{report}\n{absolute(results)}\n")
    if directory is not None:
        from bench.plots import ratios  # needs matplotlib, which the test environment lacks

        plot = ratios(results, "Throughput of three nodes, relative to ...", directory / "nodes.svg")
        shown = f"![{plot.stem}]({plot.name})\n\n" if plot else ""
        (directory / "nodes.md").write_text(f"{PREFACE}{shown}{report}")
        tell(f"wrote {directory / 'nodes.md'}")
    return WRONG not in report


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.nodes", description="Measure three nodes against one.")
    parser.add_argument("--seconds", type=float, default=2, help="length of one run (2)")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds of each scenario (3)")
    parser.add_argument(
        "--connections", type=int, default=32, help="connections of each of the three generators, at least 4 (32)"
    )
    parser.add_argument("--entries", type=int, default=2_000, help="size of the generated catalog (2000)")
    parser.add_argument("--only", default="", help="scenarios that match this pattern: 'event', 'item 1 key'")
    parser.add_argument("--results", type=Path, default=RESULTS, help="directory of table and plot (bench/results)")
    parser.add_argument("--quick", action="store_true", help="one short round, as a smoke test; writes nothing")
    given = parser.parse_args()
    plan = Plan(given.entries, given.seconds, given.rounds, (given.connections * len(NODES),), audit=False)
    results = given.results
    if given.quick:
        plan, results = Plan(given.entries, 1, 1, plan.connections, audit=False), None
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not asyncio.run(run(plan, re.compile(given.only), results)):
        sys.exit("bench: what was counted is not what was answered, or there was a deadlock")


if __name__ == "__main__":
    main()
