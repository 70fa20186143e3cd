"""Both programs as a shell starts them: without streams, with readers that leave, on wrong Pythons, without packages."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from service.terminal.interpreter import BEYOND, OLDEST, require
from service.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("service", "service.catalogctl")


def shell(script: str, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    """Run a bash script in the repository. `$PYTHON` is the interpreter, and SIGPIPE is ignored, as in Python."""
    return subprocess.run(
        ["bash", "-c", f"trap '' PIPE; {script}"],
        cwd=ROOT,
        env={**os.environ, "PYTHON": python},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_prints_the_version_of_the_package(program: str) -> None:
    name = {"service": "catalog-service", "service.catalogctl": "catalogctl"}[program]
    assert shell(f"$PYTHON -m {program} --version").stdout == f"{name} {VERSION}\n"


def test_a_reader_that_leaves_ends_a_command_silently() -> None:
    done = shell("$PYTHON -m service openapi | head -n 1; echo ${PIPESTATUS[0]}")
    assert done.stdout == "{\n141\n"
    assert done.stderr == ""


@pytest.mark.parametrize("program", PROGRAMS)
def test_output_that_finds_no_room_is_one_line(program: str) -> None:
    done = shell(f"$PYTHON -m {program} --help >/dev/full")
    name = program.rpartition(".")[2]
    assert (done.returncode, done.stderr) == (2, f"{name}: cannot write the output: No space left on device\n")


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-"])
def test_streams_that_are_closed_change_no_exit_code(program: str, closed: str) -> None:
    done = shell(f"$PYTHON -m {program} --help {closed}; echo $? >&2; $PYTHON -m {program} no-such {closed}; exit $?")
    assert done.stderr.splitlines()[0] == "0"
    assert done.returncode == 2
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_output_that_is_closed_is_one_line(program: str) -> None:
    name = program.rpartition(".")[2]
    for command in ("--help", "--version"):
        done = shell(f"$PYTHON -m {program} {command} <&- >&-")
        assert (done.returncode, done.stderr) == (2, f"{name}: cannot write the output: it is closed\n")
    assert shell(f"$PYTHON -m {program} --help >&- 2>&-").returncode == 2


def test_a_file_that_is_opened_does_not_become_a_closed_standard_stream() -> None:
    program = (
        "import os; from service.terminal.output import open_closed_streams; open_closed_streams();"
        "number = os.open('pyproject.toml', os.O_RDONLY); os._exit(number)"
    )
    assert shell(f'$PYTHON -c "{program}" <&- >&- 2>&-').returncode >= 3


@pytest.mark.parametrize("version", [(3, 6, 15), (3, 10, 13), (3, 15, 0)])
def test_an_unsupported_python_is_an_error_that_names_the_supported_ones(
    version: tuple[int, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    with pytest.raises(SystemExit) as ended:
        require("service", newest=True)
    assert ended.value.code == 2
    assert re.fullmatch(
        r"service: needs Python 3\.11, 3\.12, 3\.13 or 3\.14, and this is Python \S+\n", capsys.readouterr().err
    )


def test_catalogctl_runs_on_newer_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 15, 0))
    require("catalogctl", newest=False)


def test_the_package_needs_the_python_that_the_program_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">={}.{},<{}.{}".format(*OLDEST, *BEYOND)


def _old_pythons() -> list[str]:
    places: list[str | Path] = [
        "/usr/bin/python3.9",
        "/usr/bin/python3.10",
        *Path.home().glob(".pyenv/versions/3.[6-9].*/bin/python"),
    ]
    return [str(place) for place in places if os.access(place, os.X_OK)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_real_old_python_says_it_in_one_line(program: str) -> None:
    pythons = _old_pythons()
    if not pythons:
        pytest.skip("there is no older Python here")
    for python in pythons:
        done = shell(f"$PYTHON -m {program}", python)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert "needs Python 3.11" in done.stderr


@pytest.mark.parametrize("command", ["serve", "openapi", "import-catalog nothing.json", "doctor"])
def test_a_python_without_the_packages_says_in_one_line_what_to_do(command: str) -> None:
    done = shell(
        f'$PYTHON -I -S -c \'import sys; sys.path.insert(0, "."); sys.argv[1:] = "{command}".split();'
        f"import service.__main__ as program; sys.exit(program.main())'"
    )
    assert done.returncode == 2
    assert re.fullmatch(
        r"service: the Python package '\w+' is not installed for \S+: run 'make setup' .*\n", done.stderr
    )
