"""The oracle: what has to be true of every history, whatever went wrong in it.

Both directions are held. Nothing is granted beyond a rule, and nothing is refused that a rule allows: where an outcome is
unknown it counts as done for the one and as not done for the other. It knows the rules by `docs/decisions.md` and by
the numbers of the world, and uses none of the deciding code.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from actors.clock import SECOND_MS, day_of, month_of
from actors.keys.actor import Issued, Minted
from actors.keys.messages import Claimed, Key, Letter, Resolved, Sent, TierSet
from actors.keys.secret import Kind, digest
from actors.quota.messages import Charge, Metered
from actors.values import Code, Refused, Tier, Turn
from storage.memory.tables import Memory
from tests.simulation.history import Complete, Nothing, Operation, Unknown
from tests.simulation.rules import CAPS, HEALED_SECONDS, LIFE_SECONDS, LIMITS, PER_MINUTE, RULES

if TYPE_CHECKING:
    from tests.simulation.world import World

REFUSED_CONNECTION = Nothing("connection refused")
LOST = Unknown("lost on the network")
EPSILON = 1e-6


@dataclass(slots=True)
class Case:
    """One history with the indexes that checks ask for. A tenant's group is it and all that were merged into it."""

    world: "World"
    groups: dict[str, list[str]] = field(default_factory=dict)
    charges: dict[str, list[Operation]] = field(default_factory=dict)
    refunds: dict[str, list[Operation]] = field(default_factory=dict)
    completions: dict[str, list[Operation]] = field(default_factory=dict)
    starts: dict[str, list[Operation]] = field(default_factory=dict)
    tiers: dict[str, list[Operation]] = field(default_factory=dict)
    revokes: dict[str, list[Operation]] = field(default_factory=dict)
    minted: dict[str, Minted] = field(default_factory=dict)
    accounts: dict[str, str] = field(default_factory=dict)
    of_groups: dict[str, tuple[list[Operation], list[Operation]]] = field(default_factory=dict)

    @property
    def memory(self) -> Memory:
        return self.world.memory

    def of(self, kind: str) -> list[Operation]:
        return self.world.history.of(kind)

    def now_ms(self, node: str, seconds: float) -> int:
        """The wall clock of a node at a virtual time."""
        index = int(node[1:].partition(".")[0])
        return self.world.base_ms + self.world.nodes[index].skew_ms + int(seconds * SECOND_MS)

    def fastest_ms(self, seconds: float) -> int:
        return max(self.now_ms(node.name, seconds) for node in self.world.nodes)

    def root(self, tenant_id: str) -> str:
        tenant = self.memory.tenants.get(tenant_id)
        return tenant_id if tenant is None or tenant.merged_into is None else self.root(tenant.merged_into)

    def tier_writes(self, tenant_id: str) -> list[Operation]:
        """Changes of the tier of the account that has this tenant now."""
        return self.tiers.get(self.accounts.get(tenant_id, ""), [])


def judge(world: "World") -> list[str]:
    """Every violation that the history of a finished world shows."""
    case = _case(world)
    return [f"{check.__name__}: {violation}" for check in CHECKS for violation in check(case)]


def _case(world: "World") -> Case:
    case = Case(world)
    for tenant_id in world.memory.tenants:
        case.groups.setdefault(case.root(tenant_id), []).append(tenant_id)
    for index, kind, key in (
        (case.charges, "charge", "tenant_id"),
        (case.refunds, "refund", "tenant_id"),
        (case.completions, "complete", "token"),
        (case.starts, "start", "token"),
        (case.tiers, "tier", "email"),
    ):
        for operation in case.of(kind):
            index.setdefault(getattr(operation.about, key), []).append(operation)
    for operation in case.of("revoke"):
        case.revokes.setdefault(operation.about, []).append(operation)
    for operation in case.of("mint"):
        if isinstance(operation.result, Minted):
            case.minted[operation.result.claim_token] = operation.result
    case.accounts = {account.tenant_id: account.email for account in world.memory.accounts.values()}
    return case


# When things happened.


def surely_before(one: Operation, other: Operation) -> bool:
    """Done before the other began."""
    return not one.unknown and not one.fruitless and one.ended < other.began


