"""When keys were last used: noted in memory at each request, written down now and then. A member of the troupe on every node.

For display only: what was noted since the last writing is lost when the process is killed. Nothing is decided by it.
"""

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import islice

import trio

from actors.clock import Clock
from actors.keys.store import UseStore
from actors.values import Contended, OutcomeUnknown, StorageUnavailable

log = logging.getLogger(__name__)


class KeyUses:
    """Several nodes write the same keys: the latest use is kept.

    At most `capacity` keys are remembered between two writings; where there are more, those used longest ago are forgotten.
    """

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
        self._store = store
        self._clock = clock
        self._write_seconds = write_seconds
        self._capacity = capacity
        self._batch = batch
        # Not written yet, the one used longest ago first.
        self._noted: OrderedDict[str, int] = OrderedDict()
        self._closed = trio.Event()
        self._storage_away = False

    # Intents.

    def note(self, key_id: str) -> None:
        """A request of this key was let through, just now. Costs less than a microsecond."""
        noted = self._noted
        noted[key_id] = self._clock.now_ms()
        noted.move_to_end(key_id)
        if len(noted) > self._capacity:
            noted.popitem(last=False)

    async def last(self, key_ids: Sequence[str]) -> Mapping[str, int]:
        """When these keys were last used, in epoch milliseconds, as far as it is known; what other nodes know is up to
        `write_seconds` late. Raises `StorageUnavailable`."""
        found = dict(await self._store.uses_of(key_ids))
        for key_id in key_ids:
            if key_id in self._noted:
                found[key_id] = max(self._noted[key_id], found.get(key_id, 0))
        return found

    # What the troupe uses.

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Write at every interval until closed, and then once more."""
        task_status.started()
        while not self._closed.is_set():
            with trio.move_on_after(self._write_seconds):
                await self._closed.wait()
            await self._write()

    def close(self) -> None:
        self._closed.set()

    def abandon(self) -> None:
        self.close()

    async def _write(self) -> None:
        """Write all that is noted by now, in batches; what comes meanwhile waits for the next time."""
        for _ in range(-(-len(self._noted) // self._batch)):
            uses = dict(islice(self._noted.items(), self._batch))
            try:
                await self._store.keep_uses(uses)
            except (StorageUnavailable, Contended, OutcomeUnknown) as error:
                self._on_storage_error(error)
                return
            # A key that was used again while this was written is noted anew.
            for key_id, used_ms in uses.items():
                if self._noted.get(key_id) == used_ms:
                    del self._noted[key_id]
        self._storage_away = False

    def _on_storage_error(self, error: Exception) -> None:
        if not self._storage_away:
            log.warning("uses of keys wait for the store: %s", error)
        self._storage_away = True

    def __len__(self) -> int:
        return len(self._noted)

    def __repr__(self) -> str:
        return f"<KeyUses {len(self._noted)} noted>"
