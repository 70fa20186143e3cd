"""Dataclass records as columns of tables: their names, their types, and a batch of records as an array per column.

A field that is a dataclass lies in columns of its own, one that may be None in a column of JSON. A tuple of words is one text
on its way to the database, because Postgres arrays of arrays are rectangular.
"""

import json
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache, partial
from operator import attrgetter
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import trio

from storage.connection.asyncio_border import pause
from storage.connection.pool import Connection, Row

R = TypeVar("R")
K = TypeVar("K")
T = TypeVar("T")

_TYPES = {bool: "boolean", int: "bigint", str: "text", bytes: "bytea"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column, the attribute that is stored in it, the type of its parameter, and what makes its value of the parameter."""

    name: str
    attribute: str
    type: str
    value: str = "{}"
    encode: Callable[[Any], str] | None = None

    def array(self, records: Iterable[Any]) -> list[Any]:
        values = map(attrgetter(self.attribute), records)
        encode = self.encode
        return list(values) if encode is None else [None if value is None else encode(value) for value in values]


@cache
def columns_of(kind: type[Any]) -> tuple[Column, ...]:
    """The columns of a dataclass, in the order of its fields."""
    return tuple(column for field in fields(kind) for column in _columns(field.name, *_hint(kind, field.name)))


def _columns(name: str, hint: Any, optional: bool) -> Iterator[Column]:
    if is_dataclass(hint) and optional:
        yield Column(name, name, "text", "{}::json", _as_json)
    elif isinstance(hint, type) and is_dataclass(hint):
        for inner in columns_of(hint):
            yield Column(inner.name, f"{name}.{inner.attribute}", inner.type, inner.value, inner.encode)
    elif get_origin(hint) is tuple:
        yield Column(name, name, "text", "string_to_array({}, ' ')", " ".join)
    else:
        yield Column(name, name, next(_TYPES[base] for base in hint.__mro__ if base in _TYPES))


def _as_json(record: Any) -> str:
    return json.dumps(asdict(record), ensure_ascii=False)


def _hint(kind: type[Any], name: str) -> tuple[Any, bool]:
    """The type of a field without None, and whether it may be None."""
    hint = get_type_hints(kind)[name]
    kinds = [each for each in get_args(hint) if each is not NoneType]
    return (kinds[0], True) if NoneType in get_args(hint) else (hint, False)


SLICE = 512
"""The most rows of one statement, so that neither making nor reading them keeps other tasks waiting. As many as the messages
of a batch."""


def sliced(rows: Sequence[R]) -> Iterator[Sequence[R]]:
    """The rows in slices, for a statement each."""
    return (rows[first : first + SLICE] for first in range(0, len(rows), SLICE))


def columns(kind: Any, records: Iterable[Any]) -> list[list[Any]]:
    """Dataclass records as one array per column."""
    rows = list(records)
    return [column.array(rows) for column in columns_of(kind)]


def arrays(names: Iterable[str], records: Iterable[Any]) -> list[list[Any]]:
    """The named attributes of records, one array per name."""
    rows = list(records)
    return [list(map(attrgetter(name), rows)) for name in names]


async def write(connection: Connection, statement: str, arrays: list[list[Any]]) -> None:
    """Run a statement that takes an array per column, unless there are no rows."""
    if arrays[0]:
        await connection.execute(statement, *arrays)


def record_of(kind: type[R], row: Row, /, **values: Any) -> R:
    """A dataclass record from the columns of its fields. `values` are used in place of columns."""
    readers = _readers(kind)  # type: ignore[arg-type]  # a class is hashable
    return kind(
        **{name: row[name] if read is None else read(row) for name, read in readers if name not in values}, **values
    )


READ_AT_ONCE = 20
"""Records that are made of rows at a time, between which other requests go on."""


Rest = Callable[[], Awaitable[object]]


async def in_slices(
    make: Callable[[Row], T], rows: Sequence[Row], most: int = READ_AT_ONCE, rest: Rest = trio.lowlevel.checkpoint
) -> list[T]:
    """Make a value of each row, `most` of them at a time. Within a transaction, `rest` has to be `pause`."""
    made: list[T] = []
    for first in range(0, len(rows), most):
        if first:
            await rest()
        made += map(make, rows[first : first + most])
    return made


async def records_of(kind: type[R], rows: Sequence[Row]) -> list[R]:
    """The records of rows in their order. With more than a slice of them, other tasks run in between."""
    records: list[R] = []
    for some in sliced(rows):
        records += [record_of(kind, row) for row in some]
        if len(records) < len(rows):
            await pause()
    return records


@cache
def _readers(kind: type[Any]) -> tuple[tuple[str, Callable[[Row], Any] | None], ...]:
    """The fields of a dataclass, each with the function that reads it, if it is not in its column as it is."""
    return tuple((field.name, _reader(field.name, *_hint(kind, field.name))) for field in fields(kind))


def _reader(name: str, hint: Any, optional: bool) -> Callable[[Row], Any] | None:
    if is_dataclass(hint):
        return _read(name, lambda text: hint(**json.loads(text))) if optional else partial(record_of, hint)  # type: ignore[arg-type,operator]
    if get_origin(hint) is tuple:
        return _read(name, lambda words: tuple(map(get_args(hint)[0], words)))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _read(name, {each.value: each for each in hint}.__getitem__)
    return None


def _read(name: str, decode: Callable[[Any], Any]) -> Callable[[Row], Any]:
    def read(row: Row) -> Any:
        value = row[name]
        return None if value is None else decode(value)

    return read


def new_and_known(records: Mapping[K, R], known: Container[K]) -> tuple[list[R], list[R]]:
    """The records whose key is not in `known`, and the others."""
    new = [record for key, record in records.items() if key not in known]
    return new, [record for key, record in records.items() if key in known]
