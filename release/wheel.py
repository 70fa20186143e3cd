"""Builds the wheel of the last commit, the same file wherever and whenever it is built: `python -m release.wheel FOLDER`."""

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build_wheel(source: Path, target: Path, epoch: int) -> Path:
    """Build the wheel of the sources in a folder into `target`. Files get the time `epoch`, in seconds, and plain modes."""
    command: list[str | Path] = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", target.resolve()]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "PYTHONHASHSEED": "0"}
    subprocess.run(command, cwd=source, env=environment, check=True, stdout=subprocess.DEVNULL)
    [wheel] = target.glob("*.whl")
    return wheel


def checksum(file: Path) -> str:
    """The SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", ROOT, *arguments], check=False, capture_output=True)
    if done.returncode:
        sys.exit(f"wheel: a clone of the repository is needed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def main(folder: str) -> None:
    """Build the last commit, without what is not committed, and write the checksum beside the wheel."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for old in (*target.glob("*.whl"), *target.glob("*.whl.sha256")):
        old.unlink()
    if _git("status", "--porcelain", "--untracked-files=no"):
        sys.stderr.write("wheel: changes that are not committed are left out\n")
    with tempfile.TemporaryDirectory() as place:
        with tarfile.open(fileobj=io.BytesIO(_git("archive", "HEAD"))) as archive:
            archive.extractall(place, filter="data")
        wheel = build_wheel(Path(place), target, int(_git("log", "-1", "--format=%ct")))
    line = f"{checksum(wheel)}  {wheel.name}"
    wheel.with_name(f"{wheel.name}.sha256").write_text(f"{line}\n")
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main(sys.argv[1])
