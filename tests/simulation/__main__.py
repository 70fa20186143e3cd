"""Replay one seed (`python -m tests.simulation --seed 7`), or run a campaign of many seeds on all cores.

A single seed prints its hashes, its counts and what the oracle found. A campaign prints progress, each failing seed
with the command that replays it, and a summary. The exit code is 1 if anything is wrong.
"""

import argparse
import sys
from itertools import count
from pathlib import Path

from tests.simulation.campaign import SECONDS, Record, campaign, commit_of_this_checkout
from tests.simulation.from_answers import from_answers
from tests.simulation.rules import Scene
from tests.simulation.scenes import BUGS
from tests.simulation.world import Report, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the seed to run")
    parser.add_argument(
        "--seeds", metavar="[A:]B", help="a campaign of the seeds from A, or 0, up to B, B not included"
    )
    parser.add_argument("--kills", type=int, help="a campaign of as many seeds as it takes to kill this many nodes")
    parser.add_argument(
        "--record", type=Path, help="leave out the seeds of --seeds that this file has, and add to it those that ran"
    )
    parser.add_argument(
        "--one-by-one", action="store_true", help="print each seed of --seeds as --seed does, in its order"
    )
    parser.add_argument("--scene", type=Scene, choices=list(Scene), help="this scene, not the one whose turn it is")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="virtual seconds of each run")
    parser.add_argument("--bug", choices=sorted(BUGS), metavar="NAME", help="plant this bug")
    parser.add_argument("--workers", type=int, default=0, help="processes of a campaign; as many as cores by default")
    parser.add_argument("--trace", action="store_true", help="print every step of the scheduler")
    parser.add_argument(
        "--history", type=Path, help="write what the clients of --seed asked and heard to this file, for tests.judge"
    )
    parser.add_argument(
        "--from-answers",
        action="store_true",
        help="plant each bug, or those of --scene or --bug, and tell which ones the judge finds from answers alone",
    )
    parser.add_argument(
        "--readers",
        action="store_true",
        help="let the readers of the scene join the run of a seed, as --from-answers does",
    )
    parser.add_argument("--counts", action="store_true", help="print all counters at the end")
    given = parser.parse_args()
    first, _, end = (given.seeds or f"{given.seed}:{given.seed + 1}").rpartition(":")
    seeds = range(int(first or 0), int(end))
    out = sys.stdout.write
    if given.history and given.seeds:
        parser.error("--history is of one seed")
    if given.record and (not given.seeds or given.scene or given.bug or given.one_by_one):
        parser.error("--record is of the seeds of --seeds, each in its own scene and without a bug")
    if given.from_answers:
        bugs = [each for each in sorted(BUGS) if given.scene in (None, BUGS[each].scene) and given.bug in (None, each)]
        return 0 if from_answers(bugs, _at_once) else 1
    if given.kills or (given.seeds and not given.one_by_one):
        good = campaign(
            count(seeds.start) if given.kills else seeds,
            _at_once,
            seconds=given.seconds,
            scene=given.scene,
            bug=given.bug,
            workers=given.workers,
            everything=given.counts,
            kills=given.kills,
            record=given.record and Record(given.record, commit_of_this_checkout(), seeds, given.seconds),
        )
        return 0 if good else 1
    failed = 0
    for seed in seeds:
        report = run(
            seed,
            seconds=given.seconds,
            scene=given.scene,
            bug=given.bug,
            keep_trace=given.trace,
            readers=given.readers,
            history=given.history,
        )
        for line in report.trace.lines:
            out(f"{line}\n")
        _print(report, counts=given.counts)
        failed += bool(report.violations)
    return 1 if failed else 0


def _print(report: Report, *, counts: bool) -> None:
    out = sys.stdout.write
    out(
        f"seed {report.seed} {report.scene} hash {report.trace.digest} {report.digest} steps {report.trace.steps} "
        f"requests {report.requests} operations {report.operations} violations {len(report.violations)}\n"
    )
    for violation in report.violations[:20]:
        out(f"  {violation}\n")
    for what in sorted(report.counts) if counts else ():
        out(f"  {what}: {report.counts[what]}\n")


def _at_once(text: str) -> None:
    """Write and flush: a campaign may run all night, and its progress must be visible."""
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
