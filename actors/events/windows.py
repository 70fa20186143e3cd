"""When a booking's placement is shown, for bookings that the node's own picture does not show: look-ups in batches."""

from collections.abc import Sequence

from actors.actor import Actor, ActorLimits
from actors.events.messages import Window
from actors.events.store import EventStore
from actors.values import Turn


class WindowReader(Actor[str, Window | None]):
    """Asks the store about bookings; remembers nothing, since what it says is held against the picture's age."""

    def __init__(self, store: EventStore, *, node: str, limits: ActorLimits) -> None:
        super().__init__("windows", node, limits)
        self._store = store

    async def window(self, booking_id: str) -> Window | None:
        """The window of a booking, `NEVER` where it is not shown at any time; None where there is no such booking."""
        return await self.ask(booking_id)

    async def commit(self, turn: Turn, messages: Sequence[str]) -> Sequence[Window | None]:
        found = await self._store.windows(sorted(set(messages)))
        return [found.get(booking_id) for booking_id in messages]
