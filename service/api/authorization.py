"""Checks account, scopes and administrator role. Only the dispatcher calls this; handlers need no checks (ADR 0005)."""

from actors.keys.suspension import suspended
from actors.values import Code, Refused
from service.api.authentication import Caller, no_passkey
from service.api.operation import Operation


def authorize(operation: Operation, caller: Caller) -> Refused | None:
    """None, or the first of the refusals `forbidden` (suspended), `claim_required`, `insufficient_scope` and `forbidden`.

    Anonymous callers reach only operations that require none of these.
    """
    if not caller.known:
        return None
    if caller.suspended and not (operation.while_suspended and caller.signed_in is not None):
        return suspended(None if caller.signed_in is None else caller.signed_in.suspension)
    if operation.account and not caller.has_account:
        return Refused(Code.CLAIM_REQUIRED, "This requires an account. Claim your key by email first.")
    lacking = caller.lacks(operation.scopes)
    if lacking:
        return Refused(Code.INSUFFICIENT_SCOPE, f"This key does not have the required scope: {', '.join(lacking)}.")
    if operation.admin and caller.needs_passkey:
        return no_passkey()
    if operation.admin and not caller.admin:
        if caller.resolved is not None and caller.resolved.admin:
            return Refused(
                Code.FORBIDDEN, "This key does not carry administration. Create one that does, on the dashboard."
            )
        return Refused(Code.FORBIDDEN, "Only administrators can do this.")
    return None
