"""Access: admissions and granted scopes match keys and administratorship at some moment of the request."""

from collections.abc import Iterator, Mapping

from actors.keys.actor import Issued
from actors.keys.messages import Key
from actors.values import Code, Refused, Scope
from service.api.authentication import Caller
from tests.simulation.history import Operation
from tests.simulation.oracle.case import Case
from tests.simulation.oracle.key_cache import stale
from tests.simulation.oracle.keys import may_have_made_all_keys

NEEDED: Mapping[str, tuple[Scope, ...]] = {
    "saveProfile": (Scope.SPONSOR_WRITE,),
    "createCampaign": (Scope.SPONSOR_WRITE,),
    "editCampaign": (Scope.SPONSOR_WRITE,),
    "submitCampaign": (Scope.SPONSOR_WRITE,),
    "withdrawCampaign": (Scope.SPONSOR_WRITE,),
    "pauseCampaign": (Scope.SPONSOR_WRITE,),
    "resumeCampaign": (Scope.SPONSOR_WRITE,),
    "createBooking": (Scope.BILLING_WRITE,),
    "startBooking": (Scope.SPONSOR_WRITE, Scope.BILLING_WRITE),
    "openCheckout": (Scope.BILLING_WRITE,),
    "cancelBooking": (Scope.BILLING_WRITE,),
    "requestRefund": (Scope.BILLING_WRITE,),
    "createScopedKey": (Scope.KEYS_MANAGE,),
    "revokeScopedKey": (Scope.KEYS_MANAGE,),
    "revokeKey": (Scope.ADMIN_WRITE,),
    "reviewCampaign": (Scope.ADMIN_WRITE,),
    "refundBooking": (Scope.ADMIN_WRITE,),
    "declineRefund": (Scope.ADMIN_WRITE,),
    "describeVideo": (Scope.ADMIN_WRITE,),
    "createSlot": (Scope.ADMIN_WRITE,),
    "editSlot": (Scope.ADMIN_WRITE,),
    "retireSlot": (Scope.ADMIN_WRITE,),
}
"""The scopes of each operation, by hand. Those of administrators also need an administrator."""
ADMINISTRATION = (Scope.ADMIN_READ, Scope.ADMIN_WRITE)


def _given(key: Key) -> tuple[Scope, ...]:
    scopes = tuple(Scope) if key.scopes is None else key.scopes
    return scopes if key.admin else tuple(scope for scope in scopes if scope not in ADMINISTRATION)


def _memberships(case: Case, operation: Operation, email: str) -> set[bool]:
    """Return whether an account was an administrator at some moment of an operation, and whether it was not."""
    rows = case.world.log.during("administrators", email, operation.began, operation.ended)
    several = any(
        len(commit.audits_of(email)) > 1
        for commit in case.world.log.commits_of(email)
        if operation.began < commit.tick <= operation.ended
    )
    return {True, False} if several else {row is not None for row in rows}


def only_who_may_is_let_in(case: Case) -> Iterator[str]:
    for operation in case.of("admit"):
        caller = operation.result
        if not isinstance(caller, Caller):
            continue
        assert caller.resolved is not None, "every operation needs a key"
        key, needed = caller.resolved.key, NEEDED[operation.about.operation]
        lacking = [scope for scope in needed if scope not in _given(key)]
        if lacking:
            yield f"{key.id} lacks {lacking} and was admitted to {operation.about.operation}"
        if key.revoked_ms is not None or caller.resolved.email is None:
            yield f"{key.id} was admitted to {operation.about.operation}: {caller.resolved}"
        if set(needed) & set(ADMINISTRATION):
            if True not in _memberships(case, operation, caller.resolved.email or ""):
                yield f"{caller.resolved.email} was admitted to {operation.about.operation}, but is not an administrator"
            rows = case.world.log.during("keys", key.id, operation.began, operation.ended)
            if all(row is not None and row.revoked_ms is not None for row in rows):
                yield f"{key.id} was admitted to {operation.about.operation}, but had been revoked"
        yield from stale(case, operation, key, [])


