"""Whether a key is live, and which scopes it holds. Pure."""

from actors.keys.messages import Key
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


def is_live(key: Key, now_ms: int) -> bool:
    """Neither revoked nor expired."""
    return key.revoked_ms is None and (key.expires_ms is None or now_ms < key.expires_ms)
