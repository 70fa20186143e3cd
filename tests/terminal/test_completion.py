"""The completion scripts of both programs, in a real bash and, where they are installed, zsh and fish."""

import argparse
import os
import pty
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from service.catalogctl.main import whole_parser as catalogctl_parser
from service.cli.main import whole_parser
from service.cli.table import COMMANDS
from service.terminal.completion import SHELLS, completion_script
from tests.slow import repeats

PARSERS: dict[str, Callable[[], argparse.ArgumentParser]] = {
    "catalog-service": whole_parser,
    "catalogctl": catalogctl_parser,
}

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
        (("catalogctl", "bots", "--qu"), ["--quiet"]),
        (("catalogctl", "--json", "admin", "bookings", "--status", "refund"), ["refunding", "refunded"]),
        (("catalogctl", "admin", "audit", "--csv", "--output", "catalogctl.b"), ["catalogctl.bash"]),
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


LINES = {
    "catalogctl adm": "catalogctl admin",
    "catalogctl --json sponsor create-k": "catalogctl --json sponsor create-key",
    "catalogctl admin bookings --status refundi": "catalogctl admin bookings --status refunding",
    "catalogctl bots --qu": "catalogctl bots --quiet",
    "catalogctl sponsor booking --qu": "catalogctl sponsor booking --quiet",
    "catalogctl completion fi": "catalogctl completion fish",
    "catalogctl admin audit --csv --output a-fi": "catalogctl admin audit --csv --output a-file.csv",
}
"""Lines, and what TAB makes of them."""


def by_fish(folder: Path, lines: list[str]) -> list[str]:
    """The lines after TAB, each of which has one candidate."""
    asked = "; ".join(f"complete -C '{line}'" for line in lines)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source catalogctl.fish; {asked}"],
        cwd=folder,
        env={**os.environ, "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    words = [candidate.partition("\t")[0] for candidate in done.stdout.splitlines()]
    return [f"{line.rpartition(' ')[0]} {word}" for line, word in zip(lines, words, strict=True)]


ZSH = """
PS1=
autoload -Uz compinit; compinit -u -D
eval "$(cat catalogctl.zsh)"
tabbed() { zle complete-word; print -r -- "$BUFFER" >> tabbed; BUFFER= }
zle -N tabbed
bindkey '^X' tabbed
print ready >> tabbed
"""
"""Writes each line, after a TAB, into a file. zsh completes only on a terminal."""


def by_zsh(folder: Path, lines: list[str]) -> list[str]:
    (folder / ".zshrc").write_text(ZSH)
    written = folder / "tabbed"
    written.touch()
    ours, its = pty.openpty()
    variables = {**os.environ, "ZDOTDIR": str(folder), "HOME": str(folder), "TERM": "dumb"}
    process = subprocess.Popen(["zsh", "-i"], cwd=folder, env=variables, stdin=its, stdout=its, stderr=its)
    try:
        for number, line in enumerate(["", *lines]):
            if line:
                os.write(ours, f"{line}\x18".encode())
            ends = time.monotonic() + 30
            while len(written.read_text().splitlines()) <= number:
                assert time.monotonic() < ends, written.read_text()
                if select.select([ours], [], [], 0.01)[0]:
                    os.read(ours, 65_536)  # the echo, which would fill the terminal
    finally:
        process.kill()
        process.wait(10)
        os.close(ours)
        os.close(its)
    return [line.rstrip() for line in written.read_text().splitlines()[1:]]


BY: dict[str, Callable[[Path, list[str]], list[str]]] = {"fish": by_fish, "zsh": by_zsh}


@repeats("bash completes")
@pytest.mark.parametrize("shell", BY)
def test_other_shells_complete_commands_options_choices_and_files(tmp_path: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here (Debian's package is `{shell}`)")
    (tmp_path / f"catalogctl.{shell}").write_text(completion_script(catalogctl_parser(), shell))
    (tmp_path / "a-file.csv").touch()
    assert BY[shell](tmp_path, list(LINES)) == list(LINES.values())
