"""Lays out tables and lists of facts to the width of the terminal. Pure."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from service.catalogctl.texts import cut, harmless, padded, width

GAP = "  "
NARROWEST = 8
"""Minimum width of a column that may shrink."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `whole` ones are never cut, because users copy their values."""

    title: str
    whole: bool = False
    right: bool = False


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], fit: int | None) -> list[str]:
    """The lines of a table with a header. `fit` is the maximum width; None cuts nothing."""
    cells = [[harmless(cell) for cell in row] for row in rows]
    widths = [max([width(column.title), *(width(row[place]) for row in cells)]) for place, column in enumerate(columns)]
    if fit is not None:
        widths = _fitted(columns, widths, fit)
    head = [column.title for column in columns]
    return [_line(columns, row, widths) for row in (head, *cells)]


def _fitted(columns: Sequence[Column], widths: Sequence[int], fit: int) -> list[int]:
    """The widths after shrinking the widest columns until the line fits, or none can shrink."""
    fitted = list(widths)
    spare = sum(fitted) + len(GAP) * (len(fitted) - 1) - fit
    bounds = [max(NARROWEST, width(column.title)) for column in columns]
    elastic = [place for place, column in enumerate(columns) if not column.whole and fitted[place] > bounds[place]]
    while spare > 0 and elastic:
        widest = max(elastic, key=lambda place: fitted[place])
        others = [fitted[place] for place in elastic if place != widest]
        step = max(1, min(spare, fitted[widest] - max([bounds[widest], *others])))
        fitted[widest] -= step
        spare -= step
        elastic = [place for place in elastic if fitted[place] > bounds[place]]
    return fitted


def _line(columns: Sequence[Column], row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        padded(cut(cell, columns_wide), columns_wide, right=column.right)
        for column, cell, columns_wide in zip(columns, row, widths, strict=True)
    ]
    return GAP.join(cells).rstrip()


def facts(pairs: Mapping[str, str | Sequence[str]], fit: int | None) -> list[str]:
    """One line per name and value. Empty values are left out, long ones wrap."""
    given = {name: [value] if isinstance(value, str) else list(value) for name, value in pairs.items() if value}
    indent = max((width(name) for name in given), default=0) + len(GAP)
    lines = []
    for name, values in given.items():
        texts = [line for value in values for line in _wrapped(value, None if fit is None else fit - indent)]
        heads = [name, *[""] * (len(texts) - 1)]
        lines += [f"{padded(head, indent)}{text}".rstrip() for head, text in zip(heads, texts, strict=True)]
    return lines


def _wrapped(value: str, columns: int | None) -> list[str]:
    """The lines of a value, which may have line breaks itself."""
    lines = [harmless(line) for line in value.splitlines()] or [""]
    if columns is None:
        return lines
    wrapper = textwrap.TextWrapper(max(columns, 20), break_long_words=False, break_on_hyphens=False)
    return [part for line in lines for part in wrapper.wrap(line) or [""]]
