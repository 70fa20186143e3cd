"""What a key is good for at a moment: whether it lives, and which scopes it holds. Pure."""

from collections.abc import Iterable, Mapping

from actors.keys.messages import Key
from actors.values import Scope

ADMIN_SCOPES = frozenset({Scope.ADMIN_READ, Scope.ADMIN_WRITE})
"""Scopes that work only while the key's account is an administrator (decisions, section 10)."""


def account_scopes(*, admin: bool) -> tuple[Scope, ...]:
    """The scopes that full keys and sessions of an account hold now: all, those of administrators only while it is one."""
    return tuple(scope for scope in Scope if admin or scope not in ADMIN_SCOPES)


def held_scopes(key: Key, *, admin: bool) -> tuple[Scope, ...]:
    """The scopes that a key holds now: of those of its account all, or the ones that a scoped key was given."""
    return tuple(scope for scope in account_scopes(admin=admin) if key.scopes is None or scope in key.scopes)


def is_live(key: Key, now_ms: int) -> bool:
    """Neither revoked nor expired."""
    return key.revoked_ms is None and (key.expires_ms is None or now_ms < key.expires_ms)


def count_live(keys: Iterable[Key], now_ms: int) -> Mapping[tuple[str, bool], int]:
    """Live keys by (tenant id, scoped or not), as `Snapshot.live_keys` has them."""
    counts: dict[tuple[str, bool], int] = {}
    for key in keys:
        if is_live(key, now_ms):
            place = (key.tenant_id, key.scopes is not None)
            counts[place] = counts.get(place, 0) + 1
    return counts
