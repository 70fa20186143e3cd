"""`python -m tests.simulation --seed 7`: replay one seed, or run many.

Prints for each seed its hash, its counts and what the oracle found; exits with 1 when it found something.
"""

import argparse
import sys
import time

from tests.simulation.scenes import BUGS
from tests.simulation.world import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the seed to run")
    parser.add_argument("--seeds", metavar="A:B", help="run the seeds from A up to B, B not included")
    parser.add_argument("--seconds", type=float, default=20.0, help="virtual seconds of each run")
    parser.add_argument("--bug", choices=sorted(BUGS), help="plant this bug")
    parser.add_argument("--trace", action="store_true", help="print every step of the scheduler")
    parser.add_argument("--counts", action="store_true", help="print all counters at the end")
    given = parser.parse_args()
    first, _, end = (given.seeds or f"{given.seed}:{given.seed + 1}").partition(":")
    counts: dict[str, int] = {}
    failed, operations, began = 0, 0, time.perf_counter()
    out = sys.stdout.write
    for seed in range(int(first), int(end)):
        report = run(seed, seconds=given.seconds, bug=given.bug, keep_trace=given.trace)
        for line in report.trace.lines:
            out(f"{line}\n")
        out(
            f"seed {seed} hash {report.trace.digest} {report.digest} steps {report.trace.steps} requests {report.requests} "
            f"operations {report.operations} violations {len(report.violations)}\n"
        )
        for violation in report.violations[:20]:
            out(f"  {violation}\n")
        failed += bool(report.violations)
        operations += report.operations
        for what, count in report.counts.items():
            counts[what] = counts.get(what, 0) + count
    if given.counts:
        for what in sorted(counts):
            out(f"  {what}: {counts[what]}\n")
    seeds = int(end) - int(first)
    out(f"{seeds} seeds, {operations} operations, {failed} failed, {time.perf_counter() - began:.1f} s\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
