"""`docs/mutants.md`: the known survivors, each below the reason why no test has to detect it.

There is a chapter for each module. It has paragraphs with reasons, each followed by its changes in a `diff` block: the
function, the lines removed, the lines added.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parent.parent.parent / "docs/mutants.md"
_FENCE = "```"


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """One small change to a function (`name` or `Class.name`) of a module: lines without their indentation.

    A change is identified by the lines removed and added, so it stays the same when other lines of the file move.
    """

    module: str
    function: str
    taken: tuple[str, ...]
    given: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the change in a `diff` block."""
        yield f"  {self.function}"
        yield from (f"- {line}" for line in self.taken)
        yield from (f"+ {line}" for line in self.given)


class Malformed(ValueError):
    """The document contains something that is neither a reason nor a change."""


def known(text: str) -> Counter[Change]:
    """Return all changes of the document. A change without a reason above it, or without a function, is an error."""
    changes: Counter[Change] = Counter()
    block: list[str] | None = None
    module, reason = "", ""
    for line in text.splitlines():
        if block is not None:
            if line == _FENCE:
                changes.update(_changes(module, block))
                block, reason = None, ""
            else:
                block.append(line)
        elif line.startswith("## `"):
            module, reason = line.split("`")[1], ""
        elif line == f"{_FENCE}diff":
            if not (module and reason):
                raise Malformed(f"changes of {module or 'no module'} without a reason")
            block = []
        else:
            reason = reason or line.strip()
    return changes


def _changes(module: str, lines: list[str]) -> Iterator[Change]:
    function = ""
    taken: list[str] = []
    given: list[str] = []

    def done() -> Iterator[Change]:
        if taken or given:
            if not function:
                raise Malformed(f"a change of {module} without its function: {taken or given}")
            yield Change(module, function, tuple(taken), tuple(given))

    for line in lines:
        mark, words = line[:1], line[1:].strip()
        if mark == "-" and not given:
            taken.append(words)
        elif mark == "+":
            given.append(words)
        else:
            yield from done()
            taken, given = [], []
            if mark == "-":
                taken.append(words)
            else:
                function = words
    yield from done()
