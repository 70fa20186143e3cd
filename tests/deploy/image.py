"""The Dockerfile as Docker's own parser reads it, and the build context that .dockerignore leaves."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from docker.utils.build import exclude_paths

from tests.architecture import ROOT

KNOWN = {
    "ARG",
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "EXPOSE",
    "FROM",
    "HEALTHCHECK",
    "LABEL",
    "RUN",
    "STOPSIGNAL",
    "USER",
    "VOLUME",
    "WORKDIR",
}

_PARSER = """
import dockerfile, json, sys
commands = dockerfile.parse_string(sys.stdin.read())
print(json.dumps([[c.cmd, c.value, c.flags, c.json, c.start_line, c.heredocs] for c in commands]))
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction. `words` are its arguments, with variables not yet replaced; `exact` says that they are JSON."""

    kind: str
    words: tuple[str, ...]
    flags: Mapping[str, str]
    exact: bool
    line: int

    def pairs(self) -> Iterator[tuple[str, str]]:
        """The names and values of ENV, LABEL and ARG."""
        if self.kind == "ARG":
            for word in self.words:
                name, _, value = word.partition("=")
                yield name, value
        else:
            for name, value in zip(self.words[::2], self.words[1::2], strict=True):
                yield name, "".join(shlex.split(value))


@dataclass(slots=True)
class Stage:
    """A FROM and the steps after it."""

    base: str
    name: str
    steps: list[Step] = field(default_factory=list)

    def of(self, kind: str) -> list[Step]:
        return [step for step in self.steps if step.kind == kind]

    def only(self, kind: str) -> Step:
        [step] = self.of(kind)
        return step


@dataclass(frozen=True, slots=True)
class Image:
    """The stages, of which the last is the image. `arguments` are those before the first FROM."""

    arguments: Mapping[str, str]
    stages: tuple[Stage, ...]

    @property
    def final(self) -> Stage:
        return self.stages[-1]


@cache
def _parsed(text: str) -> list[tuple[str, list[str], list[str], bool, int, list[object]]]:
    """The instructions, from a process of its own: the parser is written in Go, whose threads would stay in this one."""
    done = subprocess.run([sys.executable, "-c", _PARSER], input=text, capture_output=True, text=True, check=True)
    found: list[tuple[str, list[str], list[str], bool, int, list[object]]] = json.loads(done.stdout)
    return found


def image(text: str | None = None) -> Image:
    """The repository's Dockerfile, or `text`. Raises `ValueError` for an instruction that nobody here knows."""
    arguments: dict[str, str] = {}
    stages: list[Stage] = []
    for name, words, given, exact, line, heredocs in _parsed(text or (ROOT / "Dockerfile").read_text(encoding="utf-8")):
        kind = name.upper()
        if kind not in KNOWN or heredocs:
            raise ValueError(f"Dockerfile, line {line}: {kind} is not supported")
        flags = dict(flag.removeprefix("--").split("=", 1) for flag in given)
        step = Step(kind, tuple(words), flags, exact, line)
        if kind == "FROM":
            base, *named = step.words
            stages.append(Stage(expanded(base, arguments), named[1] if named else ""))
        elif stages:
            stages[-1].steps.append(step)
        else:
            arguments.update(step.pairs())
    return Image(arguments, tuple(stages))


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """`text` with `${NAME}` and `$NAME` replaced. Raises `KeyError` for a variable that is not set."""
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda found: variables[found[1] or found[2]], text)


def context() -> set[str]:
    """The files of the build context, relative to the root of the repository."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    return {path for path in exclude_paths(str(ROOT), patterns) if (ROOT / path).is_file()}


def copied(source: str, files: set[str]) -> set[str]:
    """The files of the context that a COPY of `source` takes."""
    folder = Path(source).as_posix()
    return {path for path in files if folder == "." or path == folder or path.startswith(f"{folder}/")}
