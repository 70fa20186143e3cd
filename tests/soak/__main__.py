"""`python -m tests.soak --seconds 120 --seed 7`: faults for so long; exits with 1 when an answer was untrue or late."""

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trio

from storage.cluster import prepare
from tests.acceptance.conftest import copied
from tests.acceptance.postgres import PostgresServer, started
from tests.acceptance.processes import command
from tests.memory import in_memory
from tests.soak.campaign import run


@contextmanager
def own_postgres() -> Iterator[tuple[PostgresServer, Path]]:
    """A migrated server of our own, and the place that it stands in."""
    with tempfile.TemporaryDirectory(prefix="catalog-soak-", dir=in_memory()) as directory:
        place = Path(directory)
        place.chmod(0o711)
        command("migrate", "--data-dir", place / "template")
        template = trio.run(prepare, place / "template", None)
        home = place / "soak"
        home.mkdir(mode=0o711)
        cluster, sockets = copied(template.directory, home / "cluster"), copied(template.sockets, home / "run")
        with started(PostgresServer(template.binaries, template.account, cluster, sockets)) as postgres:
            yield postgres, home


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="for how long faults are made, about")
    parser.add_argument("--seed", type=int, help="the plan of faults; by default another one each time")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed

    def say(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    say(f"seed {seed}, about {given.seconds:g} s")
    with own_postgres() as (postgres, place):
        report = trio.run(run, postgres, place, seed, given.seconds, say)
    for line in report.lines():
        say(line)
    return 1 if report.found else 0


if __name__ == "__main__":
    sys.exit(main())
