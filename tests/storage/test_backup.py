"""A backup file is not trusted: any file that is not an intact backup is rejected with a one-line message."""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from storage.backups.archive import BackupError, restore

DUMPED = b"a dump"
SUMS = {"database.dump": hashlib.sha256(DUMPED).hexdigest()}
MANIFEST: Mapping[str, Any] = {"format": 1, "made_ms": 1_000, "postgres": "18", "schema": 1, "sums": SUMS}


def part(name: str, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
    about = tarfile.TarInfo(name)
    about.size = len(content)
    return about, content


def link(name: str, target: str) -> tuple[tarfile.TarInfo, bytes]:
    about = tarfile.TarInfo(name)
    about.type, about.linkname = tarfile.SYMTYPE, target
    return about, b""


def refusal(place: Path, *parts: tuple[tarfile.TarInfo, bytes]) -> str:
    """The message with which an archive of these parts is rejected. Asserts that nothing was created."""
    file = place / "saved.tar"
    with tarfile.open(file, "w") as archive:
        for about, content in parts:
            archive.addfile(about, io.BytesIO(content))
    with pytest.raises(BackupError) as caught:
        trio.run(restore, file, place / "new")
    assert list(place.iterdir()) == [file]
    return str(caught.value).removeprefix(f"{file} ")


@pytest.mark.parametrize(
    "change",
    [
        {"format": "1"},
        {"format": True},
        {"made_ms": "today"},
        {"made_ms": -1},
        {"made_ms": 10**30},
        {"postgres": 18},
        {"postgres": "eighteen"},
        {"postgres": None},
        {"schema": "1"},
        {"schema": -1},
        {"sums": ["database.dump"]},
        {"sums": {"database.dump": 5}},
        {"sums": {"database.dump": "\u00e9"}},
        {"unknown": 1},
    ],
    ids=str,
)
def test_a_manifest_of_other_values_cannot_be_read(tmp_path: Path, change: dict[str, Any]) -> None:
    manifest = part("manifest.json", json.dumps({**MANIFEST, **change}).encode())
    words = refusal(tmp_path, manifest, part("database.dump", DUMPED))
    assert words == "is damaged: its manifest cannot be read"


def test_a_manifest_that_is_nested_too_deeply_cannot_be_read(tmp_path: Path) -> None:
    assert refusal(tmp_path, part("manifest.json", b"[" * 60_000)) == "is damaged: its manifest cannot be read"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 2}, "was made by another version of this program: restore it with that version"),
        ({"sums": {}}, "was made by another version of this program: restore it with that version"),
        (
            {"sums": {**SUMS, "../secret": ""}},
            "was made by another version of this program: restore it with that version",
        ),
        ({"postgres": "19"}, "was made by a newer version of this program: restore it with that version"),
        ({"schema": 1_000}, "was made by a newer version of this program: restore it with that version"),
        ({"sums": {"database.dump": "0"}}, "is damaged: the checksum of database.dump is wrong"),
    ],
    ids=str,
)
def test_backups_of_another_version_and_damaged_ones_have_different_errors(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    manifest = part("manifest.json", json.dumps({**MANIFEST, **change}).encode())
    assert refusal(tmp_path, manifest, part("database.dump", DUMPED)) == words


def test_links_are_no_parts_of_a_backup(tmp_path: Path) -> None:
    manifest = part("manifest.json", json.dumps(MANIFEST).encode())
    assert refusal(tmp_path, link("manifest.json", "/etc/hostname")) == "is not a backup of this service"
    words = refusal(tmp_path, manifest, link("database.dump", "elsewhere"))
    assert words == "is damaged: database.dump is missing"
