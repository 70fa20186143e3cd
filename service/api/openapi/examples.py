"""Recorded examples of responses: bodies that the service returned to a fixed series of requests.

`make examples` records `examples.json` (`tests/document`). A test records them again and compares, so an example is
never out of date.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from actors.values import Code
from service.api.errors import Family

FILE = Path(__file__).with_name("examples.json")


@dataclass(frozen=True, slots=True)
class Examples:
    """Bodies by what they are an example of.

    `successes` and `files` (CSV) are by operation, `own` are refusals by operation and code, and `refusals` by family and
    code, for operations without their own.
    """

    successes: Mapping[str, Any]
    files: Mapping[str, str]
    refusals: Mapping[str, Mapping[str, Any]]
    own: Mapping[str, Mapping[str, Any]]

    def success(self, operation: str) -> Any:
        return self.successes.get(operation)

    def file(self, operation: str) -> str | None:
        return self.files.get(operation)

    def shared(self, family: Family, code: Code) -> Any:
        return self.refusals.get(family.value, {}).get(str(code))

    def own_of(self, operation: str, code: Code) -> Any:
        return self.own.get(operation, {}).get(str(code))


@cache
def examples() -> Examples:
    """The examples of this release."""
    return Examples(**json.loads(FILE.read_text(encoding="utf-8")))