def who_may_is_let_in(case: Case) -> Iterator[str]:
    for operation in case.of("admit"):
        refused = operation.result
        if not isinstance(refused, Refused):
            continue
        key, needed = case.of_texts[operation.about.text], NEEDED[operation.about.operation]
        match refused.code:
            case Code.FORBIDDEN:
                email = case.accounts.get(key.tenant_id, "")
                allowed = key.admin and False not in _memberships(case, operation, email)
                fair = bool(set(needed) & set(ADMINISTRATION)) and not allowed
            case Code.INSUFFICIENT_SCOPE:
                fair = any(scope not in (key.scopes or Scope) for scope in needed)
            case Code.INVALID_API_KEY:
                fair = any(each.began < operation.ended and not each.fruitless for each in case.revokes.get(key.id, []))
            case _:
                fair = False
        if not fair:
            yield f"{key.id} was refused {operation.about.operation} at {operation.start:.3f}: {refused}"


def no_key_gives_what_it_lacks(case: Case) -> Iterator[str]:
    """A key is granted only by a key that had its scopes at some moment, even if the answer was lost."""
    made: dict[str | None, list[Key]] = {}
    for key in case.memory.keys.values():
        made.setdefault(key.name, []).append(key)
    for operation in case.of("issue"):
        about = operation.about
        if about.admin and not operation.unknown and not operation.fruitless:
            members = _memberships(case, operation, about.email)
            forbidden = isinstance(operation.result, Refused) and operation.result.code is Code.FORBIDDEN
            if (forbidden and False not in members) or (isinstance(operation.result, Issued) and True not in members):
                yield f"{about.email} asked for a key that carries administration and got {operation.result}"
        giver = case.memory.keys.get(about.granted_by or "")
        if giver is None:
            continue
        members = _memberships(case, operation, about.email)
        holders = case.world.log.during("keys", giver.id, operation.began, operation.ended)
        revoked = {row is None or row.revoked_ms is not None for row in holders}
        sure = [
            each
            for each in about.scopes
            if each in _given(giver) and (each not in ADMINISTRATION or False not in members)
        ]
        might = [
            each for each in about.scopes if each in _given(giver) and (each not in ADMINISTRATION or True in members)
        ]
        for fresh in made.get(about.name, []):
            if not operation.began < _since(case, fresh) <= operation.ended:
                continue  # Another request's key, or no caller waited for it: what held at that moment is unknown.
            if len(might) < len(about.scopes) or fresh.scopes != about.scopes or False not in revoked:
                yield f"{giver.id}, with {_given(giver)}, granted {about.scopes}: {fresh}"
        if isinstance(operation.result, Refused):
            match operation.result.code:
                case Code.INSUFFICIENT_SCOPE:
                    fair = len(sure) < len(about.scopes)
                case Code.INVALID_API_KEY:
                    ends = [giver.expires_ms, giver.text_expires_ms]
                    fair = True in revoked or any(end is not None and end <= case.span_ms(operation)[1] for end in ends)
                case code:
                    fair = code in (Code.KEY_LIMIT, Code.IDEMPOTENCY_CONFLICT) or (
                        code is Code.RATE_LIMITED and may_have_made_all_keys(case, about.email)
                    )
            if not fair:
                yield f"{giver.id}, with {_given(giver)}, was not allowed to grant {about.scopes}: {operation.result}"


def _since(case: Case, key: Key) -> int:
    return case.world.log.since("keys", key.id) or 0


def memberships_are_as_answered(case: Case) -> Iterator[str]:
    """A new administrator is one at some moment of the request, and each change has its record."""
    for operation in case.of("appoint"):
        if not operation.unknown and not operation.fruitless:
            granted = operation.about.what == "grant"
            if granted not in _memberships(case, operation, operation.about.target):
                yield f"{operation.about} was answered, but is not true"
    for commit in case.world.log.commits:
        changed = [audit.target_id for audit in commit.audits if audit.action.startswith("admin.")]
        for email, (before, after) in commit.of("administrators").items():
            # Granted and revoked within one batch: two records.
            if changed.count(email) % 2 != ((before is None) != (after is None)):
                yield f"{commit.owner} changed the membership of {email} with {changed.count(email)} records"


def no_key_outlives_its_granter(case: Case) -> Iterator[str]:
    """After each transaction."""
    keys: dict[str, Key] = {}
    for commit in case.world.log.commits:
        changed = commit.of("keys")
        keys.update((key_id, after) for key_id, (_, after) in changed.items())
        for key in keys.values() if changed else ():
            granter = keys.get(key.granter_id or "")
            if granter is not None and granter.revoked_ms is not None and key.revoked_ms is None:
                yield f"{commit.owner} left {key.id} alive, but {granter.id}, which granted it, is revoked"
