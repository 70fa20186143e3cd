"""Sends a statement once for all who ask for it in the same turn of the event loop."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import trio

Row = Mapping[str, Any]


@dataclass(eq=False, slots=True)
class _Asked:
    """A statement that is about to be sent, or under way. It ends without a row if it fails or is cancelled."""

    ended: trio.Event = field(default_factory=trio.Event)
    row: Row | None = None


class Together:
    """`fetch` returns the first row of a reading statement."""

    def __init__(self, fetch: Callable[[str], Awaitable[Row | None]]) -> None:
        self._fetch = fetch
        self._asked: dict[str, _Asked] = {}

    async def row(self, statement: str) -> Row:
        """The only row of a statement that was sent after this call. Raises as `fetch` does."""
        while (asked := self._asked.get(statement)) is not None:
            await asked.ended.wait()
            if asked.row is not None:
                return asked.row
        asked = self._asked[statement] = _Asked()
        try:
            try:
                await trio.lowlevel.checkpoint()
            finally:
                del self._asked[statement]
            row = asked.row = await self._fetch(statement)
        finally:
            asked.ended.set()
        assert row is not None, statement
        return row
