"""The release before this one, as its users have it: its source and an environment of its own."""

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.acceptance.prepared import REPOSITORY

VERSION, COMMIT = "1.1.0", "293cb02088843255427ee466f7fc0ab94cddead0"
"""The tag and its commit. After a release, name that one here."""

FOLDER = REPOSITORY / "build" / "releases" / VERSION


@dataclass(frozen=True, slots=True)
class Release:
    """A checkout, and the interpreter that runs it."""

    source: Path
    python: Path

    def known(self, settings: Mapping[str, object]) -> dict[str, object]:
        """Those of `settings` that the release has."""
        own = tomllib.loads((self.source / "config.toml").read_text(encoding="utf-8"))

        def has(name: str) -> bool:
            place = own
            for part in name.split("."):
                if not isinstance(place, dict) or part not in place:
                    return False
                place = place[part]
            return True

        return {name: value for name, value in settings.items() if has(name)}


def previous_release() -> Release:
    """The release, from the repository's history. Its packages are installed once, from its lock file."""
    release = Release(FOLDER / "source", FOLDER / "venv" / "bin" / "python")
    done = FOLDER / "done"
    if not done.exists():
        shutil.rmtree(FOLDER, ignore_errors=True)
        release.source.mkdir(parents=True)
        if _git("rev-parse", "--is-shallow-repository").strip() == b"true":
            pytest.skip(f"this clone has no history, and so no {VERSION}: git fetch --unshallow")
        subprocess.run(["tar", "-x"], input=_git("archive", COMMIT), cwd=release.source, check=True)
        subprocess.run([sys.executable, "-m", "venv", FOLDER / "venv"], check=True)
        install: list[str | Path] = [release.python, "-m", "pip", "install", "-q", "--no-deps", "--require-hashes"]
        subprocess.run([*install, "-r", release.source / "requirements" / "run.lock"], check=True)
        done.touch()
    return release


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=REPOSITORY, stdout=subprocess.PIPE, check=True).stdout
