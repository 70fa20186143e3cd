"""The promises of keys, claims and accounts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from actors.clock import DAY_MS, day_of
from actors.devices.codes import read_code
from actors.keys.actor import Issued, Minted
from actors.keys.messages import Claimed, TierSet
from actors.shared.credentials import Kind, digest
from actors.values import AuditRecord, BatchId, Code, Done, OutboxMessage, Refused, Tier
from tests.simulation.history import Complete, Nothing, Operation
from tests.simulation.oracle.case import Case, maybe_before, surely, surely_before
from tests.simulation.rules import RULES

if TYPE_CHECKING:
    from tests.simulation.world import World


def keys_are_as_they_were_given(case: Case) -> Iterator[str]:
    """An answered key is stored, and its hash never changes."""
    for operation in [*case.of("mint"), *case.of("issue")]:
        if isinstance(operation.result, Minted | Issued):
            given, stored = operation.result.key, case.memory.keys.get(operation.result.key.id)
            if stored is None or stored.hash != given.hash or stored.hash != digest(operation.result.api_key):
                yield f"{given.id} was issued and is stored as {stored}"
    kinds = ("mint", "issue", "poll", "rotate", "exchange")
    orders = sum(not each.fruitless for kind in kinds for each in case.of(kind))
    if len(case.memory.keys) > orders:
        yield f"{len(case.memory.keys)} keys are stored, but only {orders} were requested"


def every_claim_has_one_owner(case: Case) -> Iterator[str]:
    for token in sorted(case.minted):
        minted, claim = case.minted[token], case.memory.claims.get(digest(token))
        key = case.memory.keys.get(minted.key.id)
        claimed = [each for each in case.completions.get(token, []) if isinstance(each.result, Claimed)]
        if claim is None or key is None:
            continue  # `keys_are_as_they_were_given` reports it
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
                yield f"{key.id} is claimed, but its code was never given"
    for tenant in case.memory.tenants.values():
        if tenant.merged_into is None and tenant.tier is not Tier.ANONYMOUS and tenant.id not in case.accounts:
            yield f"{tenant.id} is {tenant.tier} but belongs to no account"
        if tenant.merged_into is not None and any(key.tenant_id == tenant.id for key in case.memory.keys.values()):
            yield f"{tenant.id} was merged but still has a key"


def codes_are_compared_at_most_five_times(case: Case) -> Iterator[str]:
    most = RULES.codes.attempts
    for compared in case.world.comparisons.values():
        wrong = compared.index(True) if True in compared else len(compared)
        if wrong > most - (True in compared):
            yield f"a code was compared {wrong} times in vain, and then {'it matched' if True in compared else 'never'}"


def spent_codes_open_nothing(case: Case) -> Iterator[str]:
    """The same from outside: after five answered wrong guesses the right code is wrong, too."""
    for operation in case.of("complete"):
        if not isinstance(operation.result, Claimed) or operation.about.letter is None:
            continue
        others = [each for each in case.completions[operation.about.token] if each.about.email == operation.about.email]
        if any(isinstance(each.result, Claimed) and each is not operation for each in others):
            continue  # A repetition: its budget was renewed by the success.
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
        if len(spent) >= RULES.codes.attempts:
            yield f"{len(spent)} wrong guesses, and then {operation.about.email}'s code was accepted"


def _sending(case: Case, about: Complete) -> Operation | None:
    """Return the start that sent this code, if no other can have sent it."""
    starts = [
        each for each in case.starts.get(about.token, []) if not each.fruitless and each.about.email == about.email
    ]
    return starts[0] if len(starts) == 1 and isinstance(starts[0].result, Done) else None


def right_codes_are_accepted(case: Case) -> Iterator[str]:
    for operation in case.of("complete"):
        refused, letter = operation.result, operation.about.letter
        if isinstance(refused, Refused) and letter is not None and not _may_be_refused(case, operation, letter):
            yield f"{operation.about.email} gave the right code at {operation.start:.3f} and got {refused.code}"


def _may_be_refused(case: Case, operation: Operation, letter: OutboxMessage) -> bool:
    about = operation.about
    tries = [
        each
        for each in case.completions[about.token]
        if each is not operation and each.began < operation.ended and not isinstance(each.result, Nothing)
    ]
    # By the clocks of the nodes that may have done it. A node that is behind may do it before the message was written.
    done_ms = [case.span_ms(each)[0] for each in tries if each.about.letter is not None and _may_be_claimed(each)]
    now_ms = case.span_ms(operation)[1]
    match operation.result.code:
        case Code.INVALID_CODE:
            return (
                now_ms >= letter.expires_ms
                or len(tries) >= RULES.codes.attempts
                or _newer(case, operation, letter)
                or any(now_ms > at_ms + RULES.repeat_ms for at_ms in done_ms)
            )
        case Code.INVALID_CLAIM:
            return (
                _maybe_revoked(case, about.token, operation)
                or letter.recipient != about.email
                or _newer(case, operation, letter)
            )
        case Code.KEY_LIMIT:
            return most_live(case, about.email, operation) >= RULES.full_keys_per_account
        case Code.RATE_LIMITED:
            return may_have_made_all_keys(case, about.email)
        case Code.ALREADY_UPGRADED:
            return any(each.about.email != about.email and _may_be_claimed(each) for each in tries)
    return False


def _maybe_revoked(case: Case, token: str, operation: Operation) -> bool:
    minted = case.minted.get(token)
    return minted is not None and any(maybe_before(each, operation) for each in case.revokes.get(minted.key.id, []))


def _may_be_claimed(completion: Operation) -> bool:
    return completion.unknown or isinstance(completion.result, Claimed)


def _newer(case: Case, operation: Operation, letter: OutboxMessage) -> bool:
    """Return whether a later code may have replaced this one."""
    sendings = [each for each in case.starts[operation.about.token] if maybe_before(each, operation)]
    return len(sendings) > 1


def most_live(case: Case, email: str, operation: Operation) -> int:
    """Return the largest possible number of full keys of the account at that time.

    Counts all keys that it may have got and devices that may have been approved, less the keys surely revoked before.
    """
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
    promised = {
        read_code(each.about.user_code)
        for each in case.of("decide device")
        if each.about.email == email and each.about.approve and maybe_before(each, operation)
    }
    key_ids = [each.result.key.id for each in gained if isinstance(each.result, Issued)]
    key_ids += [
        device.key_id
        for device in case.memory.devices.values()
        if device.user_code in promised and device.key_id is not None
    ]
    key_ids += [case.minted[token].key.id for token in tokens if token in case.minted]
    gone = [
        key_id for key_id in key_ids if any(surely_before(each, operation) for each in case.revokes.get(key_id, []))
    ]
    return len(gained) + len(tokens) + len(promised) - len(gone)


def starts_are_refused_for_a_reason(case: Case) -> Iterator[str]:
    for operation in case.of("start"):
        if not isinstance(operation.result, Refused):
            continue
        token = operation.about.token
        others = [each for each in case.starts[token] if maybe_before(each, operation)]
        claimed = [each for each in case.completions.get(token, []) if each.began < operation.ended]
        now_ms = case.span_ms(operation)[0]
        match operation.result.code:
            case Code.INVALID_CLAIM:
                fair = token not in case.minted or _maybe_revoked(case, token, operation)
            case Code.ALREADY_UPGRADED:
                fair = any(each.about.letter is not None and _may_be_claimed(each) for each in claimed)
            case Code.RATE_LIMITED:
                # An abandoned intent may be handled later than its end.
                fair = len(others) >= RULES.codes.per_day or any(
                    each.unknown or case.span_ms(each)[1] + RULES.codes.pause_ms > now_ms for each in others
                )
            case _:
                fair = False
        if not fair:
            yield f"a code for {operation.about.email} was refused: {operation.result}"


def codes_are_sent_at_a_pace(case: Case) -> Iterator[str]:
    """Messages that were reported as sent are in the outbox, no more than a day allows and not too close together."""
    for token in sorted(case.starts):
        sent = [each for each in case.starts[token] if isinstance(each.result, Done)]
        days = [tuple(day_of(now_ms) for now_ms in case.span_ms(each)) for each in sent]
        for day in sorted({end for _, end in days}):
            within = days.count((day, day))
            if within > RULES.codes.per_day:
                yield f"{within} codes were sent for one token in a day"
        for one, other in pairwise(sent):
            # Of two that overlap, either may have been committed first.
            orders = [(one, other), (other, one)] if other.began < one.ended else [(one, other)]
            gap_ms = max(case.span_ms(last)[1] - case.span_ms(first)[0] for first, last in orders)
            if gap_ms < RULES.codes.pause_ms:
                yield f"two codes for one token within {gap_ms} ms"
    for email in sorted({each.about.email for each in case.of("start")}):
        asked = [each for each in case.of("start") if each.about.email == email and not each.fruitless]
        answered = sum(isinstance(each.result, Done) for each in asked)
        letters = sum(
            letter.recipient == email and letter.template.startswith("claim_code")
            for letter in case.memory.messages.values()
        )
        if not answered <= letters <= len(asked):
            yield f"{email} got {letters} messages; {answered} were answered as sent, {len(asked)} were requested"


def keys_are_refused_for_a_reason(case: Case) -> Iterator[str]:
    for operation in case.of("issue"):
        if isinstance(operation.result, Refused):
            about = operation.about
            if operation.result.code is Code.IDEMPOTENCY_CONFLICT:
                continue  # `one_key_for_each_idempotency_key` checks it
            if operation.result.code is Code.RATE_LIMITED and may_have_made_all_keys(case, about.email):
                continue
            if about.admin and operation.result.code is Code.FORBIDDEN:
                continue  # `no_key_gives_what_it_lacks` checks it
            if about.granted_by is not None and operation.result.code is not Code.KEY_LIMIT:
                continue  # `no_key_gives_what_it_lacks` reports it
            if operation.result.code is Code.UNAUTHORIZED and _a_session_ended(case, about.email, operation.end):
                continue  # `keys_of_ended_sessions` checks if it was granted instead
            if about.scoped:
                most = RULES.scoped_keys_per_account
                live = sum(
                    each.about.scoped and each.about.email == about.email and maybe_before(each, operation)
                    for each in case.of("issue")
                )
                live += sum(grant.asked.email == about.email for grant in case.world.programs.grants.values())
            else:
                most, live = RULES.full_keys_per_account, most_live(case, about.email, operation)
            if operation.result.code is not Code.KEY_LIMIT or live < most:
                yield f"{about.email} has at most {live} of {most} keys and got {operation.result}"
    of_programs = {text.key_id for text in case.world.programs.texts.values()}
    for operation in case.of("revoke"):
        if isinstance(operation.result, Refused) and operation.about in case.memory.keys.keys() - of_programs:
            yield f"{operation.about} exists, but got {operation.result}"


def _a_session_ended(case: Case, email: str, seconds: float) -> bool:
    """Whether a session of the account was ended by the end of the run, or may have expired at this time by the fastest
    clock: before a use of it that prolonged it was written."""
    latest_ms = case.latest_ms(seconds)
    return any(
        each.revoked_ms is not None or each.created_ms + (each.expires_ms - each.seen_ms) <= latest_ms
        for each in case.memory.sessions.values()
        if each.email == email
    )


def one_key_for_each_idempotency_key(case: Case) -> Iterator[str]:
    """An idempotency key creates one key of an account, and a request is refused only once that key exists."""
    since = {(key.tenant_id, key.name): case.world.log.since("keys", key.id) or 0 for key in case.memory.keys.values()}
    stored = Counter((key.tenant_id, key.name) for key in case.memory.keys.values())
    for operation in case.of("issue"):
        about = operation.about
        if about.key is None:
            continue
        place = case.memory.accounts[about.email].tenant_id, about.name
        if stored[place] > 1:
            yield f"{about.email} got {stored[place]} keys under the idempotency key {about.key}"
        refused = isinstance(operation.result, Refused) and operation.result.code is Code.IDEMPOTENCY_CONFLICT
        if refused and not since.get(place, inf) <= operation.ended:
            yield f"{about.email} has no key under {about.key} at {operation.end:.3f} and got {operation.result}"


def changes_are_stored_and_audited_once(case: Case) -> Iterator[str]:
    audits: dict[tuple[str, str], int] = {}
    for audit in case.memory.audits:
        place = (audit.action, audit.target_id)
        audits[place] = audits.get(place, 0) + 1
    for key in case.memory.keys.values():
        answered = any(surely(each) for each in case.revokes.get(key.id, []))
        if answered and key.revoked_ms is None:
            yield f"{key.id} was answered as revoked, but is not"
        # A rotation without grace revokes the old key, with a record of its own, and so does a report that it was found.
        ways = ("key.revoked", "key.exposed")
        ended = sum(audits.get((way, key.id), 0) for way in ways) or audits.get(("key.rotated", key.id), 0)
        if key.revoked_ms is not None and ended != 1:
            yield f"{key.id} is revoked at {key.revoked_ms} with {ended} records"
        if audits.get(("key.revoked", key.id), 0) > (key.revoked_ms is not None):
            yield f"{key.id} is revoked at {key.revoked_ms} with {audits.get(('key.revoked', key.id), 0)} records"
        if audits.get(("key.issued", key.id), 0) != (key.kind is not Kind.ANONYMOUS):
            yield f"{key.id} of kind {key.kind} has {audits.get(('key.issued', key.id), 0)} records of its issue"
    for claim in case.memory.claims.values():
        if audits.get(("key.claimed", claim.key_id), 0) != (claim.completed_ms is not None):
            yield f"the claim of {claim.key_id} at {claim.completed_ms} has {audits.get(('key.claimed', claim.key_id), 0)}"
    if len({audit.id for audit in case.memory.audits}) != len(case.memory.audits):
        yield "an audit record exists twice"


def tiers_follow_their_audit(case: Case) -> Iterator[str]:
    for tenant_id in sorted(case.accounts):
        history = [Tier.CLAIMED]
        for audit in case.memory.audits:
            if audit.target_id == tenant_id and audit.action.startswith("tier."):
                history.append(Tier(audit.action.removeprefix("tier.")))
        if any(one is other for one, other in pairwise(history)):
            yield f"{tenant_id} has audit records without a change: {history}"
        if history[-1] is not case.memory.tenants[tenant_id].tier:
            yield f"{tenant_id} is {case.memory.tenants[tenant_id].tier} and its records end with {history[-1]}"
        answered = [each for each in case.tier_writes(tenant_id) if isinstance(each.result, TierSet)]
        if any(each.result.tenant.tier is not each.about.tier for each in answered):
            yield f"{tenant_id} was answered with a tier that was not set"
    for operation in case.of("tier"):
        if isinstance(operation.result, Refused) and any(
            isinstance(each.result, Claimed | Issued) and each.ended < operation.began
            for kind in ("complete", "issue")
            for each in case.of(kind)
            if each.about.email == operation.about.email
        ):
            yield f"{operation.about.email} has an account, but got {operation.result}"


def keys_of_ended_sessions(world: "World", audits: Sequence[AuditRecord]) -> Iterator[str]:
    """A session grants a key only if it has not ended when the key is stored. `audits` are those of the transaction."""
    for audit in audits:
        if audit.action == "key.issued" and audit.actor_type == "session":
            session = world.memory.sessions.get(audit.actor_id)
            if session is None or session.revoked_ms is not None:
                yield f"keys_of_ended_sessions: {audit.actor_id} had ended and granted {audit.target_id}"


def too_many_keys(world: "World", batch_id: BatchId) -> Iterator[str]:
    """No account ever has more live keys than allowed."""
    full: dict[str, int] = {}
    scoped: dict[str, int] = {}
    for key in world.memory.keys.values():
        if key.revoked_ms is None and key.expires_ms is None:
            counts = full if key.scopes is None else scoped
            counts[key.tenant_id] = counts.get(key.tenant_id, 0) + 1
    for counts, most in ((full, RULES.full_keys_per_account), (scoped, RULES.scoped_keys_per_account)):
        for tenant_id, live in counts.items():
            if live > most:
                yield f"{batch_id!r} left {tenant_id} with {live} live keys of {most}"


BEFORE_MIDNIGHT_MS = 3_000
"""A key that is asked for so late may be decided on the next day."""


def too_many_keys_today(world: "World", audits: Sequence[AuditRecord]) -> Iterator[str]:
    """A key or a session grants no key beyond those of the day. `audits` are those of the transaction."""
    issued = [audit for audit in audits if audit.action == "key.issued"]
    for audit in issued:
        key = world.memory.keys[audit.target_id]
        if audit.actor_type not in ("key", "session") or key.created_ms % DAY_MS > DAY_MS - BEFORE_MIDNIGHT_MS:
            continue
        made = sum(
            each.tenant_id == key.tenant_id and day_of(each.created_ms) == day_of(key.created_ms)
            for each in world.memory.keys.values()
        )
        if made - len(issued) >= RULES.keys_per_day:
            yield f"{audit.actor_id} granted {key.id} as key {made} of {RULES.keys_per_day} of {key.tenant_id} that day"


def may_have_made_all_keys(case: Case, email: str) -> bool:
    """Whether an account had made as many keys of a day as it may by the end of the run, those of approved devices that had
    not fetched theirs included."""
    account = case.memory.accounts.get(email)
    if account is None:
        return False
    days = Counter(day_of(key.created_ms) for key in case.memory.keys.values() if key.tenant_id == account.tenant_id)
    promised = sum(each.email == email and each.key_id is None for each in case.memory.devices.values())
    return max(days.values(), default=0) + promised >= RULES.keys_per_day


def claimed_keys_carry_no_administration(case: Case) -> Iterator[str]:
    for key in case.memory.keys.values():
        if key.admin and key.kind is Kind.ANONYMOUS:
            yield f"{key.id}, which anybody can mint, carries administration"
