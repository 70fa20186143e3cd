"""Records the examples of the OpenAPI document: the responses to a known course of requests to the real application.

Time, ids, keys and codes are those of the tests' world, so each recording is the same. The first response of each kind
counts.
"""

import csv
import io
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from actors.values import Code
from service.api.errors import Family
from service.api.operation import Operation
from service.api.operations import OPERATIONS
from tests.api.asgi import Exchange
from tests.api.conformity import DOCUMENT, documented
from tests.api.world import World, open_world

BY_NAME: Mapping[str, Operation] = {operation.name: operation for operation in OPERATIONS}

ITS_OWN = frozenset({Code.INVALID_REQUEST, Code.IDEMPOTENCY_CONFLICT})
"""Codes that are implied, but whose words depend on the body of an operation."""

ROWS = 3
"""Rows of a file that its example shows."""


@dataclass(frozen=True, slots=True)
class Story:
    """A course of requests to a node of its own with these settings."""

    tell: Callable[[World], Awaitable[None]]
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class Recording:
    """The first response of each kind."""

    successes: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    refusals: dict[tuple[str, str], Any] = field(default_factory=dict)
    """By operation and code."""

    def note(self, exchange: Exchange) -> None:
        found = documented(exchange.method, exchange.path)
        if found is None or exchange.method == "HEAD" or exchange.response.status == 304:
            return
        path, method = found
        name, response = DOCUMENT["paths"][path][method]["operationId"], exchange.response
        if (response.header("content-type") or "").startswith("text/csv"):
            self.files.setdefault(name, _first_rows(response.body.decode()))
        elif response.status < 300:
            self.successes.setdefault(name, response.json)
        else:
            self.refusals.setdefault((name, response.json["error"]), response.json)

    def examples(self) -> dict[str, Any]:
        """The contents of `examples.json`, in the order of operations and codes."""
        shared = {family: self._shared(family) for family in Family}
        own = {each.name: refusals for each in OPERATIONS if (refusals := self._own(each, shared[each.family]))}
        return {
            "successes": {each.name: self.successes[each.name] for each in OPERATIONS if each.name in self.successes},
            "files": {each.name: self.files[each.name] for each in OPERATIONS if each.name in self.files},
            "refusals": {family.value: shared[family] for family in Family},
            "own": own,
        }

    def _own(self, operation: Operation, shared: Mapping[str, Any]) -> dict[str, Any]:
        """The refusals by the handler of an operation, those of `ITS_OWN`, and others that differ from its family's."""
        found: dict[str, Any] = {}
        for code in operation.all_codes:
            body = self.refusals.get((operation.name, str(code)))
            own = code in operation.codes or code in ITS_OWN
            if body is not None and (own or body != shared.get(str(code))):
                found[str(code)] = body
        return found

    def _shared(self, family: Family) -> dict[str, Any]:
        """The refusals that access and limits of the operations of a family imply, by code."""
        found: dict[str, Any] = {}
        for (name, code), body in self.refusals.items():
            operation = BY_NAME[name]
            if operation.family is family and code not in operation.codes:
                found.setdefault(code, body)
        return dict(sorted(found.items()))


def _first_rows(file: str) -> str:
    """The header and the first rows of a CSV file."""
    lines = csv.reader(io.StringIO(file))
    for _ in zip(range(1 + ROWS), lines, strict=False):
        pass
    return "".join(file.splitlines(keepends=True)[: lines.line_num])


async def record(stories: Sequence[Story]) -> dict[str, Any]:
    """The examples that these stories give."""
    recording = Recording()
    for story in stories:
        async with open_world(**story.settings) as world:
            world.client = world.client.watched_by(recording.note)
            await story.tell(world)
    return recording.examples()


def text_of(examples: Mapping[str, Any]) -> str:
    """The contents of the file."""
    return json.dumps(examples, indent=1, ensure_ascii=False) + "\n"
