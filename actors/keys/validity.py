"""Whether a key is live, and which scopes it holds. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping

from actors.keys.messages import Key
from actors.times import HOUR_MS
from actors.values import Scope

ADMIN_SCOPES = frozenset({Scope.ADMIN_READ, Scope.ADMIN_WRITE})
"""Scopes that take effect only for a key that carries them, while its account is an administrator (ADR 0005)."""


def account_scopes(*, admin: bool) -> tuple[Scope, ...]:
    """The scopes that full keys and sessions of an account hold: all, but `ADMIN_SCOPES` only for an administrator."""
    return tuple(scope for scope in Scope if admin or scope not in ADMIN_SCOPES)


def held_scopes(key: Key, *, admin: bool) -> tuple[Scope, ...]:
    """The scopes that a key holds: those of its account, restricted to its own if it is a scoped key. `ADMIN_SCOPES`
    also need a key that carries them."""
    scopes = account_scopes(admin=admin and key.admin)
    return tuple(scope for scope in scopes if key.scopes is None or scope in key.scopes)


CLOCKS_DIFFER_MS = HOUR_MS
"""How long after its end a rotated key may still work on a node whose clock is behind, so that revoking it matters."""


def is_live(key: Key, now_ms: int) -> bool:
    """Neither revoked nor expired."""
    return key.revoked_ms is None and (key.expires_ms is None or now_ms < key.expires_ms)


def counts(key: Key, now_ms: int) -> bool:
    """Whether a key counts towards the limit of its account. A rotated one does not: its successor counts."""
    return is_live(key, now_ms) and key.successor_id is None


def in_grace(key: Key, now_ms: int) -> bool:
    """Whether a key was rotated and still works."""
    return is_live(key, now_ms) and key.successor_id is not None


def is_spent(key: Key, now_ms: int) -> bool:
    """Whether a key was rotated and has ended."""
    return key.successor_id is not None and not is_live(key, now_ms)


def count_live(keys: Iterable[Key], now_ms: int) -> Mapping[tuple[str, bool], int]:
    """Live keys that were not rotated, by (tenant id, scoped or not), as in `Snapshot.live_keys`."""
    return _count(key for key in keys if counts(key, now_ms))


def count_in_grace(keys: Iterable[Key], now_ms: int) -> Mapping[tuple[str, bool], int]:
    """Rotated keys that still work, as in `Snapshot.keys_in_grace`."""
    return _count(key for key in keys if in_grace(key, now_ms))


def _count(keys: Iterable[Key]) -> Mapping[tuple[str, bool], int]:
    return Counter((key.tenant_id, key.scopes is not None) for key in keys)
