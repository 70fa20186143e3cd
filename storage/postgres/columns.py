"""Records as arrays, one per column, and rows as records: a batch of records becomes the parameters of one statement."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import fields
from enum import StrEnum
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, get_args, get_type_hints

from storage.connection.pool import Connection, Row

R = TypeVar("R")
K = TypeVar("K")


def _names(kind: Any) -> list[str]:
    return [field.name for field in fields(kind)]


def columns(kind: type[Any], records: Iterable[Any]) -> list[list[Any]]:
    """The fields of dataclass records, one array per field, in the order of their declaration."""
    return columns_of(_names(kind), records)


def columns_of(names: Iterable[str], records: Iterable[Any]) -> list[list[Any]]:
    """The named attributes of records, one array per name. `content.body` is an attribute of an attribute."""
    rows = list(records)
    return [list(map(attrgetter(name), rows)) for name in names]


async def write(connection: Connection, statement: str, arrays: list[list[Any]]) -> None:
    """Run a statement that takes an array per column, unless there are no rows."""
    if arrays[0]:
        await connection.execute(statement, *arrays)


def record_of(kind: type[R], row: Row, /, **values: Any) -> R:
    """A dataclass record from the columns named like its fields. `values` are used in place of columns."""
    for name, enum in _enums(kind).items():  # type: ignore[arg-type]  # a class is hashable
        if name not in values:
            value = row[name]
            values[name] = value if enum is None or value is None else enum(value)
    return kind(**values)


@cache
def _enums(kind: type[Any]) -> Mapping[str, type[StrEnum] | None]:
    """The fields of a dataclass, each with its enum if it has one, whether or not the field can be None."""
    hints = get_type_hints(kind)
    return {name: next(filter(_is_enum, (hints[name], *get_args(hints[name]))), None) for name in _names(kind)}


def _is_enum(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, StrEnum)


def new_and_known(records: Mapping[K, R], known: Container[K]) -> tuple[list[R], list[R]]:
    """The records whose key is not in `known`, and the others."""
    new = [record for key, record in records.items() if key not in known]
    return new, [record for key, record in records.items() if key in known]
