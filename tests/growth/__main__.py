"""Fills a service with the rows of many years, and measures all that it can be asked beside a small one: `make grow`."""

import argparse
import tempfile
from contextlib import ExitStack
from pathlib import Path

import trio

from tests.growth.filling import LARGE, MOST, Size
from tests.growth.measuring import (
    MOST_STEP_MS,
    costs_of_changes,
    costs_of_reads,
    during,
    files,
    filled,
    report,
    rows_of_export,
    tell,
)


async def measure(place: Path, size: Size, seed: int, only: str) -> int:
    async with filled(place, size, seed) as (small, large):
        over = report("Reads", await costs_of_reads(small, large, size, only))
        if only:
            return over
        over += report("Changes", await costs_of_changes(small, large, size))
        idle = await during(large, None)
        tell(f"\nFiles beside {idle}")
        for person, target in files(large.services.clock.now_ms()):
            made = await during(large, target, person)
            is_over = made.step_ms > MOST_STEP_MS
            over += is_over
            tell(f"{'OVER' if is_over else '    '} {target.partition('?')[0]}: {made}")
        rows, seconds = await rows_of_export(large, MOST)
        tell(f"\nExport of an account: {rows:,} rows in {seconds:.1f} s, {seconds / rows * 1e6:.0f} us a row")
        return over


def main() -> int:
    parser = argparse.ArgumentParser(description="Fill a large service, and measure all reads and some changes on it.")
    parser.add_argument("--part", type=int, default=1, help="make only so small a part of it: 50 for a fiftieth (1)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="measure the reads with this in their name")
    parser.add_argument("--keep", type=Path, help="keep the databases in this directory, and use those that are there")
    given = parser.parse_args()
    sizes = (LARGE.accounts, LARGE.campaigns, LARGE.bookings, LARGE.days)
    size = Size(*(number // given.part for number in sizes))
    with ExitStack() as stack:
        place = given.keep
        if place is None:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="grow-", dir="/var/tmp")))
        place.mkdir(parents=True, exist_ok=True)
        place.chmod(0o755)  # Postgres may run as another user
        return 1 if trio.run(measure, place.resolve(), size, given.seed, given.only) else 0


if __name__ == "__main__":
    raise SystemExit(main())
