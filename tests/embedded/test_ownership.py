"""One owner at a time, recovery after a killed owner, and the users that may connect."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
import trio

from storage.embedded.children import EmbeddedError, account_of, server_account, spawn
from storage.embedded.cluster import prepare
from storage.embedded.postmaster import Postmaster, _read_answer, _startup_message
from storage.embedded.server import endpoint_at, endpoint_of_running, running_postgres
from tests.embedded.helpers import AS_ROOT, fetch, owner_process, postmasters_of, until

START_SECONDS = 60.0
DAEMON = 1
"""A user of every system."""

ONLY_ROOT = pytest.mark.skipif(not AS_ROOT, reason="only root can act as another user")


async def test_a_second_instance_is_refused_by_a_line_with_the_directory_and_the_pid(data_dir: Path) -> None:
    async with running_postgres(data_dir):
        with pytest.raises(EmbeddedError) as caught:
            async with running_postgres(data_dir):
                pass
    assert str(data_dir) in str(caught.value)
    assert f"(pid {os.getpid()})" in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_command_beside_the_server_finds_its_endpoint(data_dir: Path) -> None:
    assert endpoint_of_running(data_dir) is None
    assert endpoint_of_running(data_dir / "nowhere") is None
    async with running_postgres(data_dir) as postgres:
        assert endpoint_of_running(data_dir) == postgres.endpoint == endpoint_at(f"{data_dir}/run")
    assert endpoint_of_running(data_dir) is None


async def test_a_killed_service_takes_its_postgres_with_it(data_dir: Path) -> None:
    with owner_process(data_dir) as owner:
        assert owner.stdout
        facts = json.loads(await trio.to_thread.run_sync(owner.stdout.readline))
        assert postmasters_of(data_dir) == {facts["pid"]}
        assert endpoint_of_running(data_dir) == endpoint_at(facts["host"])
        owner.kill()
        await until(lambda: not postmasters_of(data_dir))


async def test_a_start_right_after_a_killed_service_leaves_one_postmaster(data_dir: Path) -> None:
    for _ in range(3):
        with owner_process(data_dir) as owner:
            assert owner.stdout
            await trio.to_thread.run_sync(owner.stdout.readline)
            owner.kill()
            async with running_postgres(data_dir) as postgres:
                assert postmasters_of(data_dir) == {postgres.statistics().pid}
                assert await fetch(postgres.endpoint, "SELECT 1") == 1


@asynccontextmanager
async def survivor(data_dir: Path) -> AsyncIterator[subprocess.Popen[bytes]]:
    """A ready postmaster without an owner. Its parent, this test, reaps it on request or at the end."""
    cluster = await prepare(data_dir, None)
    postmaster = Postmaster(cluster, {})
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(postmaster.output.read)
            try:
                assert await postmaster.until_ready(START_SECONDS) is None
            finally:
                postmaster.output._reading.cancel()
        yield postmaster.process
    finally:
        postmaster.process.kill()
        postmaster.process.wait()


async def test_a_surviving_postmaster_is_stopped_before_the_own_one_starts(
    data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with survivor(data_dir) as old:
        async with running_postgres(data_dir) as postgres:
            assert f"an earlier process left Postgres running as pid {old.pid}: stopping it" in caplog.messages
            assert postmasters_of(data_dir) == {postgres.statistics().pid} != {old.pid}
            assert await fetch(postgres.endpoint, "SELECT 1") == 1
        assert old.wait() == 0


async def test_a_killed_postmaster_that_nobody_reaped_is_no_obstacle(data_dir: Path) -> None:
    async with survivor(data_dir) as old:
        old.send_signal(signal.SIGKILL)
        async with running_postgres(data_dir) as postgres:
            assert await fetch(postgres.endpoint, "SELECT 1") == 1
        assert old.wait() == -signal.SIGKILL


async def test_a_pid_file_that_names_a_foreign_process_is_removed_and_the_process_left_alone(data_dir: Path) -> None:
    bystander = spawn(["/bin/sleep", "60"], server_account(None), signal.SIGKILL, subprocess.DEVNULL)
    try:
        (data_dir / "postgres" / "postmaster.pid").write_text(f"{bystander.pid}\n{data_dir}/postgres\n")
        async with running_postgres(data_dir) as postgres:
            assert await fetch(postgres.endpoint, "SELECT 1") == 1
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.parametrize("content", ["", "nonsense\n", "-1\n", "99999999\n", "2147483646\n"])
async def test_a_pid_file_without_a_living_process_is_no_obstacle(data_dir: Path, content: str) -> None:
    (data_dir / "postgres" / "postmaster.pid").write_text(content)
    async with running_postgres(data_dir) as postgres:
        assert await fetch(postgres.endpoint, "SELECT 1") == 1


@contextmanager
def opened_to_all(sockets: Path) -> Iterator[None]:
    """Let every user reach the socket, which its private directory prevents."""
    for place in sockets.iterdir():
        place.chmod(0o777)
    sockets.chmod(0o777)
    yield
    sockets.chmod(0o700)


@ONLY_ROOT
async def test_peer_authentication_refuses_another_user(data_dir: Path) -> None:
    async with running_postgres(data_dir) as postgres:
        with opened_to_all(Path(str(postgres.endpoint.host))), socket.socket(socket.AF_UNIX) as client:
            os.seteuid(account_of(DAEMON).uid)  # the socket notes who calls connect
            try:
                client.connect(f"{postgres.endpoint.host}/.s.PGSQL.{postgres.endpoint.port}")
            finally:
                os.seteuid(0)
            client.sendall(_startup_message())
            answer = _read_answer(await trio.to_thread.run_sync(client.recv, 4096))
    assert (answer.code, answer.refused, answer.ready) == ("28000", True, False)
    assert "Peer authentication failed" in answer.text


async def test_the_only_ways_in_are_the_ones_we_wrote(data_dir: Path) -> None:
    async with running_postgres(data_dir) as postgres:
        rules = await fetch(
            postgres.endpoint,
            "SELECT array_agg(concat_ws(' ', type, database, user_name, auth_method, options)) FROM pg_hba_file_rules",
        )
        mapped = await fetch(
            postgres.endpoint, "SELECT array_agg(sys_name || ' as ' || pg_username) FROM pg_ident_file_mappings"
        )
    assert rules == ["local {all} {all} peer {map=service}"]
    users = {account_of(os.geteuid()).name, server_account(None).name}
    assert mapped == [f"{user} as catalog" for user in sorted(users)], "the service, before and after it dropped root"