def maybe_before(one: Operation, other: Operation) -> bool:
    """May have been done before the other ended. An intent that nobody waited for may be done much later."""
    return one is not other and not one.fruitless and one.began < other.ended


# Quota.


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
    """By counting answers, whatever their counters say."""
    for tenant_id in sorted(case.charges):
        granted = [each for each in case.charges[tenant_id] if isinstance(each.result, Metered)]
        refunds = [each for each in case.refunds.get(tenant_id, []) if not each.fruitless]
        anonymous = [each for each in granted if each.result.tenant.tier is Tier.ANONYMOUS]
        lifetime = CAPS[Tier.ANONYMOUS].lifetime
        if lifetime is not None and len(anonymous) - len(refunds) > lifetime:
            yield f"{tenant_id} was granted {len(anonymous)} requests in its lifetime, {len(refunds)} given back"
        for window, cap in (("day", "daily"), ("month", "monthly")):
            for number in sorted({getattr(each.result.tenant, window) for each in granted}):
                within = [each for each in granted if getattr(each.result.tenant, window) == number]
                back = [each for each in refunds if getattr(each.about, window) == number]
                limits = [getattr(CAPS[each.result.tenant.tier], cap) for each in within]
                if None not in limits and len(within) - len(back) > max(limits):
                    yield f"{tenant_id} was granted {len(within)} requests in one {window}, {len(back)} given back"


