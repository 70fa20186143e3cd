"""Compresses public responses for clients that accept it, and keeps the results in memory.

Only bodies that are the same for everybody are compressed. The length of a compressed response tells how similar its parts
are, so text of an attacker beside a secret would give the secret away (BREACH).
"""

import zlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import brotli
import trio

from service.api.encodings import BR, GZIP, IDENTITY, acceptable, tag_in
from service.api.messages import Answer, Headers

PIECE_BYTES = 64 * 1024
"""The loop runs other tasks after each piece, which takes about a millisecond."""

MIN_BYTES = 1_024
"""A smaller body fits into one packet with its head, compressed or not."""

QUICK = {BR: 4, GZIP: 4}
"""Levels for bodies that may be asked for only once: 60 MB a second."""
STEADY = {BR: 6, GZIP: 6}
"""Levels for documents, which are compressed once."""
BEST = {BR: 11, GZIP: 9}
"""Levels for popular bodies, in a thread: br takes a second for 0.9 MB (ADR 0088)."""

_GZIP_FORMAT = 16 + zlib.MAX_WBITS
_ENTRY_BYTES = 400
"""Memory of a cached body beside its bytes: its key and its place in the table."""


@dataclass(frozen=True, slots=True)
class CompressionLimits:
    """Bodies of at least `least_bytes` are compressed. Cached ones try_spend at most `cached_bytes` together.

    At most `bytes_per_second` of bodies are compressed, which takes about 2 % of a core, and `burst_bytes` at once after a
    quiet time; others are sent plain. A body of `best_least_bytes` to `best_bytes` that is asked for `popular` times is
    compressed once more, in a thread, at most `best_bytes_per_second` of them, which takes as much again.
    """

    least_bytes: int = MIN_BYTES
    cached_bytes: int = 8 * 1024 * 1024
    bytes_per_second: int = 1024 * 1024
    burst_bytes: int = 2 * 1024 * 1024
    popular: int = 8
    best_least_bytes: int = 16 * 1024
    best_bytes: int = 256 * 1024
    best_bytes_per_second: int = 16 * 1024


async def compressed(body: bytes, coding: str, levels: Mapping[str, int]) -> bytes:
    """The body in a coding. Lets other tasks run between the pieces of a large one."""
    if len(body) <= PIECE_BYTES:
        return compressed_at_once(body, coding, levels)
    if coding == BR:
        brotli_encoder = brotli.Compressor(mode=brotli.MODE_TEXT, quality=levels[BR])
        feed, finish = brotli_encoder.process, brotli_encoder.finish
    else:
        gzip_encoder = zlib.compressobj(levels[GZIP], zlib.DEFLATED, _GZIP_FORMAT)
        feed, finish = gzip_encoder.compress, gzip_encoder.flush
    parts: list[bytes] = []
    for start in range(0, len(body), PIECE_BYTES):
        parts.append(feed(body[start : start + PIECE_BYTES]))
        await trio.lowlevel.checkpoint()
    return b"".join((*parts, finish()))


def compressed_at_once(body: bytes, coding: str, levels: Mapping[str, int]) -> bytes:
    """The body in a coding. Blocks until it is done."""
    if coding == BR:
        return bytes(brotli.compress(body, mode=brotli.MODE_TEXT, quality=levels[BR]))
    return zlib.compress(body, levels[GZIP], _GZIP_FORMAT)


def choice(headers: Mapping[str, str], size: int, least_bytes: int) -> str:
    """The coding for a body of `size` bytes. A small one is compressed only for clients that refuse it plain."""
    header = headers.get("accept-encoding")
    if header is None:
        return IDENTITY
    codings = acceptable(header)
    if not codings or (size < least_bytes and IDENTITY in codings):
        return IDENTITY
    # RFC 9111, 5.2.1.6, is about intermediaries, but a client that says so wants the body as it is.
    return IDENTITY if "no-transform" in headers.get("cache-control", "").lower() else codings[0]


def encoded_headers(headers: Headers, coding: str, *, best: bool = False) -> Headers:
    """The headers of a response in a coding: its own ETag, and `content-encoding`."""
    own = [(name, tag_in(value, coding, best=best) if name == "etag" else value) for name, value in headers]
    return [*own, ("content-encoding", coding)]


