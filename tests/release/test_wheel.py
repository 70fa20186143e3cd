"""The wheel is the same file wherever it is built, holds all that the program reads, and knows that it is installed."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from release.wheel import build_wheel, checksum
from service.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("service", "actors", "storage", "config.toml", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")
EPOCH = 1_763_000_000


def copied(place: Path, *, umask: int, mtime: float) -> Path:
    """The sources in a folder of their own, with other modes and times."""
    place.mkdir()
    before = os.umask(umask)
    try:
        for name in SOURCES:
            source = ROOT / name
            ignored = shutil.ignore_patterns("__pycache__")
            if source.is_dir():
                shutil.copytree(source, place / name, ignore=ignored, copy_function=shutil.copyfile)
            else:
                shutil.copyfile(source, place / name)
    finally:
        os.umask(before)
    for path in place.rglob("*"):
        os.utime(path, (mtime, mtime))
    return place


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    return build_wheel(copied(place / "one", umask=0o022, mtime=EPOCH), place, EPOCH)


def test_two_builds_in_other_places_with_other_times_and_modes_are_one_file(wheel: Path, tmp_path: Path) -> None:
    source = copied(tmp_path / "another place", umask=0o077, mtime=EPOCH + 86_401.5)
    second = build_wheel(source, tmp_path, EPOCH)
    assert second.name == wheel.name == f"catalog_sponsorship_service-{VERSION}-py3-none-any.whl"
    assert checksum(second) == checksum(wheel)


def test_the_wheel_holds_what_the_program_reads_and_nothing_of_the_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        [entries] = [archive.read(name).decode() for name in names if name.endswith("entry_points.txt")]
    read = [*ROOT.glob("storage/**/*.sql"), *ROOT.glob("service/web/**/*.html"), *ROOT.glob("service/seed/*.jsonl")]
    assert len(read) > 50
    assert {str(path.relative_to(ROOT)) for path in read} | {"service/config.toml"} <= names
    assert "catalog-service = service.__main__:main" in entries
    assert {name.partition("/")[0] for name in names if "dist-info" not in name} == {"service", "actors", "storage"}


def test_an_installation_works_from_any_folder_and_keeps_its_data_with_the_user(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    program = (
        "from service.cli.data_directory import default_data_dir; from service.config.loading import load;"
        "load(None, {}); print(default_data_dir())"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "XDG_DATA_HOME": str(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    expected = tmp_path / "data" / "catalog-service" if os.geteuid() else Path("/var/lib/catalog-service/data")
    assert done.stdout.strip() == str(expected)
