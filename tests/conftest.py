"""Fixtures of all tests: one Postgres per run, one empty migrated database per test.

`CATALOG_TEST_DATABASE_URL` names an existing server to use instead of the embedded one. Its role must be allowed to create
databases.
"""

import asyncio
import gc
import itertools
import logging
import os
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
import trio
from _pytest.runner import runtestprotocol
from hypothesis import settings

from storage.connection.pool import Database, open_database
from storage.connection.target import Target
from storage.embedded.server import running_postgres
from storage.schema import migrate
from tests.memory import in_memory
from tests.order import LONG, SINGLE, unit_of
from tests.slow import SLOW, is_left_out, is_repetition, named, shortened

TESTS = Path(__file__).parent
REUSED = (TESTS / "reused.sql").read_text(encoding="utf-8")
_numbers = itertools.count(1)

# For tests that do not say how many examples they need.
settings.register_profile("shortened", max_examples=shortened(100))
settings.load_profile("shortened")


def template() -> str:
    """The name of the migrated database that is copied for each test."""
    return f"catalog_template_{os.getpid()}"


def pytest_collection_finish() -> None:
    """Exclude imported objects from garbage collection, and collect less often. Saves a tenth of the time of all tests. On
    newer Pythons, Hypothesis finds no owner of its random number generators among objects that are excluded."""
    if sys.version_info < (3, 14):
        gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 50)


def pytest_collection(session: pytest.Session) -> None:
    """Let each worker of the whole suite compile its share of the tests first, and read what the others have compiled. On a
    fresh clone, each would compile all. Imports make hardly any garbage: looking for it would take a fifth of the time."""
    if not session.config.getoption("numprocesses", None):
        gc.disable()
    worker, workers = os.environ.get("PYTEST_XDIST_WORKER"), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    whole = [Path(each).resolve() for each in session.config.args] == [TESTS]
    if worker is not None and whole and not sys.dont_write_bytecode:
        files = [path for path in sorted(TESTS.glob("*/test_*.py")) if SLOW or not is_left_out(path)]
        for path in files[int(worker.removeprefix("gw")) :: workers]:
            with suppress(Exception):  # collecting it reports the error
                import_module(f"tests.{path.parent.name}.{path.stem}")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Skip whole files that are left to `make thorough`. Pytest does not ask about files that the command line names."""
    return True if not SLOW and collection_path.suffix == ".py" and is_left_out(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put single tests behind files with one test, and deselect the other tests that are left to `make thorough`."""
    items.sort(key=lambda item: item.nodeid.startswith(SINGLE))
    if SLOW:
        return
    wanted = named(config.args)
    left = [
        item
        for item in items
        if item.path not in wanted and is_repetition(item.nodeid, {mark.name for mark in item.iter_markers()})
    ]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Let a worker send one message for a test that passed, instead of five. Each costs 0.2 ms, here and at the other end."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return None
    for report in informative(runtestprotocol(item, nextitem=nextitem, log=False)):
        item.ihook.pytest_runtest_logreport(report=report)
    return True


