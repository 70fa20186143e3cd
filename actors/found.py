"""The credentials that this node has found, remembered longer than what they stand for."""

from collections import OrderedDict


class FoundHashes:
    """Hashes of credentials that exist or existed, at most `capacity`; the least recently found are forgotten.

    Looking one of them up again is no guess. What it stands for may have changed since, so it must be looked up.
    """

    def __init__(self, capacity: int = 50_000) -> None:
        assert capacity > 0
        self._capacity = capacity
        self._hashes: OrderedDict[bytes, None] = OrderedDict()

    def add(self, credential_hash: bytes) -> None:
        self._hashes[credential_hash] = None
        self._hashes.move_to_end(credential_hash)
        if len(self._hashes) > self._capacity:
            self._hashes.popitem(last=False)

    def __contains__(self, credential_hash: bytes) -> bool:
        return credential_hash in self._hashes

    def __len__(self) -> int:
        return len(self._hashes)

    def __repr__(self) -> str:
        return f"<FoundHashes {len(self)} of {self._capacity}>"
