"""Opaque, authenticated cursors for lists: where a page ended, sealed with the server's secret.

Knows nothing of what is listed: a position is whatever scalars the list is ordered by.
"""

import hashlib
import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any

MAX_CHARACTERS = 2_000
SEAL_BYTES = 16


class BadCursor(ValueError):
    """The cursor was not made by this service for this list."""


class Cursors:
    """Makes and opens cursors. Each list has a `purpose`; a cursor of another list or secret is refused."""

    def __init__(self, secret: bytes) -> None:
        assert len(secret) >= 16, "the server's secret is too short"
        self._key = hmac.digest(secret, b"cursors", "sha256")

    def encode(self, purpose: str, position: Sequence[int | str | None]) -> str:
        """A cursor to what follows `position`."""
        payload = json.dumps(list(position), separators=(",", ":"), ensure_ascii=False).encode()
        cursor = urlsafe_b64encode(self._seal(purpose, payload) + payload).rstrip(b"=").decode()
        assert len(cursor) <= MAX_CHARACTERS, f"a position of {purpose} is too long for a cursor"
        return cursor

    def decode(self, purpose: str, cursor: str) -> tuple[Any, ...]:
        """The position that `encode` was given, or `BadCursor`.

        A list that changes the shape of its positions takes a new purpose, so the shape need not be checked again.
        """
        sealed = _bytes_of(cursor)
        seal, payload = sealed[:SEAL_BYTES], sealed[SEAL_BYTES:]
        if not hmac.compare_digest(seal, self._seal(purpose, payload)):
            raise BadCursor("the cursor is not one of this list")
        return tuple(json.loads(payload))

    def _seal(self, purpose: str, payload: bytes) -> bytes:
        return hmac.digest(self._key, purpose.encode() + b"\0" + payload, hashlib.sha256)[:SEAL_BYTES]


def _bytes_of(cursor: str) -> bytes:
    if len(cursor) > MAX_CHARACTERS:
        raise BadCursor(f"a cursor has at most {MAX_CHARACTERS} characters")
    try:
        sealed = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except ValueError:
        raise BadCursor("the cursor is malformed") from None
    # The decoder skips foreign characters and ignores spare bits: only the spelling that `encode` makes is accepted.
    if urlsafe_b64encode(sealed).rstrip(b"=").decode() != cursor:
        raise BadCursor("the cursor is malformed")
    return sealed
