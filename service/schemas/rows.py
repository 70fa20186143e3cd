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
    values = {name: given[name] if name in given else value_of(name, rows)[1] for name in model.model_fields}
    return model(**{name: value.value if isinstance(value, Enum) else value for name, value in values.items()})


def value_of(field: str, rows: Sequence[object]) -> tuple[str, Any]:
    """The name and the value of a field in the first row that has it."""
    for row in rows:
        for name in _names(field):
            if hasattr(row, name):
                return name, getattr(row, name)
    raise AttributeError(f"no row has {field}")


@cache
def _names(field: str) -> tuple[str, str]:
    """The names that a field can have in a row: its own, and that of a time."""
    name = re.sub("([A-Z])", r"_\1", field).lower()
    return name, f"{name.removesuffix('_at')}_ms"
