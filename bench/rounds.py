"""The measurement: all programs of a scenario in turn, round by round, with the counts of Postgres."""

import asyncio
import json
import os
import resource
import sys
from collections.abc import Awaitable, Callable

from bench.ledger import SETTLED_SECONDS, Charges, Recorded
from bench.load import Measured, measure, run_on
from bench.programs import FASTAPI, HYPERCORN, IDIOMS, OURS, database_of
from bench.results import Audit, Cell, Result, Run
from bench.scenarios import CEILING_SIZE, EVENT_KINDS, INSERT, KEYS, RECORD, REPEATS, Kind, Plan, Scenario
from bench.stage import Stage, tell
from bench.usage import Meter, Usage, family_cpu_seconds

WARM_UP_SECONDS = 1.0
NONE_IN_FLIGHT_SECONDS = 0.05
"""How long the counts of Postgres must stay the same after a run that has waited for every response."""
REST_SECONDS = 0.2
"""Pause between two runs, so that requests in flight do not count in the next one."""
CEILINGS = {INSERT: "insert", RECORD: "record"}
Counted = Charges | Recorded | None
Runner = Callable[[Stage, Scenario, str, float], Awaitable[Run]]
"""Runs the named program for a number of seconds."""


async def run_program(stage: Stage, scenario: Scenario, name: str, seconds: float, *, exact: bool = False) -> Run:
    """One run of one program."""
    if name in CEILINGS:
        return await write(stage, name, seconds)
    program = stage.programs[name]
    workload = stage.workload(scenario)
    meter = Meter([program.pid], stage.postmaster)
    measured = await measure(program.port, workload, scenario.connections, seconds, stage.cores.load, exact=exact)
    return Run(measured, meter.read(), scenario.size)


async def write(stage: Stage, name: str, seconds: float) -> Run:
    """One run of a ceiling of the database, on the programs' core."""
    events = stage.events(CEILING_SIZE, 0)
    words = [CEILINGS[name], f"--seconds={seconds}", f"--size={CEILING_SIZE}", f"--seed={events.seed}"]
    command = [sys.executable, "-m", "bench.database", *words, f"--bookings={','.join(events.bookings)}"]
    environment = {**os.environ, **database_of(stage.data_dir)}
    postgres, before = family_cpu_seconds(stage.postmaster), resource.getrusage(resource.RUSAGE_CHILDREN)
    output = await run_on(stage.cores.server, *command, environment=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    usage = Usage(spent, family_cpu_seconds(stage.postmaster) - postgres, 0)
    return Run(Measured(**json.loads(output)), usage, CEILING_SIZE)


async def run_to_the_last(stage: Stage, scenario: Scenario, name: str, seconds: float) -> Run:
    """One run of one program that waits for every response."""
    return complete(scenario, name, await run_program(stage, scenario, name, seconds, exact=True))


def complete(scenario: Scenario, name: str, run: Run) -> Run:
    """The run. Raises if a request failed, or if there was none."""
    if run.measured.failures or not run.measured.answers:
        counts = f"{run.measured.answers} requests succeeded and {run.measured.failures} failed"
        raise RuntimeError(f"{scenario.kind.value}, {scenario.load}, {name}: {counts}")
    return run


async def compare(stage: Stage, plan: Plan, scenario: Scenario, run: Runner = run_program) -> Result:
    """Run all programs in turn, round by round, so that a machine that slows down affects all of them."""
    run = run_to_the_last if plan.quick else run
    result = Result(scenario, {name: Cell() for name in scenario.programs})
    if scenario.kind in EVENT_KINDS:
        await stage.ledger.clear_events()
    for name in () if plan.quick else scenario.programs:
        await run(stage, scenario, name, WARM_UP_SECONDS)
    standing = await _counted(stage, plan, scenario)
    for number in range(plan.rounds):
        tell(f"{scenario.kind.value}, {scenario.load}, {scenario.connections} connections, round {number + 1}")
        first = number % len(scenario.programs)
        for name in scenario.programs[first:] + scenario.programs[:first]:
            cell = result.cells[name]
            cell.runs.append(await run(stage, scenario, name, plan.seconds))
            before, standing = standing, await _counted(stage, plan, scenario)
            _add(cell, before, standing)
    return result


async def _counted(stage: Stage, plan: Plan, scenario: Scenario) -> Counted:
    """The counts of this kind of load in Postgres, once they stop changing."""
    pause = NONE_IN_FLIGHT_SECONDS if plan.quick else SETTLED_SECONDS
    if scenario.kind in EVENT_KINDS:
        return await stage.ledger.recorded(pause)
    if scenario.keys:
        return await stage.ledger.charges(pause)
    await asyncio.sleep(min(REST_SECONDS, pause))
    return None


def _add(cell: Cell, before: Counted, after: Counted) -> None:
    match before, after:
        case Charges(), Charges():
            cell.charges += after - before
        case Recorded(), Recorded():
            cell.recorded += after - before


# The exact count.


async def audit_reads(stage: Stage, plan: Plan) -> list[Audit]:
    """One run per program with nothing left in flight, and the commits of Postgres during it."""
    scenario = Scenario(Kind.ITEM, plan.middle, (OURS, *IDIOMS), keys=KEYS)
    audits = []
    commits = await stage.ledger.commits()
    for name in scenario.programs:
        tell(f"counting charges exactly: {name}")
        before = await stage.ledger.charges()
        made = (await run_program(stage, scenario, name, plan.seconds, exact=True)).measured
        charged = await stage.ledger.charges() - before
        commits, commits_before = await stage.ledger.commits(), commits
        audits.append(
            Audit(
                program=name,
                load=scenario.load,
                answers=made.answers,
                failures=made.failures,
                said=made.answers,
                kept=charged.counted,
                counted=charged.counted,
                transactions=charged.transactions,
                commits=commits - commits_before,
            )
        )
    return audits


async def audit_events(stage: Stage, plan: Plan) -> list[Audit]:
    """One run per program with duplicates and nothing left in flight."""
    programs = (OURS, HYPERCORN, *FASTAPI)
    single = Scenario(Kind.EVENT, plan.middle, programs, repeats=REPEATS)
    batches = [Scenario(Kind.BATCH, plan.middle, (OURS,), size=size, repeats=REPEATS) for size in (50, 500)]
    await stage.ledger.clear_events()
    return [
        await _audit_events(stage, plan, scenario, name)
        for scenario in (single, *batches)
        for name in scenario.programs
    ]


async def _audit_events(stage: Stage, plan: Plan, scenario: Scenario, name: str) -> Audit:
    tell(f"counting events exactly: {name}, {scenario.load}")
    before = await stage.ledger.recorded()
    made = (await run_program(stage, scenario, name, plan.seconds, exact=True)).measured
    added = await stage.ledger.recorded() - before
    return Audit(
        program=name,
        load=scenario.load,
        answers=made.answers,
        failures=made.failures,
        said=made.recorded,
        kept=added.rows,
        counted=added.counted,
        transactions=added.transactions,
    )
