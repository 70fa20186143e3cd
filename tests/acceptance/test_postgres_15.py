"""The oldest supported Postgres, set up like an operator's: over TCP with a password and an ordinary role."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from asyncpg import ConnectionDoesNotExistError

from storage.connection.asyncio_border import cross, open_loop
from storage.connection.pool import Connection, PoolLimits, connect
from storage.connection.target import Target
from tests.acceptance.postgres import BINARIES, PASSWORD, ordinary_postgres
from tests.acceptance.processes import SECRET, complaint, serving
from tests.acceptance.processes import run as run_command
from tests.acceptance.smtp import MailServer, SmtpServer
from tests.acceptance.story import do_main_job

pytestmark = pytest.mark.skipif(not (BINARIES / "postgres").exists(), reason=f"there is no Postgres 15 in {BINARIES}")


@pytest.fixture(scope="module")
def url(playground: Path) -> Iterator[str]:
    """The URL of a new, empty database."""
    with ordinary_postgres(playground / "postgres-15") as server:
        server.ask("create database shop owner catalog", database="postgres")
        yield f"postgresql://catalog:{PASSWORD}@127.0.0.1:{server.port}/shop"


def test_the_main_job_is_done_on_a_postgres_15_over_tcp(url: str, playground: Path, tmp_path: Path) -> None:
    mail_server = MailServer()
    with SmtpServer(mail_server) as smtp:
        settings = {"database.url": url, "server.secret": SECRET, "mail.smtp_url": smtp.url, "log.level": "debug"}
        with serving(playground / "on-15", settings) as service:
            job = do_main_job(service, mail_server, tmp_path)
            service.stop()
            assert PASSWORD not in service.log()
        assert not (playground / "on-15" / "postgres").exists(), "no Postgres of our own is made beside yours"
        with serving(playground / "on-15", settings) as service:
            assert service.usage(job.api_key) == job.usage


def test_a_wrong_password_is_one_line_that_does_not_show_it(url: str, playground: Path) -> None:
    wrong = url.replace(PASSWORD, "another-password")
    done = run_command("migrate", "--data-dir", playground / "on-15", settings={"database.url": wrong})
    assert "password authentication failed" in complaint(done)
    assert "another-password" not in done.stderr


def test_a_client_that_vanishes_while_it_is_sent_a_result_keeps_its_locks_no_longer_than_a_statement(url: str) -> None:
    hasty = PoolLimits(lock_seconds=0.5, statement_seconds=1.0, command_seconds=60.0)
    patient = PoolLimits(lock_seconds=20.0, statement_seconds=30.0, command_seconds=60.0)

    async def execute(connection: Connection, statement: str) -> None:
        await cross(lambda: connection.execute(statement), 60.0, connection.terminate)

    async def run_unread(connection: Connection) -> None:
        with pytest.raises(ConnectionDoesNotExistError):
            await execute(connection, "select repeat('x', 100000000)")

    async def vanish() -> None:
        async with open_loop():
            vanished, other = await connect(Target(url=url), hasty), await connect(Target(url=url), patient)
            try:
                await execute(other, "create table locked ()")
                await execute(vanished, "begin; lock table locked in exclusive mode")
                # A client that reads nothing is to the server as one that is gone: its window stays closed.
                vanished._transport.pause_reading()
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(run_unread, vanished)
                    await execute(other, "begin; lock table locked in exclusive mode")
                    vanished.terminate()
            finally:
                vanished.terminate()
                other.terminate()

    trio.run(vanish)
