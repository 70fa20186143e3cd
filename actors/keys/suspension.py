"""Suspending and restoring accounts, on locked rows. Pure; source: ADR 0077."""

import json
from dataclasses import replace
from functools import partial

from actors.keys.messages import Restore, Suspend, SuspensionSet
from actors.keys.unit_of_work import Decision
from actors.values import Account, Code, Refused, unknown

unknown_account = partial(unknown, "account")


def suspend(
    decision: Decision, account: Account | None, message: Suspend, now_ms: int, *, admin: bool
) -> SuspensionSet | Refused:
    """Suspend an account, unless it is an administrator's (`admin`). Suspending it again changes nothing."""
    if account is None or account.tenant_id != message.tenant_id:
        return unknown_account()
    if account.email == message.audit.actor_email:
        return Refused(Code.INVALID_STATE, "You cannot suspend your own account.")
    if admin:
        words = "This account is an administrator's. Remove that right first: revoke-admin on the command line."
        return Refused(Code.INVALID_STATE, words)
    if account.suspended_ms is not None:
        return SuspensionSet(account, changed=False)
    suspended = replace(account, suspended_ms=now_ms, suspension_reason=message.reason)
    facts = {"reason": message.reason}
    return _suspension_saved(decision, suspended, message, facts)


def restore(decision: Decision, account: Account | None, message: Restore) -> SuspensionSet | Refused:
    """End the suspension of an account. Restoring one that is not suspended changes nothing."""
    if account is None or account.tenant_id != message.tenant_id:
        return unknown_account()
    if account.suspended_ms is None:
        return SuspensionSet(account, changed=False)
    return _suspension_saved(decision, replace(account, suspended_ms=None, suspension_reason=None), message, {})


def _suspension_saved(
    decision: Decision, account: Account, message: Suspend | Restore, facts: dict[str, str]
) -> SuspensionSet:
    decision.suspensions[account.email] = account
    decision.touched_tenants.append(account.tenant_id)
    decision.audits.append(replace(message.audit, changes=json.dumps(facts)))
    decision.outbox.append(replace(message.notice, facts=json.dumps(facts)))
    return SuspensionSet(account, changed=True)


def suspended(reason: str | None = None) -> Refused:
    """The refusal of what would act for a suspended account. The `reason` is for its owner only."""
    words = "Its owner can sign in on the website to read why." if reason is None else f"The reason: {reason}"
    return Refused(Code.FORBIDDEN, f"This account is suspended. {words}")
