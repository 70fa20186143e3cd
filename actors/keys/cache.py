"""The key cache: resolves a key's text from memory, or with one batched lookup."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence

import trio

from actors.kernel.actor import Actor, ActorLimits
from actors.keys.messages import Resolved
from actors.keys.store import KeyStore
from actors.shared.credentials import digest, is_key
from actors.shared.known_credentials import KnownCredentials
from actors.times import SECOND_MS
from actors.values import BatchId


class KeyCache(Actor[bytes, Resolved | None]):
    """Caches resolved keys for `life_seconds`, and drops them when they change. Notifications make changes visible
    within a second. `life_seconds` bounds the delay if one is lost, also while the wall clock is set back."""

    def __init__(
        self,
        store: KeyStore,
        *,
        node: str,
        limits: ActorLimits,
        life_seconds: int = 10,
        capacity: int = 50_000,
    ) -> None:
        super().__init__("directory", node, limits)
        self._store = store
        self._life_ms = life_seconds * SECOND_MS
        self._capacity = capacity
        # hash -> (resolved key, when it was read, by `_now_ms`), oldest first.
        # Not a plain dict: finding its first key gets slower while the first ones are deleted.
        self._known: OrderedDict[bytes, tuple[Resolved, int]] = OrderedDict()
        self._tenant_keys: dict[str, set[bytes]] = {}
        self._seen_before = KnownCredentials(capacity)
        # Keys and tenants that changed during a lookup, whose result may be older than the change.
        self._looking = False
        self._stale_hashes: set[bytes] = set()
        self._stale_tenants: set[str] = set()
        self._all_stale = False

    # Intents.

    def recall(self, text: str) -> Resolved | None:
        """The cached key with this text and its account, also if revoked or expired, without a lookup."""
        return self._recalled(digest(text)) if is_key(text) else None

    async def resolve(self, text: str, *, fresh: bool = False) -> Resolved | None:
        """The same, with a lookup if it is not cached. None if there is no such key.

        A text with the wrong format or checksum costs no lookup. `fresh` bypasses the cache: the answer includes every
        change that was committed before this call.
        """
        if not is_key(text):
            return None
        key_hash = digest(text)
        known = None if fresh else self._recalled(key_hash)
        if known is not None:
            return known
        with self._seen_before.seeking(key_hash):
            return await self.ask(key_hash)

    def is_new(self, text: str) -> bool:
        """Whether the text looks like a key that this node has never looked up, so that it may be a guess."""
        return is_key(text) and digest(text) not in self._seen_before

    def is_being_looked_up(self, text: str) -> bool:
        """Whether a key with this text is being looked up for another request."""
        return self._seen_before.is_being_looked_up(digest(text))

    def expect(self, text: str) -> None:
        """Note a key that was just created, so that its first use is no guess."""
        self._seen_before.add(digest(text))

    def _recalled(self, key_hash: bytes) -> Resolved | None:
        known = self._known.get(key_hash)
        if known is not None and _now_ms() - known[1] < self._life_ms:
            return known[0]
        return None

    def forget(self, hashes: Iterable[bytes] = (), tenants: Iterable[str] = ()) -> None:
        """Drop these keys, and all keys of these tenants, because they changed."""
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
        """Drop everything, because notifications may have been lost."""
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
        read_ms = _now_ms()
        try:
            found = await self._store.resolve(sorted(set(messages)))
        finally:
            self._looking = False
        for key_hash in found:
            self._seen_before.add(key_hash)
        if not self._all_stale:
            for key_hash, resolved in found.items():
                if key_hash not in self._stale_hashes and resolved.key.tenant_id not in self._stale_tenants:
                    self._remember(key_hash, resolved, read_ms)
        return [found.get(key_hash) for key_hash in messages]

    def _remember(self, key_hash: bytes, resolved: Resolved, read_ms: int) -> None:
        self._drop(key_hash)
        self._make_room(read_ms)
        self._known[key_hash] = (resolved, read_ms)
        self._tenant_keys.setdefault(resolved.key.tenant_id, set()).add(key_hash)

    def _make_room(self, now_ms: int) -> None:
        """Drop keys that were read too long ago, and the oldest one beyond the capacity. Constant work per key."""
        for _ in range(2):
            if not self._known:
                return
            oldest = next(iter(self._known))
            if now_ms - self._known[oldest][1] < self._life_ms and len(self._known) < self._capacity:
                return
            self._drop(oldest)

    def _drop(self, key_hash: bytes) -> None:
        known = self._known.pop(key_hash, None)
        if known is None:
            return
        tenant_id = known[0].key.tenant_id
        keys = self._tenant_keys[tenant_id]
        keys.discard(key_hash)
        if not keys:
            del self._tenant_keys[tenant_id]


def _now_ms() -> int:
    """Milliseconds of Trio's clock, which nobody sets."""
    return int(trio.current_time() * SECOND_MS)
