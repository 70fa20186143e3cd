"""The completion scripts of both programs, in a real bash."""

import shutil
import subprocess
from pathlib import Path

import pytest

from service.catalogctl.parser import made_parser
from service.cli.main import whole_parser
from service.cli.table import COMMANDS
from service.terminal.completion import SHELLS, completion_script
from tests.catalogctl.stage import Stage

PARSERS = {"catalog-service": whole_parser, "catalogctl": made_parser}

COMPLETE = """
source "$1"; shift
handler=$(complete -p "$1"); handler=${handler##*-F }; handler=${handler%% *}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
"$handler"
echo "${COMPREPLY[*]}"
"""
"""What bash does at TAB: the words of the line, the last of which is to be completed."""


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    for program, parser in PARSERS.items():
        (tmp_path / f"{program}.bash").write_text(completion_script(parser(), "bash"))
    return tmp_path


def completed(scripts: Path, *line: str) -> list[str]:
    bash: list[str | Path] = ["bash", "--norc", "-c", COMPLETE, "bash", scripts / f"{line[0]}.bash", *line]
    done = subprocess.run(bash, cwd=scripts, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (("catalog-service", "gra"), ["grant-admin"]),
        (("catalog-service", "set-tier", "--tier", ""), ["claimed", "upgraded"]),
        (("catalog-service", "serve", "--ver"), ["--verbose"]),
        (("catalog-service", "completion", ""), list(SHELLS)),
        (("catalog-service", "backup", "catalogctl.b"), ["catalogctl.bash"]),
        (("catalogctl", "sponsor", "bookin"), ["bookings", "booking"]),
        (("catalogctl", "sponsor", "delivery", "--al"), ["--all"]),
    ],
)
def test_bash_completes_commands_options_choices_and_files(
    scripts: Path, line: tuple[str, ...], words: list[str]
) -> None:
    assert completed(scripts, *line) == words


def test_bash_completes_every_command_and_folders_where_a_folder_is_meant(scripts: Path) -> None:
    (scripts / "a-folder").mkdir()
    assert completed(scripts, "catalog-service", "") == list(COMMANDS)
    assert completed(scripts, "catalog-service", "serve", "--data-dir", "") == ["a-folder"]


@pytest.mark.parametrize("program", PARSERS)
@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shutil.which(shell)])
def test_a_shell_accepts_its_script(program: str, shell: str) -> None:
    script = completion_script(PARSERS[program](), shell)
    subprocess.run([shell, "-n"], input=script, text=True, timeout=60, check=True)


def test_catalogctl_prints_its_script_without_a_service(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    assert stage.run("completion", "bash") == 0
    assert stage.out.rstrip("\n") == completion_script(made_parser(), "bash").rstrip("\n")
