"""The last uses of keys: noted in memory at each request, written at intervals. Every node runs one.

For display only; nothing is decided by it. A killed process loses the uses since its last write.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import islice

from actors.clock import Clock
from actors.kernel.periodic import PeriodicTask
from actors.keys.store import UseStore


class KeyUses(PeriodicTask):
    """Several nodes may write the same keys: the store keeps the latest use. Remembers at most `capacity` keys between
    two writes, and forgets the least recently used beyond that."""

    name = "key_uses"

    def __init__(
        self,
        store: UseStore,
        clock: Clock,
        *,
        write_seconds: float = 30.0,
        capacity: int = 50_000,
        batch: int = 1_000,
    ) -> None:
        assert capacity > 0
        assert batch > 0
        super().__init__(write_seconds)
        self._store = store
        self._clock = clock
        self._capacity = capacity
        self._batch = batch
        # Not written yet, least recently used first.
        self._noted: OrderedDict[str, int] = OrderedDict()

    # Intents.

    def note(self, key_id: str) -> None:
        """Note that a request of this key was just accepted. Costs less than a microsecond."""
        noted = self._noted
        noted[key_id] = self._clock.now_ms()
        noted.move_to_end(key_id)
        if len(noted) > self._capacity:
            noted.popitem(last=False)

    async def last(self, key_ids: Sequence[str]) -> Mapping[str, int]:
        """The last uses of these keys in epoch milliseconds; keys without a known use are left out. Uses on other nodes
        are up to `write_seconds` late. Raises `StorageUnavailable`."""
        found = dict(await self._store.uses_of(key_ids))
        for key_id in key_ids:
            if key_id in self._noted:
                found[key_id] = max(self._noted[key_id], found.get(key_id, 0))
        return found

    # The rounds.

    async def _round(self) -> None:
        """Write everything noted so far, in batches. Uses noted meanwhile wait for the next round."""
        for _ in range(-(-len(self._noted) // self._batch)):
            uses = dict(islice(self._noted.items(), self._batch))
            await self._store.save_uses(uses)
            # A key that was used again during the write has a newer time, and stays.
            for key_id, used_ms in uses.items():
                if self._noted.get(key_id) == used_ms:
                    del self._noted[key_id]

    async def _finish(self) -> None:
        await self._attempt()

    def __len__(self) -> int:
        return len(self._noted)
