"""A backup of a running service, restored elsewhere: it has everything answered before it, and nothing else changed."""

import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from storage.backups.archive import back_up
from storage.embedded.server import running_postgres
from tests.acceptance.processes import command, complaint, run, serving
from tests.embedded.helpers import fetch
from tests.slow import smoke


@pytest.fixture(scope="module")
def saved(playground: Path, new_data_dir: Callable[[str], Path]) -> tuple[Path, Path, list[str]]:
    """A backup of a running service, the service's data directory, and the keys minted before the backup."""
    data_dir = new_data_dir("restore")
    file = data_dir.parent / "saved.tar"
    with serving(data_dir) as service:
        keys = [service.mint()["apiKey"] for _ in range(5)]
        for number, key in enumerate(keys):
            for _ in range(number):
                service.get("/api/v1/bots?limit=1", key)
        (data_dir.parent / "cursor").write_text(service.get("/api/v1/changes?limit=1000").json()["nextCursor"])
        service.command("backup", file)
        service.mint()
    return file, data_dir, keys


@pytest.fixture(scope="module")
def restored(saved: tuple[Path, Path, list[str]]) -> Path:
    """A data directory that was restored from the backup."""
    file, data_dir, _ = saved
    target = data_dir.parent / "restored"
    assert "restored" in command("restore", file, "--data-dir", target)
    assert (target / "secret").read_bytes() == (data_dir / "secret").read_bytes()
    return target


@smoke
def test_a_restored_database_has_what_was_answered_and_serves(
    saved: tuple[Path, Path, list[str]], restored: Path
) -> None:
    _, data_dir, keys = saved
    with serving(restored) as service:
        assert [service.usage(key)["requestsUsed"] for key in keys] == [0, 1, 2, 3, 4]
        service.mint()
        assert "ok: the server's secret is that of the database" in service.command("doctor")
        cursor = (data_dir.parent / "cursor").read_text()
        assert service.get(f"/api/v1/changes?cursor={cursor}").json()["error"] == "cursor_expired"


@smoke
def test_a_backup_is_private_and_says_what_it_holds(saved: tuple[Path, Path, list[str]]) -> None:
    file, _, _ = saved
    assert file.stat().st_mode & 0o777 == 0o600
    with tarfile.open(file) as archive:
        assert archive.getnames() == ["manifest.json", "database.dump", "secret"]
        assert {part.mode for part in archive} == {0o600}
    assert not list(file.parent.glob(".backup-*")), "the workshop is left behind"


def test_what_cannot_be_saved_or_restored_is_refused_in_one_line(saved: tuple[Path, Path, list[str]]) -> None:
    file, data_dir, _ = saved
    place = data_dir.parent
    foreign = place / "foreign.tar"
    foreign.write_text("no archive")
    elsewhere = {"database.url": "postgresql://nobody@localhost/nothing"}
    refusals = {
        "already exists": run("backup", file, "--data-dir", data_dir),
        "there is no database": run("backup", place / "b.tar", "--data-dir", place / "nothing"),
        "already holds a database": run("restore", file, "--data-dir", data_dir),
        "not a backup of this service": run("restore", foreign, "--data-dir", place / "new"),
        "cannot read": run("restore", place / "absent.tar", "--data-dir", place / "new"),
        "embedded database only": run("backup", place / "b.tar", "--data-dir", data_dir, settings=elsewhere),
    }
    for words, done in refusals.items():
        assert words in complaint(done)
    assert not (place / "new").exists()
    assert not (place / "b.tar").exists()


@pytest.mark.parametrize("damage", ["a bit", "the end", "the manifest", "a newer version"])
@smoke
def test_a_damaged_backup_makes_nothing(saved: tuple[Path, Path, list[str]], damage: str) -> None:
    file, data_dir, _ = saved
    whole = bytearray(file.read_bytes())
    match damage:
        case "a bit":
            whole[len(whole) // 2] ^= 1
        case "the end":
            del whole[len(whole) // 2 :]
        case "the manifest":
            whole = bytearray(whole.replace(b'"sums"', b'"sumz"', 1))
        case "a newer version":
            whole = bytearray(whole.replace(b'"schema": ', b'"schema":9', 1))
    broken = data_dir.parent / f"{damage.replace(' ', '-')}.tar"
    broken.write_bytes(whole)
    words = complaint(run("restore", broken, "--data-dir", data_dir.parent / "new"))
    assert "damaged" in words or "newer version" in words
    assert not (data_dir.parent / "new").exists()


def test_nothing_serves_from_a_restore_that_did_not_end(restored: Path) -> None:
    mark = restored / "restoring"
    mark.touch()
    for arguments in (("serve", "--bind", "127.0.0.1:0"), ("migrate",), ("backup", restored.parent / "c.tar")):
        assert "is running or failed" in complaint(run(*arguments, "--data-dir", restored))
    mark.unlink()


@smoke
def test_the_manifest_is_json(saved: tuple[Path, Path, list[str]]) -> None:
    file, _, _ = saved
    with tarfile.open(file) as archive:
        stream = archive.extractfile("manifest.json")
        assert stream is not None
        manifest = json.load(stream)
    assert manifest["format"] == 1
    assert manifest["sums"].keys() == {"database.dump", "secret"}


def test_a_restore_that_cannot_be_opened_says_that_the_data_are_restored(restored: Path) -> None:
    """The backup is of a database that a migration with another text has changed."""
    drifted, target = restored.parent / "drifted.tar", restored.parent / "drifted"
    turn_around = "update schema_migrations set checksum = reverse(checksum) where version = 1"

    async def save() -> None:
        async with running_postgres(restored) as postgres:
            await fetch(postgres.endpoint, turn_around)
            await back_up(restored, drifted, 0)
            await fetch(postgres.endpoint, turn_around)

    trio.run(save)
    line = complaint(run("restore", drifted, "--data-dir", target))
    assert f"{target} is restored, but cannot be opened: the applied migration 0001_" in line
    assert line.rstrip().endswith("; when that is solved, start the service")
    assert (target / "postgres").exists()
