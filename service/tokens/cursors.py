"""Opaque, signed list cursors. A cursor holds the position where a page ended: the scalars that the list is ordered by."""

import hmac
from collections.abc import Sequence
from typing import Any

from service.tokens.signing import MAX_CHARACTERS, BadToken, TokenSigner

__all__ = ["MAX_CHARACTERS", "BadCursor", "Cursors"]


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