class Budget:
    """Allows `per_second` bytes on average, and up to `most` at once after a quiet time."""

    def __init__(self, per_second: int, most: int) -> None:
        self._per_second = per_second
        self._most = most
        self._left = float(most)
        self._counted: float | None = None

    def try_spend(self, size: int, now: float) -> bool:
        """Whether `size` bytes are left at the time `now` in seconds. If so, they are spent."""
        passed = 0.0 if self._counted is None else now - self._counted
        self._counted = now
        self._left = min(self._most, self._left + passed * self._per_second)
        if size > self._left:
            return False
        self._left -= size
        return True


@dataclass(slots=True)
class _Cached:
    """A body in a coding, at the best level or a quick one; None if compressing it does not pay. `hits` counts how often it
    was asked for."""

    body: bytes | None
    hits: int = 1
    best: bool = False

    @property
    def size(self) -> int:
        return _ENTRY_BYTES + len(self.body or b"")


class Compressor:
    """Compresses the responses of one application.

    An ETag names content, so a cached body is never stale. The bodies that were not asked for longest are dropped.
    """

    def __init__(self, limits: CompressionLimits | None = None) -> None:
        self._limits = limits or CompressionLimits()
        # By ETag and coding, least recently used first. Not a plain dict: finding its first key gets slower while the first
        # ones are deleted.
        self._cached: OrderedDict[tuple[str, str], _Cached] = OrderedDict()
        self._cached_bytes = 0
        self._making: set[tuple[str, str]] = set()
        self._quick = Budget(self._limits.bytes_per_second, self._limits.burst_bytes)
        self._best = Budget(self._limits.best_bytes_per_second, self._limits.best_bytes)

    async def encode(self, answer: Answer, headers: Mapping[str, str]) -> Answer:
        """The answer, in a coding if it is public, the client accepts one, and it pays. `headers` are the request's."""
        if answer.public_tag is None:
            return answer
        coding = choice(headers, len(answer.body), self._limits.least_bytes)
        if coding == IDENTITY:
            return answer
        cached = await self._encoded((answer.public_tag, coding), answer.body)
        if cached is not None and cached.body is not None:
            answer.body = cached.body
            answer.headers = encoded_headers(answer.headers, coding, best=cached.best)
        return answer

    async def encode_once(self, body: bytes, headers: Mapping[str, str]) -> tuple[bytes, str]:
        """A public body that is not asked for again, and its coding."""
        coding = choice(headers, len(body), self._limits.least_bytes)
        if coding == IDENTITY or not self._quick.try_spend(len(body), trio.current_time()):
            return body, IDENTITY
        return await compressed(body, coding, QUICK), coding

    async def _encoded(self, key: tuple[str, str], body: bytes) -> _Cached | None:
        """The body in the coding of `key`; None if it is neither cached nor to be compressed now."""
        cached = self._cached.get(key)
        if cached is None:
            return await self._make(key, body)
        self._cached.move_to_end(key)
        cached.hits += 1
        if cached.hits == self._limits.popular and cached.body is not None:
            await self._improve(key, body)
        return cached

    async def _make(self, key: tuple[str, str], body: bytes) -> _Cached | None:
        if key in self._making or not self._quick.try_spend(len(body), trio.current_time()):
            return None
        self._making.add(key)
        try:
            made = await compressed(body, key[1], QUICK)
        finally:
            self._making.remove(key)
        cached = _Cached(made if len(made) < len(body) else None)
        self._store(key, cached)
        return cached

    async def _improve(self, key: tuple[str, str], body: bytes) -> None:
        """Replace a popular body by a smaller one. Meanwhile, other requests get the one that is there."""
        if len(body) < self._limits.best_least_bytes:
            return
        if not self._best.try_spend(len(body), trio.current_time()):
            self._cached[key].hits = 0
            return
        smaller = await trio.to_thread.run_sync(partial(compressed_at_once, body, key[1], BEST))
        cached = self._cached.get(key)
        if cached is not None and cached.body is not None and len(smaller) < len(cached.body):
            self._cached_bytes -= len(cached.body) - len(smaller)
            cached.body, cached.best = smaller, True

    def _store(self, key: tuple[str, str], cached: _Cached) -> None:
        self._cached[key] = cached
        self._cached_bytes += cached.size
        while self._cached_bytes > self._limits.cached_bytes:
            _, oldest = self._cached.popitem(last=False)
            self._cached_bytes -= oldest.size

    def __repr__(self) -> str:
        return f"<Compressor {len(self._cached)} bodies, {self._cached_bytes} bytes>"
