"""Measures every page in a real Chromium: `python -m tests.pages NODE_MODULES [PATTERN]`, or `make pages`.

`NODE_MODULES` holds the packages of `package.json`. `PATTERN` chooses looks as in `tests/pages/shots.py`, without Lighthouse.
Prints a line for each finding, and exits with 1 if there is one.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.browser.looks import Look
from tests.pages.findings import lines
from tests.pages.lighthouse import lighthouse
from tests.pages.stage import EVERY, Stage, chosen, open_stage
from tests.pages.sweep import sweep


def measure(stage: Stage, looks: Sequence[Look], modules: Path, *, scored: bool) -> list[str]:
    """A line for each finding, with those of Lighthouse if pages are `scored`. It runs beside the sweep."""
    axe = (modules / "axe-core/axe.min.js").read_text(encoding="utf-8")
    if not scored:
        return list(lines(sweep(stage, looks, axe)))
    with lighthouse(stage, modules) as run:
        return list(lines([*sweep(stage, looks, axe), *run.findings()]))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.pages", description=__doc__)
    parser.add_argument("modules", type=Path)
    parser.add_argument("only", nargs="?", default=EVERY)
    options = parser.parse_args(arguments)
    began = time.monotonic()
    # The pages of developers show faults on purpose, and what the other looks have left in the outbox.
    looks = [look for look in chosen(options.only) if not look.path.startswith("/dev/")]
    with open_stage() as stage:
        found = measure(stage, looks, options.modules, scored=options.only == EVERY)
        # Before the node is stopped, which fails if it has logged a bug.
        sys.stdout.writelines(f"{line}\n" for line in found)
        sys.stdout.write(f"{len(found)} findings on {len(looks)} pages, {time.monotonic() - began:.0f} s\n")
        sys.stdout.flush()
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
