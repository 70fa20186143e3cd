"""Records in which no field has its default, and no two fields of a type have the same value."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import StrEnum
from itertools import count
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from storage.rows.tables import Table

R = TypeVar("R")

NUMBERS: Iterator[int] = count(1_000)

NARROW: Mapping[str, tuple[Any, Any]] = {
    "attempts": (6, 7),
    "actor_type": ("cli", "key"),
    "facts": ('{"a": "b"}', '{"a": "c"}'),
    "changes": ('{"a": "b"}', '{"a": "c"}'),
}
"""Fields that take only some values."""


def filled(kind: type[R], last: bool = True, **values: Any) -> R:
    """A record of other values than any other. `last` chooses among a few values; `values` are used as they are."""
    hints = get_type_hints(kind)
    for field in fields(kind):  # type: ignore[arg-type]
        values.setdefault(field.name, _value(field.name, hints[field.name], last))
    return kind(**values)


def changed(table: Table, record: R, **values: Any) -> R:
    """The same record with another value in each field that can change."""
    other = filled(table.kind, last=False, **values)
    names = {column.attribute.partition(".")[0] for column in table.changing}
    return replace(record, **{name: getattr(other, name) for name in names})  # type: ignore[type-var]


def _value(name: str, hint: Any, last: bool) -> Any:
    if name in NARROW:
        return NARROW[name][last]
    kinds = [each for each in get_args(hint) if each is not NoneType]
    if NoneType in get_args(hint):
        return _value(name, kinds[0], last)
    if get_origin(hint) is tuple:
        return (_value(name, kinds[0], last),)
    if is_dataclass(hint):
        return filled(hint, last)  # type: ignore[arg-type]
    if issubclass(hint, StrEnum):
        return list(hint)[-1 if last else 0]
    number = next(NUMBERS)
    by_kind = {bool: last, int: number, str: f"{name} {number}", bytes: f"{number:032}".encode()}
    return by_kind[hint]
