"""The promises of quota: nothing is granted beyond a cap, and nothing is refused below it."""

from collections.abc import Callable, Iterator, Sequence

from actors.clock import DAY_MS, SECOND_MS, day_of, month_of
from actors.keys.messages import Claimed
from actors.quota.messages import Charge, Metered
from actors.values import Code, Refused, Tier
from tests.doubles.tables import Memory
from tests.simulation.history import Nothing, Operation
from tests.simulation.oracle.case import Case, any_of, maybe_before, possible, surely, surely_before
from tests.simulation.rules import CAPS, PER_MINUTE


def every_grant_is_within_its_cap(case: Case) -> Iterator[str]:
    for operation in case.of("charge"):
        answer = operation.result
        if not isinstance(answer, Metered):
            continue
        tenant, caps = answer.tenant, CAPS[answer.tenant.tier]
        if tenant.id != operation.about.tenant_id:
            yield f"a charge of {operation.about.tenant_id} was answered with {tenant.id}"
        used = (
            (tenant.day_used, caps.daily),
            (tenant.month_used, caps.monthly),
            (tenant.lifetime_used, caps.lifetime),
            (tenant.usecase_reads if operation.about.usecase else 0, caps.usecase_reads),
        )
        if any(cap is not None and count > cap for count, cap in used):
            yield f"granted beyond a cap: {tenant}"


def no_more_is_granted_than_the_caps(case: Case) -> Iterator[str]:
    """Count answers, whatever the service's counters say."""
    for tenant_id in sorted(case.charges):
        granted = [each for each in case.charges[tenant_id] if isinstance(each.result, Metered)]
        refunds = [each for each in case.refunds.get(tenant_id, []) if _may_return(each)]
        anonymous = [each for each in granted if each.result.tenant.tier is Tier.ANONYMOUS]
        lifetime = CAPS[Tier.ANONYMOUS].lifetime
        if lifetime is not None and len(anonymous) - len(refunds) > lifetime:
            yield f"{tenant_id} was granted {len(anonymous)} requests in its lifetime, {len(refunds)} refunded"
        for window, cap in (("day", "daily"), ("month", "monthly")):
            for number in sorted({getattr(each.result.tenant, window) for each in granted}):
                within = [each for each in granted if getattr(each.result.tenant, window) == number]
                back = [each for each in refunds if getattr(each.about, window) == number]
                limits = [getattr(CAPS[each.result.tenant.tier], cap) for each in within]
                if None not in limits and len(within) - len(back) > max(limits):
                    yield f"{tenant_id} was granted {len(within)} requests in one {window}, {len(back)} refunded"


def counters_are_explained(case: Case) -> Iterator[str]:
    """answered grants - refunds <= used <= answered grants + unknown ones - answered refunds, for every counter."""
    for root in sorted(case.groups):
        tenant = case.memory.tenants[root]
        charges, refunds = _of_group(case, root)
        counters: list[tuple[str, int, Callable[[Operation], bool], Callable[[Operation], bool]]] = [
            ("lifetime_used", tenant.lifetime_used, any_of, any_of),
            ("usecase_reads", tenant.usecase_reads, _of_usecase, _of_usecase),
            ("month_used", tenant.month_used, _in("month", tenant.month), _in("month", tenant.month)),
        ]
        for day in sorted({day for owner, day in case.memory.usage_days if owner == root}):
            used = case.memory.usage_days[root, day]
            counters.append((f"usage of day {day}", used, _in("day", day), _in("day", day)))
        for name, used, of_charge, of_refund in counters:
            granted = sum(isinstance(each.result, Metered) and of_charge(each) for each in charges)
            doubtful = sum(each.unknown and of_charge(each) for each in charges)
            returned = [each for each in refunds if of_refund(each)]
            past = name.startswith("usage of day") and not name.endswith(str(tenant.day))
            # For a past day, only refunds made before any clock left it have certainly reduced the count.
            sure = [each for each in returned if surely(each) and not (past and _day_may_be_over(case, each))]
            low, high = granted - len(returned), granted + doubtful - len(sure)
            if not low <= used <= high:
                yield f"{name} of {root} is {used}, expected {low} to {high} ({len(case.groups[root])} merged)"
        today = case.memory.usage_days.get((root, tenant.day), 0)
        if today != tenant.day_used:
            yield f"{root} used {tenant.day_used} today by its row, {today} by its days"


def nothing_is_refused_below_its_cap(case: Case) -> Iterator[str]:
    for operation in case.of("charge"):
        if not isinstance(operation.result, Refused):
            continue
        tenant_id: str = operation.about.tenant_id
        charges, refunds = _of_group(case, tenant_id)
        charges = [each for each in charges if maybe_before(each, operation)]
        refunds = [each for each in refunds if surely_before(each, operation)]
        if not any(
            _reaches(case, operation, charges, refunds, tier) for tier in _possible_tiers(case, tenant_id, operation)
        ):
            yield f"{operation.node} refused {tenant_id} at {operation.start:.3f}: {operation.result}"


