"""Mutate the rules and the kernel, and check that a test fails: `python -m tests.mutation`.

Runs mutmut on the modules named in pyproject.toml, prints a line for each, and compares the survivors with
`docs/mutants.md`. Exits with 1 if the share of killed mutants in a module is below the bound, or if there is a survivor
missing from the document; with 2 if mutmut itself failed.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.mutation.document import DOCUMENT, Change, known
from tests.mutation.verdicts import NO_TESTS, SURVIVED, Module, modules

LEAST = 0.98
"""The share of all changes that tests detect."""
LEAST_OF_A_MODULE, SMALL_MODULE = 0.90, 20
"""The share of the changes of a module, unless it has fewer than so many."""
LOG = Path("build/mutants.log")
MUTANTS = Path("mutants")
STATISTICS = MUTANTS / "mutmut-stats.json"
"""The tests that reach each function. Without the file, mutmut runs all tests to find them."""


def say(line: str = "") -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def tried(only: list[str], children: int) -> bool:
    """Let mutmut try the mutants whose names match. Returns False if it failed."""
    LOG.parent.mkdir(exist_ok=True)
    mutmut = [str(Path(sys.executable).with_name("mutmut")), "run", "--max-children", str(children), *only]
    # Finding plugins takes most of a short pytest run; the two plugins that tests need are named in pyproject.toml.
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    with LOG.open("wb") as log:
        return subprocess.run(mutmut, stdout=log, stderr=log, env=environment, check=False).returncode == 0


def table(found: Iterable[Module]) -> None:
    say(f"{'module':<36} {'mutants':>7} {'killed':>7} {'timed out':>9} {'survived':>8} {'share':>7}")
    for module in found:
        say(
            f"{module.path:<36} {module.tried:>7} {module.killed:>7} {module.timed_out:>9} {len(module.survivors):>8} "
            f"{module.share:>7.1%}"
        )


def tell(title: str, changes: Counter[Change]) -> None:
    if changes:
        say()
        say(title)
    module = ""
    for change in sorted(changes.elements()):
        if change.module != module:
            module = change.module
            say(f"## `{module}`")
        for line in change.lines():
            say(line)


def judged(found: list[Module], whole: bool) -> int:
    """Print the results and return the exit code."""
    survivors = [each for module in found for each in module.survivors]
    surviving = Counter(change for change, _ in survivors)
    listed = known(DOCUMENT.read_text(encoding="utf-8"))
    table(found)
    tell("survived, and docs/mutants.md does not know it:", surviving - listed)
    if whole:
        tell("in docs/mutants.md, but no longer survives or no longer is:", listed - surviving)
    odd = [(change, status) for change, status in survivors if status not in (SURVIVED, NO_TESTS)]
    for change, status in odd:
        say(f"{status}: {' | '.join(change.lines())}")
    low = [module.path for module in found if module.share < LEAST_OF_A_MODULE and module.tried >= SMALL_MODULE]
    for path in low:
        say(f"below {LEAST_OF_A_MODULE:.0%}: {path}")
    share = sum(module.detected for module in found) / max(1, sum(module.tried for module in found))
    say(f"of all: {share:.1%}")
    if share < LEAST:
        low.append(f"all, below {LEAST:.0%}")
    return 1 if low or surviving - listed or not found else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("only", nargs="*", help="names of mutants, with wildcards: 'actors.quota.*'; by default all")
    parser.add_argument("--children", type=int, default=2, help="how many mutants are tried at once")
    parser.add_argument("--keep", action="store_true", help="keep what the last run made, and verdicts that still hold")
    parser.add_argument("--again", action="store_true", help="try again what survived the last run, with today's tests")
    parser.add_argument("--judge", action="store_true", help="try nothing, and judge what the last run left")
    given = parser.parse_args()
    only = given.only
    if given.again:
        STATISTICS.unlink(missing_ok=True)
        only = [name for module in modules(MUTANTS) for name in module.undetected]
    if not given.judge:
        if not (given.keep or given.again):
            shutil.rmtree(MUTANTS, ignore_errors=True)
        if not tried(only, given.children):
            say(LOG.read_text(encoding="utf-8", errors="replace").replace("\r", "\n")[-4_000:])
            say(f"mutmut did not come to its end; all that it said is in {LOG}")
            return 2
    return judged(modules(MUTANTS), whole=not only and not given.judge)


if __name__ == "__main__":
    sys.exit(main())
