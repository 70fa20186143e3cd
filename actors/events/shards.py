"""Maps bookings to the shards of a distributed store, by the engine's own hash and its shards' ranges. Pure.

Batches are split like the tables, so that a transaction stays on one shard. An outdated map loses and double-counts
nothing: its transactions span two shards and are slower.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

FIRST, LAST = -(2**31), 2**31 - 1
"""The smallest and the largest hash."""

REMEMBERED_BOOKINGS = 10_000
"""Bookings whose shard is cached, about 200 bytes each."""

MASK = 0xFFFFFFFF
SEED = 0x9E3779B9 + 3_923_095
BLOCK = 12


class Shard(NamedTuple):
    """The range of hashes [first, last] of one shard, and the engine's ids of it and of its worker."""

    id: int
    first: int
    last: int
    worker: int = 0


class ShardMap:
    """Ranges that cover all hashes, indexed from 0 in their order. Raises `ValueError` if they do not cover them
    exactly."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards = tuple(sorted(shards, key=lambda shard: shard.first))
        ends = [FIRST - 1, *(shard.last for shard in self.shards)]
        if ends[-1] != LAST or any(shard.first != end + 1 for shard, end in zip(self.shards, ends, strict=False)):
            raise ValueError("the shard ranges leave gaps or overlap")
        self._firsts = [shard.first for shard in self.shards]
        self.place_of = lru_cache(REMEMBERED_BOOKINGS)(self._find)
        """The index of a booking's shard, in range(len(self))."""

    def shard_of(self, booking_id: str) -> Shard:
        return self.shards[self.place_of(booking_id)]

    def _find(self, booking_id: str) -> int:
        return bisect_right(self._firsts, text_hash(booking_id)) - 1

    def __len__(self) -> int:
        return len(self.shards)

    def __repr__(self) -> str:
        return f"<ShardMap of {len(self)}>"


def text_hash(text: str) -> int:
    """Postgres's `hashtext`, for deterministic collations on little-endian servers: a signed 32-bit number. It is Bob
    Jenkins' lookup3 over the UTF-8 bytes."""
    data = text.encode()
    a = b = c = (SEED + len(data)) & MASK
    whole = len(data) // BLOCK * BLOCK
    for at in range(0, whole, BLOCK):
        a = (a + int.from_bytes(data[at : at + 4], "little")) & MASK
        b = (b + int.from_bytes(data[at + 4 : at + 8], "little")) & MASK
        c = (c + int.from_bytes(data[at + 8 : at + 12], "little")) & MASK
        a, b, c = _mixed(a, b, c)
    rest = data[whole:]
    # The lowest byte of the third word holds the length.
    a = (a + int.from_bytes(rest[:4], "little")) & MASK
    b = (b + int.from_bytes(rest[4:8], "little")) & MASK
    c = (c + (int.from_bytes(rest[8:], "little") << 8)) & MASK
    hashed = _finished(a, b, c)
    return hashed - 2**32 if hashed > LAST else hashed


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & MASK


def _mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    for first, second, third in ((4, 6, 8), (16, 19, 4)):
        a = (a - c & MASK) ^ _turned(c, first)
        c = c + b & MASK
        b = (b - a & MASK) ^ _turned(a, second)
        a = a + c & MASK
        c = (c - b & MASK) ^ _turned(b, third)
        b = b + a & MASK
    return a, b, c


def _finished(a: int, b: int, c: int) -> int:
    c = (c ^ b) - _turned(b, 14) & MASK
    a = (a ^ c) - _turned(c, 11) & MASK
    b = (b ^ a) - _turned(a, 25) & MASK
    c = (c ^ b) - _turned(b, 16) & MASK
    a = (a ^ c) - _turned(c, 4) & MASK
    b = (b ^ a) - _turned(a, 14) & MASK
    return (c ^ b) - _turned(b, 24) & MASK
