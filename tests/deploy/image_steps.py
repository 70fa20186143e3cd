"""Carries out the Dockerfile without Docker: `python -m tests.deploy.image_steps` (root, debootstrap, Debian's packages).

Each stage is a directory that begins as a minimal Debian, and each step runs in it. The result must hold no compiler and no
installer, and must serve as its own user from a root file system that is mounted read-only.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.acceptance.processes import until
from tests.architecture import ROOT
from tests.deploy.chroots import Container, Surroundings, build, container
from tests.deploy.image import Image, Stage, Step, context, copied, expanded, image

SUITES = {"debian:13": "trixie"}
"""Debian's names of the bases. The image adds Debian packages only, so a minimal Debian stands for its slim image."""
UNWANTED = (
    "gcc*",
    "*-gcc*",
    "cc",
    "c++",
    "g++*",
    "clang*",
    "ld",
    "as",
    "make",
    "pip",
    "pip3*",
    "ensurepip",
    "uv",
    "curl",
    "wget",
)
PLACE = ROOT / "build/image"
"""The directory of the stages."""
START_SECONDS = 120.0
STOP_SECONDS = 60.0
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(slots=True)
class Built:
    """A stage and what its steps made of it."""

    root: Path
    arguments: dict[str, str] = field(default_factory=dict)
    surroundings: Surroundings = field(default_factory=lambda: Surroundings({"PATH": PATH}, "/", "0:0"))

    def variables(self) -> dict[str, str]:
        return {**self.arguments, **self.surroundings.variables}


def carry_out(plan: Image, place: Path) -> Built:
    """Build every stage in a directory of `place`. Returns the last."""
    place.mkdir(parents=True, exist_ok=True)
    for old in place.glob("stage-*"):
        shutil.rmtree(old)
    files, stages = context(), dict[str, Built]()
    for number, stage in enumerate(plan.stages):
        built = Built(place / f"stage-{number}")
        subprocess.run(["cp", "-a", str(base(stage, place)), str(built.root)], check=True)
        for step in stage.steps:
            say(f"{stage.name or 'image'}: {step.kind} {' '.join(step.words)[:100]}")
            _carry_out(step, built, stages, files)
        stages[stage.name] = built
    return built


def base(stage: Stage, place: Path) -> Path:
    """The directory of a minimal Debian of the stage's version. Made once."""
    [suite] = [name for tag, name in SUITES.items() if stage.base.startswith(tag)]
    made = place / suite
    if not made.exists():
        say(f"debootstrap {suite}")
        place.mkdir(parents=True, exist_ok=True)
        making = made.with_suffix(".new")
        with suppress(FileNotFoundError):
            shutil.rmtree(making)
        subprocess.run(["debootstrap", "--variant=minbase", suite, str(making)], check=True, stdout=subprocess.DEVNULL)
        making.rename(made)
    return made


def _carry_out(step: Step, built: Built, stages: Mapping[str, Built], files: set[str]) -> None:
    around = built.surroundings
    match step.kind:
        case "ARG":
            built.arguments.update(step.pairs())
        case "ENV":
            pairs = {name: expanded(value, built.variables()) for name, value in step.pairs()}
            built.surroundings = replace(around, variables={**around.variables, **pairs})
        case "WORKDIR":
            folder = os.path.join(around.folder, expanded(step.words[0], built.variables()))
            (built.root / folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
            built.surroundings = replace(around, folder=folder)
        case "USER":
            built.surroundings = replace(around, user=step.words[0])
        case "RUN":
            words = step.words if step.exact else ("/bin/sh", "-c", step.words[0])
            build(built.root, words, replace(around, variables=built.variables()))
        case "COPY":
            _copy(step, built, stages, files)


def _copy(step: Step, built: Built, stages: Mapping[str, Built], files: set[str]) -> None:
    *sources, target = (expanded(word, built.variables()) for word in step.words)
    into = built.root / os.path.join(built.surroundings.folder, target).lstrip("/")
    if "from" in step.flags:
        [source] = sources
        into.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", str(stages[step.flags["from"]].root / source.lstrip("/")), str(into)], check=True)
        return
    for source in sources:
        taken = copied(source, files)
        assert taken, f"Dockerfile, line {step.line}: {source} is not in the build context"
        for path in taken:
            inner = Path(path).relative_to(source) if (ROOT / source).is_dir() else Path(path).name
            to = into / inner
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, to)