def _reaches(
    case: Case, refused: Operation, charges: Sequence[Operation], refunds: Sequence[Operation], tier: Tier
) -> bool:
    """Return whether a cap of the tier that fits the refusal's code may have been reached."""
    caps = CAPS[tier]
    now_ms, late_ms = case.span_ms(refused)[0], case.latest_ms(refused.end)
    reached: list[bool] = []
    match refused.result.code:
        case Code.QUOTA_EXHAUSTED:
            if caps.lifetime is not None:
                reached.append(len(charges) - len(refunds) >= caps.lifetime)
            if caps.monthly is not None:
                for month in range(month_of(now_ms), month_of(late_ms) + 1):
                    within = _in("month", month)
                    used = sum(map(within, charges)) - sum(map(within, refunds))
                    reached.append(used >= caps.monthly)
        case Code.CLAIM_REQUIRED:
            if caps.usecase_reads is not None and refused.about.usecase:
                used = sum(map(_of_usecase, charges)) - sum(map(_of_usecase, refunds))
                reached.append(used >= caps.usecase_reads)
        case Code.RATE_LIMITED:
            for day in _days_that_end_then(case, refused, range(day_of(now_ms), day_of(late_ms) + 1)):
                within = _in("day", day)
                # A refund may already have met the next day and changed nothing on this one.
                sure = [each for each in refunds if within(each) and not _day_may_be_over(case, each)]
                reached.append(sum(map(within, charges)) - len(sure) >= caps.daily)
    return any(reached)


def _days_that_end_then(case: Case, refused: Operation, days: Sequence[int]) -> list[int]:
    """The days whose end is as far away as the refusal says, in whole seconds, by the clock of its node."""
    first_ms, last_ms = case.span_ms(refused)
    wait = refused.result.retry_after_seconds
    waits = {day: [max(1, -(-((day + 1) * DAY_MS - at) // SECOND_MS)) for at in (last_ms, first_ms)] for day in days}
    return [day for day, (least, most) in waits.items() if least <= wait <= most]


def _of_group(case: Case, tenant_id: str) -> tuple[list[Operation], list[Operation]]:
    """Return the charges and refunds of a tenant's group that may have counted."""
    if tenant_id not in case.of_groups:
        group = case.groups.get(tenant_id, [tenant_id])
        charges = [each for member in group for each in case.charges.get(member, []) if _may_count(each)]
        refunds = [each for member in group for each in case.refunds.get(member, []) if _may_return(each)]
        case.of_groups[tenant_id] = charges, refunds
    return case.of_groups[tenant_id]


def _may_count(charge: Operation) -> bool:
    return charge.unknown or isinstance(charge.result, Metered)


def _may_return(refund: Operation) -> bool:
    """A refund that found the mailbox full joins a later batch."""
    return not refund.fruitless or refund.result == Nothing("Overloaded")


def _of_usecase(operation: Operation) -> bool:
    usecase: bool = operation.about.usecase
    return usecase


def _in(window: str, number: int) -> Callable[[Operation], bool]:
    """Return whether an operation belongs, or may belong, to this day or month."""

    def within(operation: Operation) -> bool:
        if isinstance(operation.about, Charge):
            return operation.unknown or bool(getattr(operation.result.tenant, window) == number)
        return bool(getattr(operation.about, window) == number)

    return within


def _day_may_be_over(case: Case, refund: Operation) -> bool:
    return bool(day_of(case.latest_ms(refund.end)) > refund.about.day)


def _possible_tiers(case: Case, tenant_id: str, operation: Operation) -> list[Tier]:
    writes = case.tier_writes(tenant_id)
    tiers = [tier for tier in (Tier.CLAIMED, Tier.UPGRADED) if possible(writes, tier, operation)]
    claims = [
        each
        for each in case.of("complete")
        if isinstance(each.result, Claimed) and each.result.tenant.id == tenant_id and each.ended < operation.began
    ]
    minted = any(each.key.tenant_id == tenant_id for each in case.minted.values())
    return [*tiers, Tier.ANONYMOUS] if minted and not claims else tiers


def minutes_are_exact_on_their_node(case: Case) -> Iterator[str]:
    """A run is shorter than the window, so a node's limiter allows exactly its limit, also if its clock is set back."""
    allowed: dict[tuple[str, str], int] = {}
    for operation in case.of("pace"):
        place, limit = (operation.node, operation.about.subject), PER_MINUTE[operation.about.tier]
        used = allowed.get(place, 0)
        if (operation.result.allowed, operation.result.remaining) != (used < limit, max(0, limit - used - 1)):
            yield f"{place} at {used} of {limit} a minute: {operation.result}"
        allowed[place] = used + operation.result.allowed


def totals(memory: Memory) -> tuple[int, int, int, int]:
    """Return sums that no transaction of keys changes: requests of all lives, of use cases, of all days, and of all keys."""
    live = [tenant for tenant in memory.tenants.values() if tenant.merged_into is None]
    return (
        sum(tenant.lifetime_used for tenant in live),
        sum(tenant.usecase_reads for tenant in live),
        sum(memory.usage_days.values()),
        sum(memory.key_usage_days.values()),
    )
