"""Fills wire models from rows, whose fields have the same names in snake case, and times end in `_ms`: `created_ms`."""

import re
from collections.abc import Sequence
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)


def filled(model: type[M], *rows: object, **given: Any) -> M:
    """The model with the fields that are `given`, and all others from the first row that has them. Enums are their values.

    Raises `AttributeError` for a field that is neither given nor in a row.
    """
    kinds = tuple(map(type, rows))
    values = {name: given[name] if name in given else read(name, rows, kinds) for name in model.model_fields}
    return model(**{name: value.value if isinstance(value, Enum) else value for name, value in values.items()})


def read(field: str, rows: Sequence[object], kinds: tuple[type, ...]) -> Any:
    """The value of a field in the first row that has it. `kinds` are the types of the rows."""
    place, name = source_of(field, kinds)
    return getattr(rows[place], name)


@cache
def source_of(field: str, kinds: tuple[type, ...]) -> tuple[int, str]:
    """Which of several rows has a field first, and its name there. Raises `AttributeError` if none has it."""
    name = re.sub("([A-Z])", r"_\1", field).lower()
    for place, kind in enumerate(kinds):
        for each in (name, f"{name.removesuffix('_at')}_ms"):
            if hasattr(kind, each) or each in getattr(kind, "__annotations__", ()):
                return place, each
    raise AttributeError(f"no row has {field}")
