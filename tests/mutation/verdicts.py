"""The verdict on each mutant, read from the files that mutmut left."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code
from mutmut.utils.format_utils import orig_function_and_class_names_from_key

from tests.mutation.document import Change

KILLED, TIMED_OUT, SURVIVED, NO_TESTS = "killed", "timeout", "survived", "no tests"


_ASSERTION = re.compile(r"""(assert .+), f?(["']).*\2""")


@dataclass(frozen=True)
class Module:
    """The verdicts of one module: the status that mutmut gave to each mutant, by its name."""

    path: str
    statuses: dict[str, str]

    @property
    def killed(self) -> int:
        return self._count(KILLED)

    @property
    def timed_out(self) -> int:
        return self._count(TIMED_OUT)

    @property
    def detected(self) -> int:
        return self.killed + self.timed_out

    @property
    def undetected(self) -> Sequence[str]:
        return [name for name, status in self.statuses.items() if status not in (KILLED, TIMED_OUT)]

    @cached_property
    def survivors(self) -> Sequence[tuple[Change, str]]:
        """Each change that no test detected, including those that no test reaches, with its status. Changes of the text of an
        assertion are left out: it is only for developers."""
        changes = [(change_of(self.path, name), self.statuses[name]) for name in self.undetected]
        return [each for each in changes if not is_text_of_an_assertion(each[0])]

    @property
    def tried(self) -> int:
        return self.detected + len(self.survivors)

    @property
    def share(self) -> float:
        return self.detected / self.tried if self.tried else 1.0

    def _count(self, status: str) -> int:
        return sum(one == status for one in self.statuses.values())


def modules(root: Path = Path("mutants")) -> list[Module]:
    """Return all modules with a tried mutant, in order of their paths."""
    found = []
    for meta in sorted(root.rglob("*.py.meta")):
        codes: dict[str, int | None] = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
        tried = {name: status_by_exit_code[code] for name, code in codes.items() if code is not None}
        if tried:
            found.append(Module(str(meta.relative_to(root)).removesuffix(".meta"), tried))
    return found


def is_text_of_an_assertion(change: Change) -> bool:
    before, after = (_ASSERTION.fullmatch(" ".join(lines)) for lines in (change.taken, change.given))
    return before is not None and after is not None and before[1] == after[1]


def change_of(path: str, mutant: str) -> Change:
    """Return the change of a mutant, given its mutmut name."""
    name, class_name = orig_function_and_class_names_from_key(mutant)
    lines = get_diff_for_mutant(mutant, path=path).splitlines()
    body = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    return Change(
        path,
        f"{class_name}.{name}" if class_name else name,
        tuple(line[1:].strip() for line in body if line.startswith("-")),
        tuple(line[1:].strip() for line in body if line.startswith("+")),
    )
