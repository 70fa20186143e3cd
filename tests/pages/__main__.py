"""Measures every page in a real Chromium: `python -m tests.pages NODE_MODULES [PATTERN]`, or `make pages`.

`NODE_MODULES` holds the packages of `package.json`, and `PATTERN` chooses looks as in `tests/pages/shots.py`; Lighthouse runs if
all are chosen. Prints a line for each finding, and exits with 1 if there is one.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.browser.test_pages import LOOKS
from tests.pages.findings import lines
from tests.pages.lighthouse import lighthouse
from tests.pages.shots import chosen
from tests.pages.stage import open_stage
from tests.pages.sweep import eyes, look_at


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.pages", description=__doc__)
    parser.add_argument("modules", type=Path)
    parser.add_argument("only", nargs="?", default="*")
    options = parser.parse_args(arguments)
    looks = chosen(LOOKS, options.only)
    if not looks:
        sys.exit(f"No look of tests/browser/test_pages.py has a name like {options.only}.")
    axe = (options.modules / "axe-core/axe.min.js").read_text(encoding="utf-8")
    began = time.monotonic()
    with open_stage() as stage:
        print("stage", time.monotonic() - began)
        with lighthouse(stage, options.modules) as run, eyes(stage, axe) as seeing:
            found = []
            for look in looks:
                t = time.monotonic()
                found += look_at(stage, look, seeing)
                print(look.name, round(time.monotonic() - t, 2))
            print("swept", time.monotonic() - began)
            found += run.findings()
    for line in lines(found):
        print(line)
    print(time.monotonic() - began)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
