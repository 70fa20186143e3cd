"""Sealed texts: scalars that a client carries and cannot change, authenticated with a key of the server's secret.

Whoever has one may use it and nobody can make one: what a cursor is for a list, a link is for a booking. What is sealed
can be read by its bearer, so it holds no secret.
"""

import hashlib
import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any

MAX_CHARACTERS = 2_000
SEAL_BYTES = 16


class BadSeal(ValueError):
    """The text was not made by this service for this purpose."""


class TokenSigner:
    """Makes and opens sealed texts. Each use has a `purpose`; a text of another purpose or key is refused."""

    def __init__(self, key: bytes) -> None:
        assert len(key) >= 16, "the key is too short"
        self._key = key

    def close(self, purpose: str, values: Sequence[int | str | None]) -> str:
        """`values` as a text that is safe in an address."""
        payload = json.dumps(list(values), separators=(",", ":"), ensure_ascii=False).encode()
        text = urlsafe_b64encode(self._seal(purpose, payload) + payload).rstrip(b"=").decode()
        assert len(text) <= MAX_CHARACTERS, f"what is sealed for {purpose} is too long"
        return text

    def open(self, purpose: str, text: str) -> tuple[Any, ...]:
        """The values that `close` was given, or `BadSeal`.

        A use that changes the shape of its values takes a new purpose, so the shape need not be checked again.
        """
        sealed = _bytes_of(text)
        seal, payload = sealed[:SEAL_BYTES], sealed[SEAL_BYTES:]
        if not hmac.compare_digest(seal, self._seal(purpose, payload)):
            raise BadSeal("it was made for something else")
        return tuple(json.loads(payload))

    def _seal(self, purpose: str, payload: bytes) -> bytes:
        return hmac.digest(self._key, purpose.encode() + b"\0" + payload, hashlib.sha256)[:SEAL_BYTES]


def _bytes_of(text: str) -> bytes:
    if len(text) > MAX_CHARACTERS:
        raise BadSeal(f"it has at most {MAX_CHARACTERS} characters")
    try:
        sealed = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise BadSeal("it is malformed") from None
    # The decoder skips foreign characters and ignores spare bits: only the spelling that `close` makes is accepted.
    if urlsafe_b64encode(sealed).rstrip(b"=").decode() != text:
        raise BadSeal("it is malformed")
    return sealed
