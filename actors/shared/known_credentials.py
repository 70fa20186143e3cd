"""Hashes of credentials that this node has looked up before. They are remembered longer than the cached rows."""

from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager


class KnownCredentials:
    """Hashes of credentials that exist or existed, at most `capacity`; the least recently used are dropped.

    Looking one up again does not count as a guess. Its row may have changed, so it is read again.
    """

    def __init__(self, capacity: int = 50_000) -> None:
        assert capacity > 0
        self._capacity = capacity
        self._hashes: OrderedDict[bytes, None] = OrderedDict()
        self._sought: Counter[bytes] = Counter()

    def add(self, credential_hash: bytes) -> None:
        self._hashes[credential_hash] = None
        self._hashes.move_to_end(credential_hash)
        if len(self._hashes) > self._capacity:
            self._hashes.popitem(last=False)

    @contextmanager
    def seeking(self, credential_hash: bytes) -> Iterator[None]:
        """Mark a lookup in progress. Concurrent requests with the same credential share it."""
        self._sought[credential_hash] += 1
        try:
            yield
        finally:
            self._sought[credential_hash] -= 1
            if not self._sought[credential_hash]:
                del self._sought[credential_hash]

    def is_being_looked_up(self, credential_hash: bytes) -> bool:
        """Whether the credential is being looked up."""
        return credential_hash in self._sought

    def __contains__(self, credential_hash: bytes) -> bool:
        return credential_hash in self._hashes

    def __len__(self) -> int:
        return len(self._hashes)
