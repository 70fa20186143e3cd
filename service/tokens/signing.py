"""Signed tokens: scalars authenticated with a key derived from the server's secret. Their holder can read the values."""

import hashlib
import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any

MAX_CHARACTERS = 2_000
SIGNATURE_BYTES = 16

_as_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode

__all__ = ["MAX_CHARACTERS", "BadCursor", "Cursors"]


class BadToken(ValueError):
    """The token was not made by this service for this purpose."""


class TokenSigner:
    """Signs and verifies tokens. Each use has a `purpose`; tokens of other purposes or keys are rejected."""

    def __init__(self, key: bytes) -> None:
        assert len(key) >= 16, "the key is too short"
        self._key = key

    def sign(self, purpose: str, values: Sequence[int | str | None]) -> str:
        """A URL-safe token that holds `values`."""
        payload = _as_json(list(values)).encode()
        token = urlsafe_b64encode(self._signature(purpose, payload) + payload).rstrip(b"=").decode()
        assert len(token) <= MAX_CHARACTERS, f"the values for {purpose} are too long"
        return token

    def verify(self, purpose: str, token: str) -> tuple[Any, ...]:
        """The values of a token. Raises `BadToken`. Use a new purpose when the shape of the values changes."""
        signed = _bytes_of(token)
        signature, payload = signed[:SIGNATURE_BYTES], signed[SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, self._signature(purpose, payload)):
            raise BadToken("wrong signature or purpose")
        return tuple(json.loads(payload.decode()))

    def _signature(self, purpose: str, payload: bytes) -> bytes:
        return hmac.digest(self._key, purpose.encode() + b"\0" + payload, hashlib.sha256)[:SIGNATURE_BYTES]


def _bytes_of(token: str) -> bytes:
    if len(token) > MAX_CHARACTERS:
        raise BadToken(f"longer than {MAX_CHARACTERS} characters")
    try:
        signed = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except ValueError:
        raise BadToken("malformed") from None
    # The decoder skips foreign characters and ignores spare bits. Accept only the encoding that `sign` produces.
    if urlsafe_b64encode(signed).rstrip(b"=").decode() != token:
        raise BadToken("malformed")
    return signed


class BadCursor(ValueError):
    """The cursor was not made by this service for this list."""


class Cursors:
    """Makes and reads cursors. Each list has a `purpose`; cursors of other lists or secrets are rejected."""

    def __init__(self, secret: bytes) -> None:
        assert len(secret) >= 16, "the server's secret is too short"
        self._signer = TokenSigner(hmac.digest(secret, b"cursors", "sha256"))

    def encode(self, purpose: str, position: Sequence[int | str | None]) -> str:
        """A cursor to the entries after `position`."""
        return self._signer.sign(purpose, position)

    def decode(self, purpose: str, cursor: str) -> tuple[Any, ...]:
        """The position passed to `encode`. Raises `BadCursor`. Use a new purpose when the shape of positions changes."""
        try:
            return self._signer.verify(purpose, cursor)
        except BadToken as error:
            raise BadCursor(f"use the value from the previous page of this list ({error})") from None
