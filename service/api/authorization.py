"""Who may do what: account, scopes and current membership, each checked by itself, in one place.

Only the dispatcher asks; a handler that is called may do its work.
"""

from actors.values import Code, Refused
from service.api.authentication import Caller
from service.api.operation import Operation


def authorize(operation: Operation, caller: Caller) -> Refused | None:
    """None, or the first of: no account (403 `claim_required`), a scope that the key was not given (403
    `insufficient_scope`), no administrator now (403 `forbidden`).

    Nobody has no account, no scopes and no membership, and meets only operations that ask for none of these.
    """
    if not caller.known:
        return None
    if operation.account and not caller.has_account:
        return Refused(Code.CLAIM_REQUIRED, "This needs the key of an account. Claim your key by email.")
    lacking = caller.lacks(operation.scopes)
    if lacking:
        return Refused(Code.INSUFFICIENT_SCOPE, f"This key lacks the scope {', '.join(lacking)}.")
    if operation.admin and not caller.admin:
        return Refused(Code.FORBIDDEN, "Only administrators may do this.")
    return None
