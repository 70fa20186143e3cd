"""Named SQL: `sql/<concern>.sql` holds statements, each below `-- name: <name>` and a sentence about what it does.

`{bookings}` stands for the columns of `BOOKINGS` in `storage.rows.tables`, and `{b.bookings}` for the same with an alias.
`{delete from sessions by id where ...}` deletes a bounded number of rows and returns how many.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from storage.rows import tables

_NAME = re.compile(r"^-- name: ([a-z][a-z0-9_]*)$", re.MULTILINE)
_COLUMNS = re.compile(r"\{(?:(\w+)\.)?([a-z_]+)\}")
_DELETE = re.compile(r"\{delete from (\w+) by (\w+) where ([^}]*)\}")
_BOUNDED = (
    r"with gone as (delete from \1 where \2 = any (array(select \2 from \1 where \3)) returning 1) "
    r"select count(*) from gone"
)
"""The keys are an array, because with a join the planner, which overestimates them, reads the whole table."""


class Statements:
    """The statements of one file, as attributes."""

    def __init__(self, concern: str, text: str) -> None:
        self._concern = concern
        parts = _NAME.split(_DELETE.sub(_BOUNDED, _COLUMNS.sub(_columns, text)))
        assert not parts[0].strip() or parts[0].lstrip().startswith("--"), f"{concern}.sql: SQL before the first name"
        names = parts[1::2]
        assert len(names) == len(set(names)), f"{concern}.sql: duplicate statement name"
        self._by_name = {name: body.strip() for name, body in zip(names, parts[2::2], strict=True)}

    def __getattr__(self, name: str) -> str:
        try:
            return self._by_name[name]
        except KeyError:
            raise AttributeError(f"{self._concern}.sql has no statement {name!r}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)


def _columns(placeholder: re.Match[str]) -> str:
    table = getattr(tables, placeholder[2].upper(), None)
    return table.names(placeholder[1] or "") if isinstance(table, tables.Table) else placeholder[0]


@cache
def statements(concern: str) -> Statements:
    """The statements of `sql/<concern>.sql`."""
    path = Path(__file__).parents[1] / "sql" / f"{concern}.sql"
    return Statements(concern, path.read_text(encoding="utf-8"))


MARK = "/* conditions */"
"""Their place in a statement: after its own conditions."""


class Conditions:
    """Texts are constants of this program, and values become parameters. So each combination has a plan of its own."""

    def __init__(self, *parameters: Any) -> None:
        """`parameters` are those of the statement itself."""
        self.parameters = list(parameters)
        self._texts: list[str] = []

    def add(self, text: str, *values: Any) -> None:
        """Add a condition, in which `{}` stands for each of the values."""
        first = len(self.parameters) + 1
        self.parameters += values
        self._texts.append(text.format(*(f"${first + place}" for place in range(len(values)))))

    def within(self, statement: str) -> str:
        """The statement with all conditions."""
        assert MARK in statement, "the statement takes no conditions"
        return statement.replace(MARK, "".join(f" and {text}" for text in self._texts))
