"""Fixtures of the acceptance tests: one migrated cluster to copy, one external Postgres, a directory for each test."""

import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio

from storage.embedded.cluster import Cluster, prepare
from tests.acceptance.postgres import PostgresServer, admit_nobody, started
from tests.acceptance.processes import command
from tests.memory import in_memory

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def playground() -> Iterator[Path]:
    """A directory that Postgres's unprivileged user can enter, unlike pytest's own."""
    directory = Path(tempfile.mkdtemp(prefix="catalog-acceptance-", dir=in_memory()))
    directory.chmod(0o711)
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def template(playground: Path) -> Cluster:
    """A migrated, unused cluster. Copying it is much faster than making one."""
    assert "up to date" in command("migrate", "--data-dir", playground / "template")
    return trio.run(prepare, playground / "template", None)


def copied(source: Path, target: Path) -> Path:
    """A copy that keeps owners and modes."""
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)
    return target


@pytest.fixture(scope="session")
def new_data_dir(playground: Path, template: Cluster) -> Callable[[str], Path]:
    """Makes data directories by name, each with a migrated empty database."""

    def make(name: str) -> Path:
        place = playground / name
        place.mkdir()
        place.chmod(0o711)
        return copied(template.home, place / "data")

    return make


@pytest.fixture
def data_dir(request: pytest.FixtureRequest, new_data_dir: Callable[[str], Path]) -> Iterator[Path]:
    """A data directory for one test."""
    module = request.node.path.stem.removeprefix("test_")
    directory = new_data_dir(f"{module}-{next(_numbers)}")
    yield directory
    shutil.rmtree(directory.parent, ignore_errors=True)


@pytest.fixture(scope="session")
def new_server(template: Cluster) -> Callable[..., PostgresServer]:
    """Makes external servers of the embedded server's version, in a directory and with options."""

    def make(place: Path, *options: str) -> PostgresServer:
        if not place.exists():
            place.mkdir()
            place.chmod(0o711)
        cluster = copied(template.directory, place / "cluster")
        sockets = copied(template.sockets, place / "run")
        admit_nobody(cluster, sockets)
        return PostgresServer(template.binaries, template.account, cluster, sockets, *options)

    return make


@pytest.fixture(scope="session")
def external(playground: Path, new_server: Callable[..., PostgresServer]) -> Iterator[PostgresServer]:
    """The shared external Postgres. Each test creates its own database and leaves the server running and writable."""
    with started(new_server(playground / "external")) as server:
        yield server
