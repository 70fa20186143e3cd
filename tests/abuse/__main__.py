"""`python -m tests.abuse --seconds 30 --mutations 100000`: the whole campaign against real nodes.

Prints the work of each attack and its effect on the node. Exits with 1 if there were faults. `--replay SEED:NUMBER` sends
and prints one mutation and the response.
"""

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.abuse.attacker import ATTACKS
from tests.abuse.campaign import end_under, endure, mutate
from tests.abuse.cases import cases
from tests.abuse.costs import SECONDS, campaign
from tests.abuse.mutator import mutation
from tests.abuse.node import Certificate, Watched, watched
from tests.abuse.probe import Errand
from tests.abuse.search import ERRANDS, SEARCHED, import_large_catalog
from tests.memory import in_memory

BEFORE_SECONDS = 2.0
SETTINGS = {"http.request_seconds": 4.0}
"""Changes to the defaults: a request has less time than an attack, so that many are cut off."""
GRACEFUL_SECONDS = 2.0
MOST_LINES = 40
SEARCH_HOG = "search hog"
CATALOG_ENTRIES = 40_000
"""Entries of the catalog that the search hog attacks. The others run on the sample."""
TRIES = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.abuse", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="duration of each attack; 0 skips all attacks")
    parser.add_argument("--mutations", type=int, default=100_000, help="number of mutated requests")
    parser.add_argument("--costs", type=float, default=SECONDS, help="seconds of the comparison of costs; 0 skips it")
    parser.add_argument("--seed", type=int, default=None, help="seed of all that is random; random by default")
    parser.add_argument(
        "--only", choices=sorted(ATTACKS), action="append", help="run only this attack; can be repeated"
    )
    parser.add_argument("--replay", metavar="SEED:NUMBER", help="send only this mutation")
    given = parser.parse_args()
    began = time.monotonic()
    seed = random.randrange(10**6) if given.seed is None else given.seed
    place = Path(tempfile.mkdtemp(prefix="catalog-abuse-", dir=in_memory()))
    place.chmod(0o711)
    try:
        whole = Campaign(place, given.only or list(ATTACKS))
        if given.replay:
            of, _, number = given.replay.partition(":")
            whole.replay(int(of), int(number))
        else:
            if given.seconds:
                whole.attack(given.seconds)
                whole.end()
            if given.costs and not given.only:
                whole.costs(seed, given.costs)
            whole.mutate(seed, given.mutations)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    _say(f"{whole.faults} faults, {time.monotonic() - began:.0f} s")
    return 1 if whole.faults else 0


class Campaign:
    """Runs the parts one by one, each on fresh nodes with the same data, and counts the faults."""

    def __init__(self, place: Path, names: Sequence[str]) -> None:
        self._data = place / "data"
        self._certificate = Certificate.make(place)
        self._names = names
        self.faults = 0

    def attack(self, seconds: float) -> None:
        with self._node(SETTINGS) as node:
            for name in self._names:
                if name != SEARCH_HOG:
                    self._attack(node, name, seconds)
        if SEARCH_HOG in self._names:
            with self._node(SEARCHED) as node:
                import_large_catalog(node, CATALOG_ENTRIES, self._data.parent)
                self._attack(node, SEARCH_HOG, seconds, ERRANDS)

    def _attack(self, node: Watched, name: str, seconds: float, errands: Sequence[Errand] | None = None) -> None:
        outcome = endure(node, [name], seconds=seconds, before_seconds=BEFORE_SECONDS, tries=TRIES, errands=errands)
        self._note(str(outcome), outcome.counted)

    def end(self) -> None:
        for name in self._names:
            with self._node({"server.graceful_seconds": GRACEFUL_SECONDS}) as node:
                took, faults = end_under(node, [name], graceful_seconds=GRACEFUL_SECONDS)
                self._note(f"SIGTERM under {name}: ended after {took:.1f} s", faults)

    def costs(self, seed: int, seconds: float) -> None:
        """Compare the costs of requests with hostile headers, on both engines."""
        faults = campaign(self._data, self._certificate, list(cases()), _say, seconds=seconds, seed=seed)
        self._note("costs of requests with hostile headers", faults)

    def mutate(self, seed: int, number: int) -> None:
        _say(f"mutations of seed {seed}")
        with self._node({}) as node:
            volleyed = mutate(node, seed, range(number))
            self._note(str(volleyed), volleyed.faults)

    def replay(self, seed: int, number: int) -> None:
        _say(f"{mutation(seed, number)}")
        with self._node({}) as node:
            volleyed = mutate(node, seed, [number])
            self._note(str(volleyed), volleyed.faults)

    @contextmanager
    def _node(self, settings: Mapping[str, object]) -> Iterator[Watched]:
        """Run a node. It is a fault if it does not end gracefully."""
        try:
            with watched(self._data, self._certificate, settings) as node:
                yield node
        except (AssertionError, subprocess.TimeoutExpired) as error:
            self._note("the node did not end gracefully", [f"{type(error).__name__}: {str(error)[-2_000:]}"])

    def _note(self, heading: str, faults: Sequence[str]) -> None:
        _say("\n".join([heading, *(f"  FAULT: {fault}" for fault in faults[:MOST_LINES])]))
        if len(faults) > MOST_LINES:
            _say(f"  and {len(faults) - MOST_LINES} more faults")
        self.faults += len(faults)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