def check(plan: Image, built: Built) -> None:
    """Hold the image to what the documents say of it. Raises `AssertionError`."""
    names = [word for name in UNWANTED for word in ("-o", "-name", name)][1:]
    programs = ["-type", "f", "-perm", "/111", "-o", "-type", "l", "-o", "-type", "d", "-path", "*/python3*/*"]
    programs = ["find", str(built.root), "-xdev", "(", *programs, ")", "(", *names, ")"]
    found = subprocess.run(programs, check=True, capture_output=True, text=True).stdout.split()
    assert not found, f"the image holds tools that build or download: {found}"
    lists = list((built.root / "var/lib/apt/lists").glob("*"))
    assert not lists, f"the image holds apt's lists: {lists[:3]}"
    for name in ("root/.cache", "tools", "wheels", "source"):
        assert not (built.root / name).exists(), f"the image holds /{name}"
    writable = ["find", str(built.root), "-xdev", "-user", built.surroundings.user.partition(":")[0]]
    owned = subprocess.run(writable, check=True, capture_output=True, text=True).stdout.split()
    assert owned == [str(built.root / "data")], f"its user owns more than /data: {owned[:5]}"
    size = subprocess.run(["du", "-sm", str(built.root)], check=True, capture_output=True, text=True).stdout.split()[0]
    say(f"the image's files take {size} MB, without a compiler, an installer and apt's lists")


def check_wheel(plan: Image, place: Path) -> None:
    """Build the wheel on this machine too, with its Python, user and umask: both must be the same file."""
    epoch = dict(plan.stages[0].only("ARG").pairs())
    with TemporaryDirectory() as sources:
        for path in context():
            to = Path(sources, path)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, to)
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
        subprocess.run(command, cwd=sources, env={**os.environ, **epoch}, check=True, capture_output=True)
        [here], [there] = Path(sources, "dist").iterdir(), (place / "stage-0/wheels").iterdir()
        digests = {hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in (here, there)}
        assert len(digests) == 1, f"{there.name} is not the same file as one that is built here"
        say(f"{there.name} is the same file as one that is built here: sha256 {digests.pop()}")


def serve(plan: Image, built: Built) -> None:
    """Start the image twice on one volume, as `docker run --read-only` does, and stop it in order."""
    final = plan.final
    command = [*final.only("ENTRYPOINT").words, *final.only("CMD").words]
    health = list(final.only("HEALTHCHECK").words[1:])
    volumes = [word for step in final.of("VOLUME") for word in step.words]
    stop = signal.Signals[final.only("STOPSIGNAL").words[0]]
    for start in ("first", "second"):
        began = time.monotonic()
        with container(built.root, command, built.surroundings, volumes) as running:
            assert running.run(*health).returncode != 0 or start == "second", "nothing answers before the start"
            until(partial(_is_up, running, health), START_SECONDS, what="the health check")
            assert running.process.poll() is None, f"it ended with {running.process.returncode}"
            seconds = time.monotonic() - began
            status = running.run("cat", "/proc/1/status").stdout
            ids = [line.split()[1:] for line in status.splitlines() if line.startswith(("Uid:", "Gid:"))]
            assert ids == [[part] * 4 for part in built.surroundings.user.split(":")], ids
            assert "CapEff:\t0000000000000000" in status, status
            assert running.run("touch", "/opt/new").stderr.rstrip().endswith("Read-only file system")
            assert running.run("touch", "/tmp/new", "/data/new").returncode == 0
            doctor = running.run("catalog-service", "doctor", "--data-dir", "/data")
            assert doctor.returncode == 0, doctor.stdout + doctor.stderr
            code = running.stop(stop, STOP_SECONDS)
            assert code == 0, f"it ended with {code}"
        say(
            f"{start} start: healthy after {seconds:.1f} s as {built.surroundings.user} on a read-only root, stopped with 0"
        )


def _is_up(running: Container, health: Sequence[str]) -> bool:
    """Whether the health check passes, or the container has ended."""
    return running.run(*health).returncode == 0 or running.process.poll() is not None


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def usable(*programs: str) -> str:
    """What this machine lacks to make directories into machines; empty if nothing."""
    if os.geteuid() != 0:
        return "needs root, for chroot and mounts: run it with sudo"
    missing = [name for name in programs if shutil.which(name) is None]
    return (
        f"needs {' and '.join(missing)}: install Debian's packages debootstrap and systemd-container" if missing else ""
    )


def main() -> int:
    if problem := usable("debootstrap"):
        sys.stderr.write(f"image-steps: {problem}\n")
        return 2
    plan = image()
    built = carry_out(plan, PLACE)
    check(plan, built)
    check_wheel(plan, PLACE)
    serve(plan, built)
    return 0


if __name__ == "__main__":
    sys.exit(main())
