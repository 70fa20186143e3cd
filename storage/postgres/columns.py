"""Records as arrays, one per column, and rows as records: a batch of records becomes the parameters of one statement."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeVar

from storage.pool import Row

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


def record_of(kind: type[R], row: Row, /, **values: Any) -> R:
    """A dataclass record from the columns named like its fields. `values` are used in place of columns."""
    return kind(**{name: row[name] for name in _names(kind) if name not in values}, **values)


def new_and_known(records: Mapping[K, R], known: Container[K]) -> tuple[list[R], list[R]]:
    """The records whose key is not in `known`, and the others."""
    new = [record for key, record in records.items() if key not in known]
    return new, [record for key, record in records.items() if key in known]
