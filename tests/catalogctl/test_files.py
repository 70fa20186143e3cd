"""CSV files: what is downloaded and how, and that an incomplete file never looks like a whole one."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from service.catalogctl.client import Asked
from service.catalogctl.failures import Unreachable
from service.catalogctl.transport import PIECE_BYTES, download
from tests.catalogctl.stage import Line, Stage, logged_in, refuses, says, scripted

CSV = {"Content-Type": "text/csv; charset=utf-8; header=present"}
FILE = "id,name\r\nspn_1,Größe \u202e\r\n".encode()


@pytest.fixture
def admin(stage: Stage) -> Callable[..., int]:
    """Runs `catalogctl admin sponsors --csv` against a script."""

    def run(line: Line, *options: str) -> int:
        with scripted(line) as server:
            logged_in(stage, server.url)
            code = stage.run("admin", "sponsors", "--csv", *options)
            assert server.targets() == ["GET /api/v1/admin/sponsorships/sponsors?format=csv"]
            return code

    return run


def test_a_file_on_standard_output_has_no_control_characters(stage: Stage, admin: Callable[..., int]) -> None:
    assert admin(Line(200, FILE, CSV)) == 0
    assert (stage.out, stage.err) == ("id,name\r\nspn_1,Größe \ufffd\r\n", "")


def test_a_file_is_written_byte_by_byte_and_replaces_an_older_one(
    stage: Stage, admin: Callable[..., int], tmp_path: Path
) -> None:
    target = tmp_path / "sponsors.csv"
    target.write_text("older")
    assert admin(Line(200, FILE, CSV), "--output", str(target)) == 0
    assert target.read_bytes() == FILE
    assert (stage.out, stage.err) == ("", "")
    link = tmp_path / "link.csv"
    link.symlink_to(target)
    assert admin(Line(200, b"id\r\n", CSV), "--output", str(link)) == 0
    assert link.is_symlink()
    assert target.read_bytes() == b"id\r\n"
    assert admin(Line(200, FILE, CSV), "--output", os.devnull) == 0
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (Line(200, FILE, CSV | {"Content-Length": "400"}), 3),
        (Line(200, b"5\r\nid,na\r\n5\r\nme", CSV | {"Transfer-Encoding": "chunked", "X": "1"}), 3),
        (Line(200, b"[]"), 3),
        (says(200, {"items": []}), 3),
        (refuses(403, "forbidden", "Only administrators can do this."), 5),
    ],
)
def test_after_an_error_the_older_file_is_still_there_and_nothing_else(
    stage: Stage, admin: Callable[..., int], tmp_path: Path, line: Line, code: int
) -> None:
    target = tmp_path / "files" / "sponsors.csv"
    target.parent.mkdir()
    target.write_text("older")
    assert admin(line, "--output", str(target)) == code
    assert [each.read_text() for each in target.parent.iterdir()] == ["older"]
    assert len(stage.err.splitlines()) == 1


def test_a_place_that_cannot_be_written_is_reported_before_anything_is_sent(stage: Stage, tmp_path: Path) -> None:
    stage.environment = {"CATALOGCTL_KEY": "cs_user_variable"}
    (tmp_path / "busy.csv.part").touch()
    for place, words in (
        (tmp_path / "absent" / "a.csv", "cannot write "),
        (tmp_path, "cannot write "),
        (tmp_path / "busy.csv", "busy.csv.part exists"),
    ):
        assert stage.run("admin", "audit", "--csv", "--output", str(place)) == 2
        assert words in stage.err
        assert len(stage.err.splitlines()) == 1
    assert stage.run("admin", "audit", "--output", "a.csv") == 2
    assert stage.err == "catalogctl: --output needs --csv\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_disk_is_reported_in_one_line(stage: Stage, admin: Callable[..., int]) -> None:
    assert admin(Line(200, FILE, CSV), "--output", "/dev/full") == 2
    assert stage.err == "catalogctl: cannot write /dev/full: No space left on device\n"


def test_a_large_file_arrives_in_pieces_and_is_bounded() -> None:
    body = b"id\r\n" * PIECE_BYTES
    pieces: list[bytes] = []
    with scripted(Line(200, body, CSV)) as server:
        reply = download(Asked("GET", f"{server.url}/"), pieces.append)
    assert (reply.status, reply.body) == (200, b"")
    assert b"".join(pieces) == body
    assert max(map(len, pieces)) <= PIECE_BYTES
    for limits, words in (
        ({"file_bytes": len(body) - 1}, "larger than"),
        ({"file_seconds": 0.0}, "did not respond within"),
    ):
        written = io.BytesIO()
        with scripted(Line(200, body, CSV)) as server, pytest.raises(Unreachable, match=words):
            download(Asked("GET", f"{server.url}/"), written.write, **limits)  # type: ignore[arg-type]
        assert len(written.getvalue()) < len(body)


def process(server_url: str, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `catalogctl` as a process, in a line of bash in which it is `$C`."""
    settings = {"CATALOGCTL_URL": server_url, "CATALOGCTL_KEY": "cs_user_variable", "NO_PROXY": "127.0.0.1"}
    return subprocess.run(
        ["bash", "-c", f'C="{sys.executable} -m service.catalogctl"; {script}'],
        env={**os.environ, **settings, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_reader_of_a_file_that_leaves_early_ends_it_silently() -> None:
    with scripted(Line(200, b"id,name\r\n" * 200_000, CSV)) as server:
        done = process(server.url, "$C admin sponsors --csv | head -n 1; exit ${PIPESTATUS[0]}")
    assert (done.returncode, done.stdout, done.stderr) == (141, "id,name\n", "")


def test_a_terminal_of_another_encoding_gets_escapes() -> None:
    with scripted(Line(200, FILE, CSV)) as server:
        done = process(server.url, "$C admin sponsors --csv", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1:] == ["spn_1,Gr\\xf6\\xdfe \\ufffd"]
