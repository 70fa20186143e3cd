"""The document of survivors is read correctly, and changes without a reason are rejected."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.mutation.document import DOCUMENT, Change, Malformed, known

TEXT = """# Survivors

Words before the first chapter.

## `actors/one.py`

Why no test has to detect these.

```diff
  Thing.act
- a = 1
+ a = 2
- if a:
-     b
+ if not a:
  other
- c
```

## `actors/two.py`

Another reason.

```diff
  act
+ d
```
"""


def test_changes_are_read_with_their_module_and_function() -> None:
    assert known(TEXT) == Counter(
        [
            Change("actors/one.py", "Thing.act", ("a = 1",), ("a = 2",)),
            Change("actors/one.py", "Thing.act", ("if a:", "b"), ("if not a:",)),
            Change("actors/one.py", "other", ("c",), ()),
            Change("actors/two.py", "act", (), ("d",)),
        ]
    )


def test_the_same_change_twice_in_a_function_is_two() -> None:
    twice = TEXT.replace("+ d\n", "+ d\n  act\n+ d\n")
    assert known(twice)[Change("actors/two.py", "act", (), ("d",))] == 2


def test_what_is_told_is_read_back() -> None:
    change = Change("actors/one.py", "Thing.act", ("a", "b"), ("c",))
    block = "\n".join(change.lines())
    assert list(known(f"## `actors/one.py`\n\nWhy.\n\n```diff\n{block}\n```\n")) == [change]


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("Why no test has to detect these.", ""),
        TEXT.replace("## `actors/one.py`", ""),
        TEXT.replace("  Thing.act\n", ""),
        TEXT.replace("Another reason.", "").replace("## `actors/two.py`", "## `actors/two.py`\n"),
    ],
)
def test_a_change_without_a_reason_a_module_or_a_function_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        known(text)


def test_the_document_itself_is_well_formed_and_speaks_of_modules_that_are_there() -> None:
    root = DOCUMENT.parent.parent
    for change in known(DOCUMENT.read_text(encoding="utf-8")):
        assert (root / change.module).is_file(), change.module


def test_every_removed_line_is_still_in_its_function() -> None:
    root = DOCUMENT.parent.parent
    for change in known(DOCUMENT.read_text(encoding="utf-8")):
        lines = _functions(root / change.module).get(change.function, [])
        assert set(change.taken) <= set(lines), f"{change.module}: {change.function}: {change.taken}"


def _functions(path: Path) -> dict[str, list[str]]:
    """Return the lines of each function (`name` or `Class.name`) of a module, without their indentation."""
    text = path.read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines()]
    tree = ast.parse(text)
    owners: list[tuple[str, ast.Module | ast.ClassDef]] = [("", tree)]
    owners += [(f"{each.name}.", each) for each in tree.body if isinstance(each, ast.ClassDef)]
    return {
        prefix + each.name: lines[each.lineno - 1 : each.end_lineno]
        for prefix, owner in owners
        for each in owner.body
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
    }
