"""Records as arrays, one a column: how a whole batch of rows becomes the parameters of one statement."""

from collections.abc import Iterable
from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeVar

R = TypeVar("R")


def columns(kind: type[R], rows: Iterable[R]) -> list[list[Any]]:
    """The fields of equal records as one array a field, in the order in which the record declares them."""
    return columns_of([field.name for field in fields(kind)], rows)  # type: ignore[arg-type]  # R is a dataclass


def columns_of(names: Iterable[str], rows: Iterable[Any]) -> list[list[Any]]:
    """The named attributes of records as one array a name; `content.body` is an attribute of an attribute."""
    kept = list(rows)
    return [[attrgetter(name)(row) for row in kept] for name in names]
