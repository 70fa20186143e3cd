"""The counts of the administrators' lists, read at most once in some seconds: every page of theirs shows some of them."""

import trio

from actors.bookings.store import ListCounts, SponsorshipStore
from actors.clock import Clock


class CachedCounts:
    """Remembers the counts for `seconds`. Changes on this node drop them at once, those on others are seen after that."""

    def __init__(self, store: SponsorshipStore, clock: Clock, *, seconds: int = 5) -> None:
        self._store = store
        self._clock = clock
        self._seconds = seconds
        self._known: tuple[ListCounts, float] | None = None
        self._dropped = 0

    async def read(self) -> ListCounts:
        """The counts. Raises `StorageUnavailable`."""
        asked_at = trio.current_time()
        if self._known is not None and asked_at - self._known[1] < self._seconds:
            return self._known[0]
        dropped = self._dropped
        counts = await self._store.list_counts(self._clock.now_ms())
        if dropped == self._dropped:
            self._known = counts, asked_at
        return counts

    def forget(self) -> None:
        """Read them again at the next request, because they have changed."""
        self._known = None
        self._dropped += 1