def informative(reports: Sequence[pytest.TestReport]) -> list[pytest.TestReport]:
    """The reports of a test, without setup and teardown if they passed: the report of the call has the seconds of all."""
    for report in reports:
        if report.when == "call":
            report.duration = sum(each.duration for each in reports)
    return [report for report in reports if report.when == "call" or not report.passed]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """A worker for each core. `make thorough` has one more, because most of its tests with real processes wait."""
    return (os.cpu_count() or 1) + SLOW


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep each unit of `tests/order.py` on one worker, and start the longest first."""
    from xdist.scheduler import LoadScopeScheduling

    class ByUnit(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

        def _assign_work_unit(self, node: Any) -> None:
            for long in reversed(LONG):
                if long in self.workqueue:
                    self.workqueue.move_to_end(long, last=False)
            super()._assign_work_unit(node)

    return ByUnit(config, log)


@dataclass(slots=True)
class Server:
    """A Postgres server for tests. `target` leads to its maintenance database.

    `copying` is the strategy for creating a database from a template. Copying files is by far the fastest in memory, and the
    slowest on a disk, because each copy waits for a checkpoint.
    """

    target: Target
    copying: str = ""
    reusing: bool = False
    """Whether databases are emptied and used again, which needs a role that may create event triggers."""
    _spare: dict[str, list[tuple[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    """Emptied databases by template, each with an open connection."""
    # The plain loop of asyncio: the one that trio-asyncio installs cannot outlive a call.
    _runner: asyncio.Runner = field(default_factory=partial(asyncio.Runner, loop_factory=asyncio.SelectorEventLoop))
    _connection: Any = None

    def named(self, database: str) -> Target:
        if self.target.url is None:
            return replace(self.target, database=database)
        return Target(url=urlunsplit(urlsplit(self.target.url)._replace(path=f"/{database}")))

    @contextmanager
    def copy(self, database: str = "") -> Iterator[Target]:
        """A copy of a database that nobody uses, by default a fresh migrated one. It is dropped at the end."""
        name = self._copied(database or template())
        yield self.named(name)
        self.run(f"drop database if exists {name} with (force)")

    @contextmanager
    def fresh(self, origin: str = "", *settings: str) -> Iterator[Target]:
        """A database with the rows of a template, by default the migrated one. Settings are those of the database."""
        origin = origin or template()
        if self._spare[origin]:
            name, connection = self._spare[origin].pop()
        else:
            name, connection = self._copied(origin), None
            self.run(*(f"alter database {name} set {setting}" for setting in settings))
        yield self.named(name)
        if self.reusing:
            connection = connection or self._runner.run(_connected(self.named(name)))
            if self._runner.run(connection.fetchval("select kept.emptied()")):
                self._spare[origin].append((name, connection))
                return
            connection.terminate()
        self.run(f"drop database if exists {name} with (force)")

    def prepare(self, origin: str) -> None:
        """Let copies of this template be used again."""
        if self.reusing:
            connection = self._runner.run(_connected(self.named(origin)))
            self._runner.run(connection.execute(REUSED))
            self._runner.run(connection.close())

    def _copied(self, origin: str) -> str:
        name = f"test_{os.getpid()}_{next(_numbers)}"
        self.run(f"create database {name} template {origin} {self.copying}")
        return name

    def run(self, *statements: str) -> None:
        """Run statements over one connection, which stays open until `close`."""
        self._runner.run(self._run(statements))

    async def _run(self, statements: Sequence[str]) -> None:
        if self._connection is None or self._connection.is_closed():
            self._connection = await _connected(self.target)
        for statement in statements:
            await self._connection.execute(statement)

    def close(self) -> None:
        spare = [connection for each in self._spare.values() for _, connection in each]
        for connection in (*spare, self._connection):
            if connection is not None:
                connection.terminate()
        self._runner.close()


async def _connected(target: Target) -> Any:
    return await asyncpg.connect(**target.arguments())


@pytest.fixture(autouse=True)
def logging_left_alone() -> Iterator[None]:
    """Fail a test that leaves a log handler behind, which would write to the closed output of an ended test."""
    handlers = list(logging.getLogger().handlers)
    yield
    assert logging.getLogger().handlers == handlers, "a test that sets up logging needs the fixture `own_logging`"


@pytest.fixture
def own_logging() -> Iterator[None]:
    """Restore logging after a test that runs the program, or sets up logging, in the test process."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """The server of this run, with a migrated template database."""
    url = os.environ.get("CATALOG_TEST_DATABASE_URL")
    with ExistingServer(url) if url else EmbeddedServer() as server:
        server.run(f"drop database if exists {template()}", f"create database {template()}")
        trio.run(_migrated, server.named(template()))
        server.prepare(template())
        yield server
        server.run(f"drop database if exists {template()} with (force)")
        server.close()


async def _migrated(target: Target) -> None:
    async with open_database(target) as database:
        await migrate(database)


class ExistingServer:
    def __init__(self, url: str) -> None:
        self._url = url

    def __enter__(self) -> Server:
        return Server(Target(url=self._url))

    def __exit__(self, *_: object) -> None:
        return None


class EmbeddedServer:
    """The embedded Postgres in its own thread, because Trio fixtures cannot outlive a test."""

    def __enter__(self) -> Server:
        place = in_memory()
        self._directory = tempfile.TemporaryDirectory(prefix="catalog-tests-", dir=place, ignore_cleanup_errors=True)
        self._copying = "" if place is None else "strategy file_copy"
        Path(self._directory.name).chmod(0o711)
        self._answers: SimpleQueue[Server | BaseException] = SimpleQueue()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()
        answer = self._answers.get(timeout=60)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def __exit__(self, *_: object) -> None:
        trio.from_thread.run_sync(self._stop.set, trio_token=self._token)
        self._thread.join(timeout=60)
        self._directory.cleanup()

    def _live(self) -> None:
        try:
            trio.run(self._serve)
        except BaseException as error:
            self._answers.put(error)

    async def _serve(self) -> None:
        self._stop = trio.Event()
        self._token = trio.lowlevel.current_trio_token()
        # A vacuum would change the order of rows from one run to the next.
        settings = {"max_connections": "100", "shared_buffers": "64MB", "autovacuum": "off"}
        async with running_postgres(Path(self._directory.name) / "data", settings=settings) as postgres:
            endpoint = postgres.endpoint
            target = Target(host=endpoint.host, user=endpoint.user, database=endpoint.database)
            self._answers.put(Server(target, self._copying, reusing=True))
            await self._stop.wait()


@pytest.fixture
def database_target(postgres_server: Server) -> Iterator[Target]:
    """A fresh migrated database."""
    with postgres_server.fresh() as target:
        yield target


@pytest.fixture
async def database(database_target: Target) -> AsyncIterator[Database]:
    """An open pool over a fresh migrated database."""
    async with open_database(database_target) as opened:
        yield opened
