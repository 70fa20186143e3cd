"""Callers of every kind, with the headers that each sends."""

from collections.abc import Callable
from typing import Any

from actors.clock import HOUR_MS
from actors.shared.credentials import ENTROPY_BYTES, Kind, new_key
from actors.values import Scope, Tier
from tests.api.world import World

Headers = dict[str, str]
Caller = Callable[[World], str | Headers | None]
"""Creates the headers of a caller in a world."""


def _bearer(text: str) -> Caller:
    return lambda world: f"Bearer {text}"


def _of(**past: Any) -> Caller:
    return lambda world: f"Bearer {world.key(**past)}"


def _account(*, tier: Tier = Tier.CLAIMED, kind: Kind = Kind.USER, **past: Any) -> Callable[[World], str]:
    """A full key of a fresh account, unless `past` says otherwise."""

    def caller(world: World) -> str:
        email = f"owner{len(world.memory.accounts)}@example.com"
        return f"Bearer {world.key(tier=tier, kind=kind, email=email, **past)}"

    return caller


def _scoped(*scopes: Scope, **past: Any) -> Caller:
    return _account(kind=Kind.SCOPED, scopes=scopes, **past)


def _removed(world: World) -> str:
    """An administrator whose role was removed without an announcement."""
    key = _account(admin=True)(world)
    world.memory.administrators.popitem()
    return key


def _unknown(world: World) -> str:
    return f"Bearer {new_key(Kind.ANONYMOUS, world.entropy.token(ENTROPY_BYTES))}"


def _mistyped(world: World) -> str:
    key = world.key()
    return f"Bearer {key[:-1]}{'0' if key[-1] != '0' else '1'}"


OUR_PAGE = {"Sec-Fetch-Site": "same-origin"}


def cookie(token: str) -> Headers:
    """The headers of a browser session."""
    return {"Cookie": f"__Host-session={token}"}


def _browser(*, headers: Headers = OUR_PAGE, **past: Any) -> Caller:
    """A page of this service in a signed-in browser. `past` is that of the session."""

    def caller(world: World) -> Headers:
        email = f"person{len(world.memory.accounts)}@example.com"
        return cookie(world.session(email, **past)) | headers

    return caller


CALLERS: dict[str, Caller] = {
    "nobody": lambda world: None,
    # Headers that are not `Bearer <key>`.
    "an empty header": lambda world: "",
    "a scheme alone": lambda world: "Bearer",
    "a scheme and a space": lambda world: "Bearer ",
    "a key without a scheme": lambda world: world.key(),
    "another scheme": lambda world: f"Basic {world.key()}",
    "two keys in one header": lambda world: f"Bearer {world.key()}, Bearer {world.key()}",
    "two keys and a comma": lambda world: f"Bearer {world.key()},{world.key()}",
    "a key and a word": lambda world: f"Bearer {world.key()} please",
    "a tab for a space": lambda world: f"Bearer\t{world.key()}",
    # Keys that do not exist.
    "not a key": _bearer("let-me-in"),
    "not ASCII": _bearer("clé"),
    "an unknown key": _unknown,
    "a mistyped key": _mistyped,
    "a revoked key": _account(revoked=True),
    "an administrator's revoked key": _account(revoked=True, admin=True),
    "a revoked key that expired": _of(revoked=True, expires_in_ms=-HOUR_MS),
    # Anonymous keys.
    "an anonymous key": _of(),
    "a lower-case scheme": lambda world: f"bearer {world.key()}",
    "an upper-case scheme": lambda world: f"BEARER {world.key()}",
    "two spaces": lambda world: f"Bearer  {world.key()}",
    "an expired key": _of(expires_in_ms=-1),
    "a key that expires now": _of(expires_in_ms=0),
    "a key with one request left": _of(used=999),
    "an exhausted key": _of(used=1_000),
    "an expired and exhausted key": _of(used=1_000, expires_in_ms=-1),
    "a key without a request left today": _of(used=500, used_today=500),
    "a key with one use case read left": _of(usecase_reads=199),
    "a key without a use case read left": _of(usecase_reads=200),
    # Full keys.
    "a claimed key": _account(kind=Kind.ANONYMOUS),
    "a claimed key that used a lifetime": _account(kind=Kind.ANONYMOUS, used=1_000, usecase_reads=200),
    "a claimed key without a request left this month": _account(kind=Kind.ANONYMOUS, used=100_000),
    "a claimed key without a request left today": _account(kind=Kind.ANONYMOUS, used=10_000, used_today=10_000),
    "an upgraded key": _account(tier=Tier.UPGRADED, used=100_000, used_today=10_000),
    "an upgraded key without a request left this month": _account(tier=Tier.UPGRADED, used=1_000_000),
    "an upgraded key without a request left today": _account(tier=Tier.UPGRADED, used_today=100_000),
    "an issued key": _account(),
    # Full keys of administrators, now and once.
    "an administrator's key": _account(admin=True),
    "an administrator's key without a request left this month": _account(admin=True, used=100_000),
    "the key of an administrator who was removed": _removed,
    # Scoped keys.
    **{f"a key for {scope}": _scoped(scope) for scope in Scope},
    "a key for everything": _scoped(*Scope),
    "a key for nothing": _scoped(),
    "a key for everything but the library": _scoped(*(scope for scope in Scope if scope is not Scope.LIBRARY_READ)),
    "a scoped key without a request left this month": _scoped(Scope.LIBRARY_READ, used=100_000),
    "an administrator's key for admin:read": _scoped(Scope.ADMIN_READ, admin=True),
    "an administrator's key for admin:write": _scoped(Scope.ADMIN_WRITE, admin=True),
    "an administrator's key for library:read": _scoped(Scope.LIBRARY_READ, admin=True),
    # Browser sessions.
    "a session": _browser(),
    "an administrator's session": _browser(admin=True),
    "a revoked session": _browser(revoked=True),
    "an administrator's revoked session": _browser(revoked=True, admin=True),
    "an expired session": _browser(expires_in_ms=-1),
    "a session that expires now": _browser(expires_in_ms=0),
    "a cookie that is no session": lambda world: cookie("let-me-in") | OUR_PAGE,
    "a session from another site": _browser(headers={"Sec-Fetch-Site": "cross-site"}),
    "an administrator's session from another site": _browser(headers={"Origin": "https://example.com"}, admin=True),
}
