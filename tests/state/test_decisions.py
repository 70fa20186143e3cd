"""Whole decisions: every answer, row, record and mail of a scenario, word for word, as `tests/state/decisions` has them.

Other tests say what a rule is for, and look at the part of a decision that shows it. These notice any other change.
`python -m tests.state.test_decisions` records them anew: read the difference before you commit it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.state import ledger_scenarios, scenarios

FOLDER = Path(__file__).with_name("decisions")
SCENARIOS: Mapping[str, Callable[[Any], None]] = {
    name: each
    for module in (scenarios, ledger_scenarios)
    for name, each in vars(module).items()
    if callable(each) and getattr(each, "scenario", False)
}


class Record:
    """The lines of a scenario: one for each batch, answer, row, record and mail. A row that was shown before is shown by what
    has changed of it, and by its name in an answer."""

    def __init__(self, act: Callable[..., Sequence[Any]], last: Callable[[], Any]) -> None:
        self.lines: list[str] = []
        self._act, self._last = act, last
        self._rows: dict[str, Any] = {}

    def act(self, *messages: Any, **named: Any) -> Sequence[Any]:
        answers = self._act(*messages, **named)
        self.lines.append("; ".join(type(each).__name__ for each in messages))
        self._add(self._last())
        self.lines += [f"  answers {self._text(answer)}" for answer in answers]
        return answers

    def _add(self, decision: Any) -> None:
        for name, value in _shown(decision):
            if name == "answers":
                continue
            if is_dataclass(value):
                self._add(value)
            elif isinstance(value, Mapping):
                self.lines += [f"  {self._row(f'{name} {key}', row)}" for key, row in sorted(value.items(), key=str)]
            elif isinstance(value, list):
                self.lines += [f"  {name} {self._text(each)}" for each in value]
            else:
                self.lines.append(f"  {name} {self._text(value)}")

    def _row(self, name: str, row: Any) -> str:
        before = self._rows.get(name)
        self._rows[name] = row
        if type(before) is not type(row) or not is_dataclass(row):
            return f"{name} is {self._text(row, named=False)}"
        changed = [each.name for each in fields(row) if getattr(row, each.name) != getattr(before, each.name)]
        return f"{name} has {', '.join(f'{each}={self._text(getattr(row, each))}' for each in changed)}"

    def _text(self, value: Any, *, named: bool = True) -> str:
        if is_dataclass(value) or hasattr(value, "_asdict"):
            known = [name for name, row in self._rows.items() if named and row == value]
            parts = _shown(value) if is_dataclass(value) else value._asdict().items()
            whole = f"{type(value).__name__}({', '.join(f'{name}={self._text(each)}' for name, each in parts)})"
            return f"<{known[0]}>" if known else whole
        if isinstance(value, Mapping):
            return f"{{{', '.join(f'{key!r}: {self._text(each)}' for key, each in value.items())}}}"
        if isinstance(value, AbstractSet | list | tuple):
            return f"[{', '.join(map(self._text, sorted(value) if isinstance(value, AbstractSet) else value))}]"
        return repr(value)


def _shown(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields that have another value than they begin with."""
    for each in fields(value):
        if not _begins(each, getattr(value, each.name)):
            yield each.name, getattr(value, each.name)


def _begins(each: "Field[Any]", value: Any) -> bool:
    if each.default_factory is not MISSING:
        return bool(value == each.default_factory())
    return each.default is not MISSING and bool(value == each.default)


def recorded(name: str) -> str:
    book: Any = scenarios.BOOKS[name]()
    act = "send" if hasattr(book, "send") else "act"
    record = Record(getattr(book, act), lambda: book.last)
    setattr(book, act, record.act)
    SCENARIOS[name](book)
    return "\n".join(record.lines) + "\n"


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_decision_is_in_full_as_it_was_recorded(name: str) -> None:
    assert recorded(name) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def main() -> None:
    for name in SCENARIOS:
        (FOLDER / f"{name}.txt").write_text(recorded(name), encoding="utf-8")


if __name__ == "__main__":
    main()
