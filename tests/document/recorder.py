"""Records the examples of the OpenAPI document: the responses to a known course of requests to the real application.

Time, ids, keys and codes are those of the tests' world, so each recording is the same. The first response of each kind
counts.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from service.api.errors import Family
from service.api.operation import Operation
from service.api.operations import OPERATIONS
from tests.api.asgi import Exchange
from tests.api.conformity import DOCUMENT, documented
from tests.api.world import World, open_world

BY_NAME: Mapping[str, Operation] = {operation.name: operation for operation in OPERATIONS}


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
            self.files.setdefault(name, response.body.decode())
        elif response.status == 200:
            self.successes.setdefault(name, response.json)
        else:
            self.refusals.setdefault((name, response.json["error"]), response.json)

    def examples(self) -> dict[str, Any]:
        """The contents of `examples.json`, in the order of operations and codes.

        A refusal by the handler of an operation is its own, and so is an invalid request. Others are shared by the
        operations of a family.
        """
        shared = self._shared()
        own: dict[str, dict[str, Any]] = {}
        for operation in OPERATIONS:
            kept = {
                str(code): body
                for code in operation.all_codes
                if (body := self.refusals.get((operation.name, str(code)))) is not None
                and (
                    code in operation.codes
                    or (body != shared[operation.family.value][str(code)] and code == "invalid_request")
                )
            }
            if kept:
                own[operation.name] = kept
        return {
            "successes": {each.name: self.successes[each.name] for each in OPERATIONS if each.name in self.successes},
            "files": {each.name: self.files[each.name] for each in OPERATIONS if each.name in self.files},
            "refusals": shared,
            "own": own,
        }

    def _shared(self) -> dict[str, dict[str, Any]]:
        """By family and code: of an operation whose access or limits imply the code, if there is one."""
        shared: dict[str, dict[str, Any]] = {}
        for family in Family:
            names = [operation for operation in OPERATIONS if operation.family is family]
            for implied in (True, False):
                for (name, code), body in self.refusals.items():
                    if BY_NAME[name] in names and (code not in BY_NAME[name].codes) is implied:
                        shared.setdefault(family.value, {}).setdefault(code, body)
        return {family: dict(sorted(bodies.items())) for family, bodies in shared.items()}


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
