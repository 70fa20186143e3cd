"""Opaque, authenticated cursors for lists: where a page ended, sealed with the server's secret.

Knows nothing of what is listed: a position is whatever scalars the list is ordered by.
"""

import hmac
from collections.abc import Sequence
from typing import Any

from service.tokens.signing import MAX_CHARACTERS, BadSeal, TokenSigner

__all__ = ["MAX_CHARACTERS", "BadCursor", "Cursors"]


class BadCursor(ValueError):
    """The cursor was not made by this service for this list."""


class Cursors:
    """Makes and opens cursors. Each list has a `purpose`; a cursor of another list or secret is refused."""

    def __init__(self, secret: bytes) -> None:
        assert len(secret) >= 16, "the server's secret is too short"
        self._seals = TokenSigner(hmac.digest(secret, b"cursors", "sha256"))

    def encode(self, purpose: str, position: Sequence[int | str | None]) -> str:
        """A cursor to what follows `position`."""
        return self._seals.close(purpose, position)

    def decode(self, purpose: str, cursor: str) -> tuple[Any, ...]:
        """The position that `encode` was given, or `BadCursor`.

        A list that changes the shape of its positions takes a new purpose, so the shape need not be checked again.
        """
        try:
            return self._seals.open(purpose, cursor)
        except BadSeal as error:
            raise BadCursor(f"it is not a cursor of this list ({error})") from None
