"""Scheduled backups of a real service: made on their own, by one process, kept private, reported, and restored."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx

from tests.acceptance.postgres import ask, free_port
from tests.acceptance.processes import Settings, command, complaint, run, serving, until

DAILY: Settings = {"backup.every_hours": 24, "backup.keep": 1}
MADE = re.compile(r"backed up the database to (catalog-\d{8}T\d{6}Z\.backup)")
LONG_AGO = "catalog-20200101T000000Z.backup"


def made_by(log: str) -> list[str]:
    return MADE.findall(log)


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def figures(url: str) -> Iterator[tuple[str, float]]:
    """The metrics of backups."""
    for name, value in re.findall(r"^(catalog_backup\S+) (\S+)$", httpx.get(f"{url}/metrics").text, re.MULTILINE):
        yield name, float(value)


def test_a_service_backs_itself_up_once_across_restarts_and_the_file_restores(data_dir: Path) -> None:
    directory = data_dir / "backups"
    with serving(data_dir, DAILY) as service:
        key = service.mint()["apiKey"]
        until(lambda: made_by(service.log()))
        [name] = made_by(service.log())
        assert names_in(directory) == [name]
        assert [path.stat().st_mode & 0o777 for path in (directory, directory / name)] == [0o700, 0o600]
        found = dict(figures(service.url))
        assert (found['catalog_backups_total{outcome="made"}'], found['catalog_backups_total{outcome="failed"}']) == (
            1,
            0,
        )
        assert 0 <= found["catalog_backup_age_seconds"] < 60
    # The next backup is due, and there is a file that nobody knows.
    (directory / "notes").touch()
    shutil.copy(directory / name, directory.parent / name)
    (directory / name).rename(directory / LONG_AGO)
    with serving(data_dir, DAILY) as service:
        until(lambda: "deleted the backup" in service.log())
        assert names_in(directory) == sorted([*made_by(service.log()), "notes"])
    with serving(data_dir, DAILY) as service:
        assert service.usage(key)["status"] == "anonymous"
        until(lambda: "catalog_backup_age_seconds" in dict(figures(service.url)))
        assert made_by(service.log()) == [], "a restart repeats nothing"
        done = run("doctor", "--data-dir", data_dir, settings=DAILY)
        assert (done.returncode, f"ok: the newest scheduled backup in {directory} is 0.0 h old\n" in done.stdout) == (
            0,
            True,
        )
    [saved] = [each for each in names_in(directory) if each != "notes"]
    assert "restored" in command("restore", directory / saved, "--data-dir", data_dir.parent / "again")
    with serving(data_dir.parent / "again") as service:
        assert service.usage(key)["status"] == "anonymous"


def test_the_parent_of_workers_makes_the_backups_alone(data_dir: Path) -> None:
    operators = f"127.0.0.1:{free_port()}"
    directory = data_dir.parent / "elsewhere"
    settings = {**DAILY, "server.workers": 2, "server.ops_bind": operators, "backup.directory": directory}
    with serving(data_dir, settings) as service:
        until(lambda: made_by(service.log()))
        until(lambda: dict(figures(f"http://{operators}")).get("catalog_backup_age_seconds") is not None)
        assert dict(figures(f"http://{operators}"))['catalog_backups_total{outcome="made"}'] == 1
        assert names_in(directory) == made_by(service.log())
        other = data_dir.parent / "other"
        refused = run(
            "serve", "--bind", "127.0.0.1:0", "--data-dir", other, settings={"backup.directory": directory, **DAILY}
        )
        assert complaint(refused) == (
            f"service: backup.directory: another service keeps its backups in {directory}: choose another directory"
        )
    assert not (data_dir / "backups").exists()


def test_a_failure_is_one_line_of_the_log_and_the_service_goes_on(data_dir: Path) -> None:
    with serving(data_dir) as service:
        # The catalog of the database is damaged: no dump can be made.
        made = "create function damaged() returns int language sql return 1"
        damage = "update pg_proc set prolang = 99999 where proname = 'damaged'"
        ask(service.sockets, made, "set allow_system_table_mods = on", damage)
    with serving(data_dir, {**DAILY, "log.level": "warning"}) as service:
        until(lambda: "backup failed" in service.log())
        [line] = [each for each in service.log().splitlines() if "backup" in each]
        assert " error actors.backups.scheduler backup failed, retrying in 60 s: pg_dump failed: error: " in line
        assert names_in(data_dir / "backups") == []
        found = dict(figures(service.url))
        assert found == {'catalog_backups_total{outcome="made"}': 0, 'catalog_backups_total{outcome="failed"}': 1}
        assert service.mint()
