"""The rules of quota: tenants and messages in, changed tenants and answers out. Pure.

Source of the rules: ADR 0003.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from actors.quota.messages import Answer, Charge, Message, Metered, Moved, Read, Refund
from actors.times import DAY_MS, SECOND_MS, day_of, month_of
from actors.values import NO_HINT, Code, Refused, Tenant, Tier


@dataclass(frozen=True, slots=True)
class Caps:
    """The caps of one tier; None means no cap. `lifetime` and `usecase_reads` apply to anonymous tenants only."""

    daily: int
    monthly: int | None = None
    lifetime: int | None = None
    usecase_reads: int | None = None


@dataclass(slots=True)
class Decision:
    """The changed tenants, what their days changed by for each (tenant, key, day), and one answer for each message in
    order."""

    changed: dict[str, Tenant] = field(default_factory=dict)
    by_key: dict[tuple[str, str, int], int] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)


def decide(
    tenants: Mapping[str, Tenant], messages: Sequence[Message], now_ms: int, caps: Mapping[Tier, Caps]
) -> Decision:
    """Answer `messages` in order against `tenants`, which are locked until the decision is committed."""
    decision = Decision()
    for message in messages:
        tenant = decision.changed.get(message.tenant_id) or tenants.get(message.tenant_id)
        if tenant is None or tenant.merged_into is not None:
            decision.answers.append(Moved(None if tenant is None else tenant.merged_into))
            continue
        tenant = rolled_over(tenant, now_ms)
        match message:
            case Charge(siblings=siblings):
                known = (decision.changed.get(each) or tenants.get(each) for each in siblings)
                others = [rolled_over(each, now_ms) for each in known if each is not None]
                answer = charged(tenant, message, now_ms, caps[tenant.tier], others)
            case Refund():
                answer = refunded(tenant, message)
            case Read():
                answer = Metered(tenant)
        if isinstance(answer, Metered) and not isinstance(message, Read):
            decision.changed[tenant.id] = answer.tenant
            if message.key_id is not None and (step := answer.tenant.day_used - tenant.day_used):
                place = (tenant.id, message.key_id, tenant.day)
                decision.by_key[place] = decision.by_key.get(place, 0) + step
        decision.answers.append(answer)
    return decision


def rolled_over(tenant: Tenant, now_ms: int) -> Tenant:
    """The tenant with the windows of `now_ms`. Windows never go back, because another node's clock may be ahead."""
    day, month = max(tenant.day, day_of(now_ms)), max(tenant.month, month_of(now_ms))
    if day != tenant.day:
        tenant = replace(tenant, day=day, day_used=0)
    if month != tenant.month:
        tenant = replace(tenant, month=month, month_used=0)
    return tenant


def charged(
    tenant: Tenant, charge: Charge, now_ms: int, caps: Caps, others: Sequence[Tenant] = ()
) -> Metered | Refused:
    """The tenant with one more request, or the first cap that refuses it. The tenants `others` share its caps: they are the
    other accounts of its mailbox, and none has paid."""
    if refused := exhausted(tenant, caps):
        return refused
    together = " by the accounts of your mailbox" if others else ""
    month_used = tenant.month_used + sum(each.month_used for each in others if each.month == tenant.month)
    if caps.monthly is not None and month_used >= caps.monthly:
        words = f"All {caps.monthly} requests of this month are used{together}. Try again next month."
        return Refused(Code.QUOTA_EXHAUSTED, words, hint=NO_HINT)
    if charge.usecase and caps.usecase_reads is not None and tenant.usecase_reads >= caps.usecase_reads:
        return Refused(
            Code.CLAIM_REQUIRED,
            f"An unclaimed key may read use cases {caps.usecase_reads} times. Claim it to continue.",
        )
    if tenant.day_used + sum(each.day_used for each in others if each.day == tenant.day) >= caps.daily:
        return Refused(
            Code.RATE_LIMITED,
            f"All {caps.daily} requests of today are used{together}. Try again after 00:00 UTC.",
            seconds_to_end(tenant.day, now_ms),
        )
    return Metered(_moved_by(tenant, 1, charge.usecase, day=True, month=True))


def exhausted(tenant: Tenant, caps: Caps) -> Refused | None:
    """The refusal of an anonymous tenant that has used its lifetime cap."""
    if caps.lifetime is None or tenant.lifetime_used < caps.lifetime:
        return None
    return Refused(
        Code.QUOTA_EXHAUSTED, f"This key has used all of its {caps.lifetime} requests. Claim it to continue."
    )


def refunded(tenant: Tenant, refund: Refund) -> Metered:
    """The tenant with one request less, in those windows of the charge that are still open."""
    return Metered(
        _moved_by(tenant, -1, refund.usecase, day=tenant.day == refund.day, month=tenant.month == refund.month)
    )


def _moved_by(tenant: Tenant, step: int, usecase: bool, *, day: bool, month: bool) -> Tenant:
    return replace(
        tenant,
        lifetime_used=max(0, tenant.lifetime_used + step),
        usecase_reads=max(0, tenant.usecase_reads + step) if usecase else tenant.usecase_reads,
        month_used=max(0, tenant.month_used + step) if month else tenant.month_used,
        day_used=max(0, tenant.day_used + step) if day else tenant.day_used,
    )


def seconds_to_end(day: int, now_ms: int) -> int:
    """Whole seconds until a day that is not over ends, at least 1. It may be tomorrow, by another node's clock."""
    return max(1, -(-((day + 1) * DAY_MS - now_ms) // SECOND_MS))
