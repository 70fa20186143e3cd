"""Looks up when placements are shown, for bookings missing from the node's snapshot. Batched."""

from collections.abc import Mapping, Sequence

from actors.events.messages import Window
from actors.events.store import EventStore
from actors.kernel.actor import Actor, ActorLimits
from actors.values import BatchId


class WindowReader(Actor[Sequence[str], Mapping[str, Window]]):
    """Reads windows from the store. No cache: callers compare the answer with the age of their snapshot."""

    def __init__(self, store: EventStore, *, node: str, limits: ActorLimits) -> None:
        super().__init__("windows", node, limits)
        self._store = store

    async def windows(self, booking_ids: Sequence[str]) -> Mapping[str, Window]:
        """The windows of these bookings; `NEVER` for one that is never shown. Unknown bookings are left out."""
        return await self.ask(booking_ids)

    def weigh(self, message: Sequence[str]) -> int:
        return len(message)

    async def commit(self, batch_id: BatchId, messages: Sequence[Sequence[str]]) -> Sequence[Mapping[str, Window]]:
        found = await self._store.windows(sorted({booking_id for message in messages for booking_id in message}))
        return [{each: found[each] for each in message if each in found} for message in messages]
