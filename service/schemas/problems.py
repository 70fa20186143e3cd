"""Turns validation errors into structured problems with messages in the project's own words. Pure.

Every model is validated by pydantic, whose messages never reach a client or an operator: `MESSAGES` has one sentence for
each kind of error, `Problem.code` names the kind.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from actors.values import Problem

MAX_LISTED = 5
"""Problems that `text_of` spells out; the others are counted."""

MAX_FIELDS = 20
"""Fields that an error body lists."""

LONGEST_NAME = 100
"""Characters of a field's name in an error body. Unknown fields have any name that the client chose."""

MAX_PROBLEMS = 2_000
"""Beyond this, problems are only counted: pydantic builds all of them at once, at about 2 ms for each 1,000."""

MESSAGES: Mapping[str, str] = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "dataclass_exact_type": "must be an object",
    "dataclass_type": "must be an object",
    "dict_type": "must be an object",
    "enum": "must be {expected}",
    "extra_forbidden": "is not a known property",
    "finite_number": "must be a finite number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "is too large",
    "int_type": "must be a whole number",
    "ip_v4_network": "must be an IP network such as 10.0.0.0/8",
    "ip_v6_network": "must be an IP network such as 10.0.0.0/8",
    "json_invalid": "is not valid JSON: {error}",
    "json_type": "must be JSON",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "list_type": "must be a list",
    "literal_error": "must be {expected}",
    "missing": "is required",
    "model_attributes_type": "must be an object",
    "model_type": "must be an object",
    "string_pattern_mismatch": "is not in the required format",
    "string_too_long": "must have at most {max_length} {characters}",
    "string_too_short": "must have at least {min_length} {characters}",
    "string_type": "must be a string",
    "string_unicode": "must be valid Unicode text",
    "too_long": "must have at most {max_length} {items}",
    "too_short": "must have at least {min_length} {items}",
    "unexpected_keyword_argument": "is not a known property",
}
UNKNOWN = "is not valid"

OURS = frozenset({"uuid", "value_error"})
"""Kinds whose message is raised by a schema of this project."""


def problems_of(error: ValidationError) -> tuple[Problem, ...]:
    """All problems, in the order of the input; a count instead where there are more than `MAX_PROBLEMS`.

    Never contains the rejected value.
    """
    count = error.error_count()
    if count > MAX_PROBLEMS:
        return (Problem("", "too_many_problems", f"there are {count} problems"),)
    return tuple(
        Problem(
            _field(detail["loc"], detail["type"]),
            detail["type"],
            _message(detail["type"], detail["msg"], detail.get("ctx", {})),
            _bound(detail.get("ctx", {})),
        )
        for detail in error.errors(include_url=False, include_input=False)
    )


def path_of(location: Sequence[int | str]) -> str:
    """The path of a field, such as `guide.steps.1`; empty for the whole input.

    Names of the alternatives of a union are left out.
    """
    return ".".join(str(part) for part in location if "[" not in str(part))


def _field(location: Sequence[int | str], kind: str) -> str:
    """The field of a problem. An unknown one has the client's name, which may look like an alternative of a union."""
    if kind != "extra_forbidden":
        return path_of(location)
    above = path_of(location[:-1])
    return f"{above}.{location[-1]}" if above else str(location[-1])


def text_of(problems: Sequence[Problem]) -> str:
    """The first problems in one line: `name: is required; weeks: must be at least 1; and 3 more`."""
    words = [f"{each.field}: {each.message}" if each.field else each.message for each in problems[:MAX_LISTED]]
    if len(problems) > MAX_LISTED:
        words.append(f"and {len(problems) - MAX_LISTED} more")
    return "; ".join(words)


def fields_of(problems: Sequence[Problem]) -> list[dict[str, str]]:
    """The first problems as an error body lists them. Problems of the whole input are left out."""
    named = [each for each in problems if each.field][:MAX_FIELDS]
    return [{"name": each.field[:LONGEST_NAME], "message": each.message} for each in named]


BOUNDS = ("max_length", "min_length", "ge", "le", "gt", "lt")


def _bound(context: Mapping[str, Any]) -> int | None:
    """The limit that a value breaks, if it is a whole number."""
    limits = (context[name] for name in BOUNDS if isinstance(context.get(name), int))
    return next(limits, None)


def _message(kind: str, raised: str, context: Mapping[str, Any]) -> str:
    if kind in OURS:
        return raised.removeprefix("Value error, ")
    most = context.get("max_length", context.get("min_length", 0))
    plurals = {"characters": "character" if most == 1 else "characters", "items": "item" if most == 1 else "items"}
    bounds = {name: int(value) for name, value in context.items() if isinstance(value, float) and value.is_integer()}
    return MESSAGES.get(kind, UNKNOWN).format_map({**context, **bounds, **plurals})
