"""The key directory: from a key's text to what it stands for, by memory or one batched look-up."""

from collections.abc import Iterable, Sequence

from actors.actor import Actor, ActorLimits
from actors.clock import SECOND_MS, Clock
from actors.credentials import digest, is_key
from actors.keys.messages import Resolved
from actors.keys.store import KeyStore
from actors.values import BatchId


class KeyCache(Actor[bytes, Resolved | None]):
    """Remembers keys it has seen for a short time; told of a change, it forgets.

    A notification makes a change seen within a second; `life_seconds` makes it certain when the notification is lost.
    """

    def __init__(
        self,
        store: KeyStore,
        clock: Clock,
        *,
        node: str,
        limits: ActorLimits,
        life_seconds: int = 10,
        capacity: int = 50_000,
    ) -> None:
        super().__init__("directory", node, limits)
        self._store = store
        self._clock = clock
        self._life_ms = life_seconds * SECOND_MS
        self._capacity = capacity
        # hash -> (what it stands for, when it was read); the oldest reading first.
        self._known: dict[bytes, tuple[Resolved, int]] = {}
        self._tenant_keys: dict[str, set[bytes]] = {}
        # What was changed while a look-up is under way, whose rows may be older than the change.
        self._looking = False
        self._stale_hashes: set[bytes] = set()
        self._stale_tenants: set[str] = set()
        self._all_stale = False

    # Intents.

    async def resolve(self, text: str, *, fresh: bool = False) -> Resolved | None:
        """What `text` stands for, revoked and expired keys too; None when there is no such key.

        A text that is no key, or whose checksum is wrong, costs no look-up. A `fresh` answer comes from a look-up that
        began after this call, whatever is remembered: a change that was committed before is seen, announced or not.
        """
        if not is_key(text):
            return None
        key_hash = digest(text)
        known = None if fresh else self._known.get(key_hash)
        if known is not None and 0 <= self._clock.now_ms() - known[1] < self._life_ms:
            return known[0]
        return await self.ask(key_hash)

    def forget(self, hashes: Iterable[bytes] = (), tenants: Iterable[str] = ()) -> None:
        """These keys, and all keys of these tenants, have changed."""
        for key_hash in hashes:
            if self._looking:
                self._stale_hashes.add(key_hash)
            self._drop(key_hash)
        for tenant_id in tenants:
            if self._looking:
                self._stale_tenants.add(tenant_id)
            for key_hash in list(self._tenant_keys.get(tenant_id, ())):
                self._drop(key_hash)

    def forget_all(self) -> None:
        """Notifications may have been lost: trust nothing."""
        self._all_stale = True
        self._known.clear()
        self._tenant_keys.clear()

    def __len__(self) -> int:
        return len(self._known)

    # The batch.

    async def commit(self, batch_id: BatchId, messages: Sequence[bytes]) -> Sequence[Resolved | None]:
        self._stale_hashes.clear()
        self._stale_tenants.clear()
        self._all_stale, self._looking = False, True
        read_ms = self._clock.now_ms()
        try:
            found = await self._store.resolve(sorted(set(messages)))
        finally:
            self._looking = False
        if not self._all_stale:
            for key_hash, resolved in found.items():
                if key_hash not in self._stale_hashes and resolved.key.tenant_id not in self._stale_tenants:
                    self._remember(key_hash, resolved, read_ms)
        return [found.get(key_hash) for key_hash in messages]

    def _remember(self, key_hash: bytes, resolved: Resolved, read_ms: int) -> None:
        self._drop(key_hash)
        while len(self._known) >= self._capacity:
            self._drop(next(iter(self._known)))
        self._known[key_hash] = (resolved, read_ms)
        self._tenant_keys.setdefault(resolved.key.tenant_id, set()).add(key_hash)

    def _drop(self, key_hash: bytes) -> None:
        known = self._known.pop(key_hash, None)
        if known is None:
            return
        tenant_id = known[0].key.tenant_id
        keys = self._tenant_keys[tenant_id]
        keys.discard(key_hash)
        if not keys:
            del self._tenant_keys[tenant_id]
