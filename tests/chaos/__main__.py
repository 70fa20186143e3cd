"""Inject faults for a while: `python -m tests.chaos --minutes 2 --seed 7`. Exits with 1 if a promise was broken."""

import argparse
import random
import sys

import trio

from tests.chaos.campaign import NODES, run
from tests.chaos.ground import ground
from tests.chaos.plan import Kind
from tests.chaos.report import lines


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0, help="for how long faults are made, about")
    parser.add_argument("--seed", type=int, help="the plan of faults and of clients; by default another one each time")
    parser.add_argument("--nodes", type=int, default=NODES, help=f"how many nodes there are ({NODES})")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed

    def out(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    again = f"make chaos MINUTES={given.minutes:g} SEED={seed} NODES={given.nodes}"
    out(f"seed {seed}, about {given.minutes:g} min; to repeat: {again}")
    with ground(given.minutes) as place:
        if place.disk is None:
            out(f"no file system can be mounted here; skipped: {Kind.DISK_FULL}")
        report = trio.run(run, place, seed, 60.0 * given.minutes, out, given.nodes)
    for line in lines(report):
        out(line)
    if report.verdict.found:
        out(f"BROKEN: {len(report.verdict.found)} promises; to repeat: {again}")
    return 1 if report.verdict.found else 0


if __name__ == "__main__":
    sys.exit(main())
