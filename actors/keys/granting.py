"""Which scopes a granter may give to a new key, and which keys an owner may revoke, decided on locked rows. Pure.

Source of the rules: ADR 0006.
"""

from collections.abc import Collection, Iterable, Sequence

from actors.keys.messages import ByAccount, ByKey, Granter, Issue, Key, Revoke
from actors.keys.validity import ADMIN_SCOPES, account_scopes, held_scopes, is_live
from actors.values import Account, Code, Refused, Scope, session_ended


def refused_grant(
    issue: Issue,
    account: Account | None,
    giver: Key | None,
    sessions: Collection[str],
    *,
    admin: bool,
    now_ms: int,
) -> Refused | None:
    """Why the granter cannot issue this key, or None: its key or session has ended, or it lacks a scope. `giver` is the
    granting key, if a key grants; `sessions` are ids of live sessions; `admin` says whether the account is an
    administrator."""
    scopes, granter = issue.key.scopes, issue.granted_by
    if granter is not None and (refused := refused_administration(granter, issue.key, admin=admin)):
        return refused
    if granter is not None and (refused := refused_granter(granter, account, giver, sessions, now_ms=now_ms)):
        return refused
    match granter:
        case None:
            return _not_an_administrator(issue, admin=admin)
        case ByAccount():
            lacking = _lacking("This account", scopes or (), account_scopes(admin=admin))
            return lacking or _not_an_administrator(issue, admin=admin)
        case ByKey():
            assert giver is not None, "an unknown key was refused"
            return _lacking("This key", scopes or Scope, held_scopes(giver, admin=admin))


def refused_granter(
    granter: Granter, account: Account | None, giver: Key | None, sessions: Collection[str], *, now_ms: int
) -> Refused | None:
    """Why a granter cannot act for the account any more, or None. `giver` is its key, `sessions` are ids of live ones."""
    match granter:
        case ByAccount(session_id=session_id):
            if account is None or session_id not in sessions:
                return session_ended()
        case ByKey():
            if account is None or giver is None or giver.tenant_id != account.tenant_id or not is_live(giver, now_ms):
                return Refused(Code.INVALID_API_KEY, "This API key does not exist or was revoked.")
    return None


def refused_administration(granter: Granter, key: Key, *, admin: bool) -> Refused | None:
    """Why a granter cannot make, renew or extend a key of an administrator that administers, or None."""
    return _passkey_required() if admin and not granter.administers and _administers(key) else None


def _administers(key: Key) -> bool:
    """Whether a key is to administer: a full one that carries it, or a scoped one with such a scope."""
    return key.admin if key.scopes is None else not ADMIN_SCOPES.isdisjoint(key.scopes)


def _passkey_required() -> Refused:
    words = "Only a session that has shown a passkey can grant the rights of an administrator."
    return Refused(Code.FORBIDDEN, words, hint="/api/v1/account/passkeys")


def may_revoke(revoke: Revoke, key: Key) -> bool:
    """An operator may revoke any key, an owner only keys of its tenant."""
    if revoke.owner is None:
        return True
    return key.tenant_id == revoke.owner and (revoke.full or key.scopes is not None)


def _not_an_administrator(issue: Issue, *, admin: bool) -> Refused | None:
    """A full key carries administration only if an administrator asks for it. An operator may issue a scoped key in
    advance: it takes effect once the account is an administrator's."""
    if not issue.key.admin or issue.key.scopes is not None or admin:
        return None
    return Refused(
        Code.FORBIDDEN, f"Only an administrator's key can carry administration, and {issue.email} is not one."
    )


def _lacking(who: str, given: Iterable[Scope], holds: Sequence[Scope]) -> Refused | None:
    lacking = [scope for scope in given if scope not in holds]
    if not lacking:
        return None
    return Refused(Code.INSUFFICIENT_SCOPE, f"{who} cannot grant scopes that it does not have: {', '.join(lacking)}.")