def counters_are_explained(case: Case) -> Iterator[str]:
    """answered grants - refunds <= used <= answered grants + unknown ones - answered refunds, for every counter."""
    for root in sorted(case.groups):
        tenant = case.memory.tenants[root]
        charges, refunds = _of_group(case, root)
        counters: list[tuple[str, int, Callable[[Operation], bool], Callable[[Operation], bool]]] = [
            ("lifetime_used", tenant.lifetime_used, _any, _any),
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
            # Of a day that is over, only what was given back before any clock left it is certain to be off the count.
            sure = [each for each in returned if not each.unknown and not (past and _day_may_be_over(case, each))]
            low, high = granted - len(returned), granted + doubtful - len(sure)
            if not low <= used <= high:
                yield f"{name} of {root} is {used}, explained are {low} to {high} ({len(case.groups[root])} merged)"
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
    """Whether some cap of the tier that fits the refusal's code may have been reached."""
    caps = CAPS[tier]
    now_ms, late_ms = case.now_ms(refused.node, refused.start), case.fastest_ms(refused.end)
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
            for day in range(day_of(now_ms), day_of(late_ms) + 1):
                within = _in("day", day)
                # A refund may have met the next day already and changed nothing of this one.
                sure = [each for each in refunds if within(each) and not _day_may_be_over(case, each)]
                reached.append(sum(map(within, charges)) - len(sure) >= caps.daily)
    return any(reached)


def _of_group(case: Case, tenant_id: str) -> tuple[list[Operation], list[Operation]]:
    """The charges and the refunds of a tenant's group that may have counted."""
    if tenant_id not in case.of_groups:
        group = case.groups.get(tenant_id, [tenant_id])
        charges = [each for member in group for each in case.charges.get(member, []) if _may_count(each)]
        refunds = [each for member in group for each in case.refunds.get(member, []) if not each.fruitless]
        case.of_groups[tenant_id] = charges, refunds
    return case.of_groups[tenant_id]


def _may_count(charge: Operation) -> bool:
    return charge.unknown or isinstance(charge.result, Metered)


def _any(operation: Operation) -> bool:
    return True


def _of_usecase(operation: Operation) -> bool:
    usecase: bool = operation.about.usecase
    return usecase


def _in(window: str, number: int) -> Callable[[Operation], bool]:
    """Whether an operation is, or may be, of this day or month."""

    def within(operation: Operation) -> bool:
        if isinstance(operation.about, Charge):
            return operation.unknown or getattr(operation.result.tenant, window) == number
        of: int = getattr(operation.about, window)
        return of == number

    return within


def _day_may_be_over(case: Case, refund: Operation) -> bool:
    return day_of(case.fastest_ms(refund.end)) > refund.about.day


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


def possible(
    writes: Sequence[Operation], tier: Tier, read: Operation, stale: Callable[[Operation], bool] = _any
) -> bool:
    """Whether a read may see `tier`: written (or the first), and not surely written over before the read.

    `stale` says of a write whether the read has to see it; by default it has to see what was done before it began.
    """
    over = [each for each in writes if surely_before(each, read) and stale(each)]
    if tier is Tier.CLAIMED and not any(each.about.tier is not tier for each in over):
        return True
    for write in writes:
        if write.about.tier is tier and maybe_before(write, read):
            later = [each for each in over if each.about.tier is not tier and not write.unknown]
            if not any(write.ended < each.began for each in later):
                return True
    return False


def minutes_are_exact_on_their_node(case: Case) -> Iterator[str]:
    """A run is shorter than the window, so a node's limiter lets exactly its limit through."""
    allowed: dict[tuple[str, str], int] = {}
    for operation in case.of("pace"):
        place, limit = (operation.node, operation.about.subject), PER_MINUTE[operation.about.tier]
        used = allowed.get(place, 0)
        if operation.result.allowed != (used < limit):
            yield f"{place} at {used} of {limit} a minute: {operation.result}"
        allowed[place] = used + operation.result.allowed


# Keys and claims.


def keys_are_as_they_were_given(case: Case) -> Iterator[str]:
    """Answered means stored, and a hash never changes."""
    for operation in [*case.of("mint"), *case.of("issue")]:
        if isinstance(operation.result, Minted | Issued):
            given, kept = operation.result.key, case.memory.keys.get(operation.result.key.id)
            if kept is None or kept.hash != given.hash or kept.hash != digest(operation.result.api_key):
                yield f"{given.id} was given away and is stored as {kept}"
    orders = sum(not each.fruitless for each in [*case.of("mint"), *case.of("issue")])
    if len(case.memory.keys) > orders:
        yield f"{len(case.memory.keys)} keys are stored and {orders} were asked for"


def every_claim_has_one_owner(case: Case) -> Iterator[str]:
    for token in sorted(case.minted):
        minted, claim = case.minted[token], case.memory.claims.get(digest(token))
        key = case.memory.keys.get(minted.key.id)
        claimed = [each for each in case.completions.get(token, []) if isinstance(each.result, Claimed)]
        if claim is None or key is None:
            continue  # `keys_are_as_they_were_given` tells
        if len({each.about.email for each in claimed}) > 1:
            yield f"{key.id} was claimed by {sorted({each.about.email for each in claimed})}"
        if any(each.result.key.id != key.id or each.result.key.hash != key.hash for each in claimed):
            yield f"a claim of {key.id} was answered with another key"
        if claimed and claim.completed_ms is None:
            yield f"the claim of {key.id} was answered and is not stored"
        if claim.completed_ms is not None:
            account = case.memory.accounts.get(claim.email or "")
            if account is None or account.tenant_id != key.tenant_id or key.expires_ms is not None:
                yield f"{key.id} is claimed by {claim.email} and belongs to {key.tenant_id}"
            if not any(
                each.about.letter is not None and not each.fruitless for each in case.completions.get(token, [])
            ):
                yield f"{key.id} is claimed and nobody gave its code"
    for tenant in case.memory.tenants.values():
        if tenant.merged_into is None and tenant.tier is not Tier.ANONYMOUS and tenant.id not in case.accounts:
            yield f"{tenant.id} is {tenant.tier} and no account's"
        if tenant.merged_into is not None and any(key.tenant_id == tenant.id for key in case.memory.keys.values()):
            yield f"{tenant.id} was merged and still has a key"


def codes_are_compared_at_most_five_times(case: Case) -> Iterator[str]:
    most = RULES.code_attempts
    for compared in case.world.comparisons.values():
        wrong = compared.index(True) if True in compared else len(compared)
        if wrong > most - (True in compared):
            yield f"a code was compared {wrong} times in vain before {'it was right' if True in compared else 'the end'}"


def spent_codes_open_nothing(case: Case) -> Iterator[str]:
    """The same from outside: after five answered wrong guesses the right code is wrong too."""
    for operation in case.of("complete"):
        if not isinstance(operation.result, Claimed) or operation.about.letter is None:
            continue
        others = [each for each in case.completions[operation.about.token] if each.about.email == operation.about.email]
        if any(isinstance(each.result, Claimed) and each is not operation for each in others):
            continue  # a repetition, whose budget began afresh with the success
        sent = _sending(case, operation.about)
        spent = [
            each
            for each in others
            if isinstance(each.result, Refused)
            and each.result.code is Code.INVALID_CODE
            and sent is not None
            and each.began > sent.ended
            and each.ended < operation.began
            and each.about.letter is None
        ]
        if len(spent) >= RULES.code_attempts:
            yield f"{len(spent)} guesses were wrong and then {operation.about.email}'s code was right"


def _sending(case: Case, about: Complete) -> Operation | None:
    """The start whose code this is, when it is certain that no other can be."""
    starts = [
        each for each in case.starts.get(about.token, []) if not each.fruitless and each.about.email == about.email
    ]
    return starts[0] if len(starts) == 1 and isinstance(starts[0].result, Sent) else None


def right_codes_are_accepted(case: Case) -> Iterator[str]:
    for operation in case.of("complete"):
        refused, letter = operation.result, operation.about.letter
        if isinstance(refused, Refused) and letter is not None and not _may_be_refused(case, operation, letter):
            yield f"{operation.about.email} gave the right code at {operation.start:.3f} and got {refused.code}"


def _may_be_refused(case: Case, operation: Operation, letter: Letter) -> bool:
    about = operation.about
    tries = [
        each
        for each in case.completions[about.token]
        if each is not operation and each.began < operation.ended and not isinstance(each.result, Nothing)
    ]
    done = any(each.about.letter is not None and _may_be_claimed(each) for each in tries)
    now_ms = case.now_ms(operation.node, operation.end)
    match operation.result.code:
        case Code.INVALID_CODE:
            return (
                now_ms >= letter.expires_ms
                or len(tries) >= RULES.code_attempts
                or _newer(case, operation, letter)
                or (done and now_ms > letter.created_ms + RULES.repeat_ms)
            )
        case Code.INVALID_CLAIM:
            return (
                _maybe_revoked(case, about.token, operation)
                or letter.recipient != about.email
                or _newer(case, operation, letter)
            )
        case Code.KEY_LIMIT:
            return _most_live(case, about.email, operation) >= RULES.full_keys_per_account
        case Code.ALREADY_UPGRADED:
            return any(each.about.email != about.email and _may_be_claimed(each) for each in tries)
    return False


def _maybe_revoked(case: Case, token: str, operation: Operation) -> bool:
    minted = case.minted.get(token)
    return minted is not None and any(maybe_before(each, operation) for each in case.revokes.get(minted.key.id, []))


def _may_be_claimed(completion: Operation) -> bool:
    return completion.unknown or isinstance(completion.result, Claimed)


def _newer(case: Case, operation: Operation, letter: Letter) -> bool:
    """Whether a later code may have taken the place of this one."""
    sendings = [each for each in case.starts[operation.about.token] if maybe_before(each, operation)]
    return len(sendings) > 1


def _most_live(case: Case, email: str, operation: Operation) -> int:
    """How many full keys the account may have had: all that it may have got, less those surely revoked before."""
    gained = [
        each
        for each in case.of("issue")
        if each.about.email == email and not each.about.scoped and maybe_before(each, operation)
    ]
    tokens = [
        token
        for token in sorted(case.completions)
        if any(
            each.about.email == email and each.about.letter is not None and maybe_before(each, operation)
            for each in case.completions[token]
            if _may_be_claimed(each)
        )
    ]
    key_ids = [each.result.key.id for each in gained if isinstance(each.result, Issued)]
    key_ids += [case.minted[token].key.id for token in tokens if token in case.minted]
    gone = [
        key_id for key_id in key_ids if any(surely_before(each, operation) for each in case.revokes.get(key_id, []))
    ]
    return len(gained) + len(tokens) - len(gone)


def starts_are_refused_for_a_reason(case: Case) -> Iterator[str]:
    for operation in case.of("start"):
        if not isinstance(operation.result, Refused):
            continue
        token = operation.about.token
        others = [each for each in case.starts[token] if maybe_before(each, operation)]
        claimed = [each for each in case.completions.get(token, []) if each.began < operation.ended]
        now_ms = case.now_ms(operation.node, operation.start)
        match operation.result.code:
            case Code.INVALID_CLAIM:
                fair = token not in case.minted or _maybe_revoked(case, token, operation)
            case Code.ALREADY_UPGRADED:
                fair = any(each.about.letter is not None and _may_be_claimed(each) for each in claimed)
            case Code.RATE_LIMITED:
                # An intent that nobody waited for may have been taken up later than its end.
                fair = len(others) >= RULES.codes_per_day or any(
                    each.unknown or case.now_ms(each.node, each.end) + RULES.code_pause_ms > now_ms for each in others
                )
            case _:
                fair = False
        if not fair:
            yield f"a code for {operation.about.email} was refused: {operation.result}"


def codes_are_sent_at_a_pace(case: Case) -> Iterator[str]:
    """Letters that were answered as sent are in the outbox; no more of them than a day allows, not too close."""
    for token in sorted(case.starts):
        sent = [each for each in case.starts[token] if isinstance(each.result, Sent)]
        days = [(day_of(case.now_ms(each.node, each.start)), day_of(case.now_ms(each.node, each.end))) for each in sent]
        for day in sorted({end for _, end in days}):
            within = days.count((day, day))
            if within > RULES.codes_per_day:
                yield f"{within} codes were sent for one token in a day"
        for one, other in pairwise(sent):
            gap_ms = case.now_ms(other.node, other.end) - case.now_ms(one.node, one.start)
            if gap_ms < RULES.code_pause_ms:
                yield f"two codes for one token within {gap_ms} ms"
    for email in sorted({each.about.email for each in case.of("start")}):
        asked = [each for each in case.of("start") if each.about.email == email and not each.fruitless]
        answered = sum(isinstance(each.result, Sent) for each in asked)
        letters = sum(letter.recipient == email for letter in case.memory.letters.values())
        if not answered <= letters <= len(asked):
            yield f"{email} got {letters} letters; {answered} were answered as sent and {len(asked)} asked for"


def keys_are_refused_for_a_reason(case: Case) -> Iterator[str]:
    for operation in case.of("issue"):
        if isinstance(operation.result, Refused):
            about = operation.about
            if about.scoped:
                most = RULES.scoped_keys_per_account
                live = sum(
                    each.about.scoped and each.about.email == about.email and maybe_before(each, operation)
                    for each in case.of("issue")
                )
            else:
                most, live = RULES.full_keys_per_account, _most_live(case, about.email, operation)
            if operation.result.code is not Code.KEY_LIMIT or live < most:
                yield f"{about.email} has at most {live} of {most} keys and got {operation.result}"
    for operation in case.of("revoke"):
        if isinstance(operation.result, Refused) and operation.about in case.memory.keys:
            yield f"{operation.about} exists and got {operation.result}"


def changes_are_stored_and_audited_once(case: Case) -> Iterator[str]:
    audits: dict[tuple[str, str], int] = {}
    for audit in case.memory.audits:
        place = (audit.action, audit.target_id)
        audits[place] = audits.get(place, 0) + 1
    for key in case.memory.keys.values():
        answered = any(surely(each) for each in case.revokes.get(key.id, []))
        if answered and key.revoked_ms is None:
            yield f"{key.id} was answered as revoked and is not"
        if audits.get(("key.revoked", key.id), 0) != (key.revoked_ms is not None):
            yield f"{key.id} is revoked at {key.revoked_ms} with {audits.get(('key.revoked', key.id), 0)} records"
        if audits.get(("key.issued", key.id), 0) != (key.kind is not Kind.ANONYMOUS):
            yield f"{key.id} of kind {key.kind} has {audits.get(('key.issued', key.id), 0)} records of its issue"
    for claim in case.memory.claims.values():
        if audits.get(("key.claimed", claim.key_id), 0) != (claim.completed_ms is not None):
            yield f"the claim of {claim.key_id} at {claim.completed_ms} has {audits.get(('key.claimed', claim.key_id), 0)}"
    if len({audit.id for audit in case.memory.audits}) != len(case.memory.audits):
        yield "an audit record is there twice"


def tiers_follow_their_audit(case: Case) -> Iterator[str]:
    for tenant_id in sorted(case.accounts):
        history = [Tier.CLAIMED]
        for audit in case.memory.audits:
            if audit.target_id == tenant_id and audit.action.startswith("tier."):
                history.append(Tier(audit.action.removeprefix("tier.")))
        if any(one is other for one, other in pairwise(history)):
            yield f"{tenant_id} has records of changes that change nothing: {history}"
        if history[-1] is not case.memory.tenants[tenant_id].tier:
            yield f"{tenant_id} is {case.memory.tenants[tenant_id].tier} and its records end with {history[-1]}"
        answered = [each for each in case.tier_writes(tenant_id) if isinstance(each.result, TierSet)]
        if any(each.result.tenant.tier is not each.about.tier for each in answered):
            yield f"{tenant_id} was answered with another tier than the one set"
    for operation in case.of("tier"):
        if isinstance(operation.result, Refused) and any(
            isinstance(each.result, Claimed | Issued) and each.ended < operation.began
            for kind in ("complete", "issue")
            for each in case.of(kind)
            if each.about.email == operation.about.email
        ):
            yield f"{operation.about.email} has an account and got {operation.result}"


def surely(operation: Operation) -> bool:
    return not operation.unknown and not operation.fruitless


# The directory.


def look_ups_are_fresh(case: Case) -> Iterator[str]:
    """What a node did itself it knows at once; what another did, within the life of a remembered key."""
    claims: dict[str, list[Operation]] = {}
    for operation in case.of("complete"):
        if isinstance(operation.result, Claimed):
            claims.setdefault(operation.result.key.id, []).append(operation)
    texts = {digest(each.api_key): each for each in case.minted.values()}
    for operation in case.of("resolve"):
        if operation.unknown or operation.fruitless:
            continue
        found: Resolved | None = operation.result
        if found is None:
            minted = texts.get(digest(operation.about))
            if minted is not None:
                yield f"{operation.node} does not know {minted.key.prefix}"
            continue
        if found.key.hash != digest(operation.about):
            yield f"{operation.node} answered one key with another"
        yield from _stale(case, operation, found.key, claims.get(found.key.id, []))
        if found.tier is not Tier.ANONYMOUS and found.key.tenant_id in case.accounts:
            writes = case.tier_writes(found.key.tenant_id)
            if not possible(writes, found.tier, operation, lambda write, read=operation: _must_see(read, write)):
                yield f"{operation.node} saw {found.tier} at {operation.start:.3f} for {found.email}"


def _stale(case: Case, read: Operation, key: Key, claims: Sequence[Operation]) -> Iterator[str]:
    revokes = [each for each in case.revokes.get(key.id, []) if surely(each) and _must_see(read, each)]
    if revokes and key.revoked_ms is None:
        yield f"{read.node} saw {key.id} alive at {read.start:.3f}, {_since(read, revokes)}"
    seen = [each for each in claims if _must_see(read, each)]
    if seen and (key.expires_ms is not None or key.tenant_id != seen[0].result.key.tenant_id):
        yield f"{read.node} saw {key.id} unclaimed at {read.start:.3f}, {_since(read, seen)}"


def _must_see(read: Operation, change: Operation) -> bool:
    if change.node == read.node:
        return change.ended < read.began
    return change.end + LIFE_SECONDS + EPSILON < read.start


def _since(read: Operation, changes: Sequence[Operation]) -> str:
    return f"{read.start - changes[0].end:.3f} s after {changes[0].node} changed it"


# Time.


def every_intent_is_answered_in_time(case: Case) -> Iterator[str]:
    for kind in sorted(case.world.history.intents):
        for operation in case.of(kind):
            if not operation.ended or operation.end - operation.start > LIMITS.answer_seconds + EPSILON:
                yield f"{kind} of {operation.node} took {operation.end - operation.start:.3f} s"


def everybody_is_served_once_the_faults_are_over(case: Case) -> Iterator[str]:
    since = case.world.heal_at + HEALED_SECONDS
    waiting = {client.name for client in case.world.clients}
    for operation in case.world.history.requests:
        if operation.start < since:
            continue
        if isinstance(operation.result, Unknown | Nothing) and operation.result not in (
            Unknown("5xx"),
            Nothing("Overloaded"),
        ):
            yield f"{operation.who} was not served at {operation.start:.3f}: {operation.result}"
        if operation.kind == "mint" and isinstance(operation.result, Minted):
            waiting.discard(operation.who)
    if waiting:
        yield f"never served again: {sorted(waiting)}"


def actors_fail_only_by_simulated_bugs(case: Case) -> Iterator[str]:
    restarts, bugs = case.world.counts.get("actor restarts", 0), case.world.faults.hits["crash"]
    if restarts != bugs:
        yield f"actors failed {restarts} times, of which {bugs} were simulated"


# What a campaign should have met.


def sights(world: "World") -> dict[str, int]:
    """How often a history met what is hard to meet; a campaign that never does shows less than it seems to."""
    history, memory = world.history, world.memory
    granted = [each.result.tenant for each in history.of("charge") if isinstance(each.result, Metered)]
    claimed = [each.about.token for each in history.of("complete") if isinstance(each.result, Claimed)]
    merged = {tenant.id for tenant in memory.tenants.values() if tenant.merged_into is not None}
    return {
        "claim repeated": len(claimed) - len(set(claimed)),
        "tenant merged": len(merged),
        "tier changed": sum(audit.action.startswith("tier.") for audit in memory.audits),
        "turned into a new day": len({tenant.day for tenant in granted}) - 1,
        "turned into a new month": len({tenant.month for tenant in granted}) - 1,
        "refund followed a merge": sum(
            each.about.tenant_id in merged and _merged_before(memory, history.of("complete"), each)
            for each in history.of("refund")
        ),
    }


def _merged_before(memory: Memory, completions: Sequence[Operation], refund: Operation) -> bool:
    """Whether a refund began after the claim that merged its tenant was answered."""
    return any(
        isinstance(each.result, Claimed)
        and each.result.tenant.id == memory.tenants[refund.about.tenant_id].merged_into
        and each.ended < refund.began
        for each in completions
    )


# Checked at each transaction, while it happens.


def totals(memory: Memory) -> tuple[int, int, int]:
    """Sums that no transaction of the keeper changes: requests of all lives, of use cases, and of all days."""
    live = [tenant for tenant in memory.tenants.values() if tenant.merged_into is None]
    return (
        sum(tenant.lifetime_used for tenant in live),
        sum(tenant.usecase_reads for tenant in live),
        sum(memory.usage_days.values()),
    )


def too_many_keys(world: "World", turn: Turn) -> Iterator[str]:
    """No account has more live keys than it may, at no time."""
    full: dict[str, int] = {}
    scoped: dict[str, int] = {}
    for key in world.memory.keys.values():
        if key.revoked_ms is None and key.expires_ms is None:
            counts = full if key.scopes is None else scoped
            counts[key.tenant_id] = counts.get(key.tenant_id, 0) + 1
    for counts, most in ((full, RULES.full_keys_per_account), (scoped, RULES.scoped_keys_per_account)):
        for tenant_id, live in counts.items():
            if live > most:
                yield f"{turn!r} left {tenant_id} with {live} live keys of {most}"


CHECKS: tuple[Callable[[Case], Iterator[str]], ...] = (
    every_grant_is_within_its_cap,
    no_more_is_granted_than_the_caps,
    counters_are_explained,
    nothing_is_refused_below_its_cap,
    minutes_are_exact_on_their_node,
    keys_are_as_they_were_given,
    every_claim_has_one_owner,
    codes_are_compared_at_most_five_times,
    spent_codes_open_nothing,
    right_codes_are_accepted,
    starts_are_refused_for_a_reason,
    codes_are_sent_at_a_pace,
    keys_are_refused_for_a_reason,
    changes_are_stored_and_audited_once,
    tiers_follow_their_audit,
    look_ups_are_fresh,
    every_intent_is_answered_in_time,
    everybody_is_served_once_the_faults_are_over,
    actors_fail_only_by_simulated_bugs,
)
