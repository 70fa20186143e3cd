"""The promises of rotation and of ends: judged at each transaction of keys, and by the answers of a history."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from actors.clock import SECOND_MS
from actors.keys.messages import Key, KeySaved, Rotated
from actors.quota.messages import Metered
from actors.values import AuditRecord, BatchId, Code, Refused
from tests.simulation.history import Operation
from tests.simulation.oracle.case import EPSILON, Case, maybe_before, surely, surely_before
from tests.simulation.oracle.keys import may_have_made_all_keys
from tests.simulation.rules import LIFE_SECONDS, RULES

if TYPE_CHECKING:
    from tests.simulation.world import World


def judge(world: "World", batch_id: BatchId, before: Mapping[str, Key], audits: Sequence[AuditRecord]) -> Iterator[str]:
    """One transaction: `before` are all keys before it, `audits` its records."""
    keys = world.memory.keys
    for name, key in keys.items():
        old = before.get(name)
        if old is None or old is key:
            continue
        if old.successor_id is not None:
            if key.successor_id != old.successor_id or _later(key.expires_ms, old.expires_ms):
                yield f"{batch_id!r} changed {name}, which had been rotated: {key}"
        elif key.successor_id is not None:
            yield from _rotated(world, batch_id, old, key, before, audits)
        elif key.expires_ms != old.expires_ms:
            if any(each.target_id == name and each.action == "key.claimed" for each in audits):
                continue  # A claim takes the end away.
            records = [each for each in audits if each.target_id == name and each.action == "key.changed"]
            if len(records) != 1 or json.loads(records[0].changes).get("expiresAt") != [old.expires_ms, key.expires_ms]:
                yield f"{batch_id!r} moved the end of {name} from {old.expires_ms} to {key.expires_ms} with {records}"
            if records and _later(key.expires_ms, old.expires_ms) and records[0].actor_id == name:
                yield f"{batch_id!r} let {name} extend itself"


def _rotated(
    world: "World", batch_id: BatchId, old: Key, key: Key, before: Mapping[str, Key], audits: Sequence[AuditRecord]
) -> Iterator[str]:
    fresh = world.memory.keys.get(key.successor_id or "")
    if fresh is None or fresh.id in before:
        yield f"{batch_id!r} rotated {old.id} into {key.successor_id}, which is not new"
        return
    same = (fresh.name, fresh.scopes, fresh.tenant_id, fresh.granter_id, fresh.expires_ms, fresh.admin)
    if same != (old.name, old.scopes, old.tenant_id, old.granter_id, old.expires_ms, old.admin):
        yield f"{batch_id!r} rotated {old} into {fresh}"
    if key.revoked_ms is None and (key.expires_ms is None or _later(key.expires_ms, old.expires_ms)):
        yield f"{batch_id!r} rotated {old.id}, which does not end"
    records = [(each.action, each.target_id) for each in audits if each.target_id in (old.id, fresh.id)]
    if sorted(records) != sorted([("key.rotated", old.id), ("key.issued", fresh.id)]):
        yield f"{batch_id!r} rotated {old.id} with the records {records}"
    if any(each.granter_id == old.id and each.revoked_ms is None for each in world.memory.keys.values()):
        yield f"{batch_id!r} left keys with {old.id}, which was rotated"


def _later(one: int | None, other: int | None) -> bool:
    return other is not None and (one is None or one > other)


# At the end.


def rotations_are_as_answered(case: Case) -> Iterator[str]:
    """The old key ends after its grace, by the clock of a moment of the request, and is rotated once. A key rotated in
    a session may have an end of its own before."""
    for operation in case.of("rotate"):
        if not isinstance(operation.result, tuple):
            continue
        rotated: Rotated = operation.result[1]
        about, old = operation.about, case.memory.keys[operation.about.key_id]
        if old.successor_id != rotated.key.id or rotated.key.id not in case.memory.keys:
            yield f"{old.id} was answered as rotated into {rotated.key.id}: {old}"
        least, most = (now_ms + about.grace_seconds * SECOND_MS for now_ms in case.span_ms(operation))
        if rotated.ends_ms > most or (rotated.ends_ms < least and not about.session_id):
            yield f"{old.id} was to work for {about.grace_seconds} s and ends {rotated.ends_ms - least} ms later"
        if (old.revoked_ms is not None) < (about.grace_seconds == 0):
            yield f"{old.id} was rotated without grace and is not revoked"
        if about.grace_seconds and old.expires_ms != rotated.ends_ms:
            yield f"{old.id} ends at {old.expires_ms}, but {rotated.ends_ms} was answered"


def rotations_are_refused_for_a_reason(case: Case) -> Iterator[str]:
    for operation in case.of("rotate"):
        if not isinstance(operation.result, Refused):
            continue
        about = operation.about
        others = [
            each for each in case.of("rotate") if each.about.key_id == about.key_id and maybe_before(each, operation)
        ]
        match operation.result.code:
            case Code.IDEMPOTENCY_CONFLICT:
                fair = any(each.about.key == about.key for each in others)
            case Code.INVALID_STATE | Code.NOT_FOUND | Code.INVALID_API_KEY:
                revoked = any(maybe_before(each, operation) for each in case.revokes.get(about.key_id, []))
                key = case.memory.keys.get(about.key_id)
                ended = key is not None and key.expires_ms is not None and key.expires_ms <= case.span_ms(operation)[1]
                fair = bool(others) or revoked or (ended and operation.result.code != Code.NOT_FOUND)
            case Code.KEY_LIMIT:
                own = [each for each in case.of("rotate") if each.about.email == about.email]
                fair = sum(maybe_before(each, operation) for each in own) >= RULES.full_keys_per_account
            case Code.RATE_LIMITED:
                fair = may_have_made_all_keys(case, about.email)
            case _:
                fair = False
        if not fair:
            yield f"{about} was refused at {operation.start:.3f}: {operation.result}"


def edits_are_as_answered(case: Case) -> Iterator[str]:
    for operation in case.of("edit"):
        about, result = operation.about, operation.result
        if isinstance(result, KeySaved):
            if result.key.expires_ms != about.end_ms:
                yield f"{about} was answered with {result.key.expires_ms}"
        elif isinstance(result, Refused):
            earlier = [
                each for each in case.of("edit") if each.about.key_id == about.key_id and maybe_before(each, operation)
            ]
            if result.code not in (Code.FORBIDDEN, Code.INVALID_STATE, Code.INVALID_API_KEY) or not earlier:
                yield f"{about} was refused: {result}"


def old_keys_never_work_after_their_grace(case: Case) -> Iterator[str]:
    """Nor does a key that was revoked, or whose end was moved. A charge is what a key that works can do: it acts on the
    look-up of its request, which may have read the key before it ended."""
    look_ups: dict[str, list[Operation]] = {}
    for operation in case.of("resolve"):
        look_ups.setdefault(operation.who, []).append(operation)
    ends: dict[str, list[tuple[Operation, int]]] = {}
    for operation in case.of("rotate"):
        if isinstance(operation.result, tuple):
            ends.setdefault(operation.about.key_id, []).append((operation, operation.result[1].ends_ms))
    for operation in case.of("charge"):
        if not isinstance(operation.result, Metered):
            continue
        read = next(each for each in reversed(look_ups[operation.who]) if each.ended < operation.began)
        for rotation, ends_ms in ends.get(operation.about.key_id, []):
            if _must_see(read, rotation) and case.now_ms(operation.node, operation.start) >= ends_ms:
                late_ms = case.now_ms(operation.node, operation.start) - ends_ms
                yield f"{rotation.about.key_id} worked {late_ms} ms after its end on {operation.node}"


def old_keys_work_until_then(case: Case) -> Iterator[str]:
    """No node sees an end before the grace is over. What is rotated in a session is a program's key, which an older token
    ends."""
    for operation in case.of("rotate"):
        about = operation.about
        if not isinstance(operation.result, tuple) or not about.grace_seconds or about.session_id:
            continue
        least = case.span_ms(operation)[0] + about.grace_seconds * SECOND_MS
        stored = case.memory.keys[about.key_id]
        revoked = [each for each in case.revokes.get(about.key_id, []) if not each.fruitless]
        if (stored.expires_ms or 0) < least or (stored.revoked_ms is not None and not revoked):
            yield f"{about.key_id} ends before its grace is over: {stored}"


def successors_end_with_a_key_that_rotated_itself(case: Case) -> Iterator[str]:
    for key in case.memory.keys.values():
        if key.origin_id is not None and key.revoked_ms is None:
            first = case.memory.keys[key.origin_id]
            gone = [each for each in case.of("revoke") if each.about == first.id and surely(each)]
            made = [
                each for each in case.of("rotate") if isinstance(each.result, tuple) and each.result[1].key.id == key.id
            ]
            if any(surely_before(rotation, revoke) for rotation in made for revoke in gone):
                yield f"{key.id} lives on, but {first.id}, which became it, was revoked"


def _must_see(read: Operation, change: Operation) -> bool:
    if change.node == read.node:
        return change.ended < read.began
    return change.end + LIFE_SECONDS + EPSILON < read.start


def the_days_of_keys_add_up(case: Case) -> Iterator[str]:
    """Each request counts for one key, and all of them together are the day of the account."""
    sums: dict[tuple[str, int], int] = {}
    of_keys: dict[str, int] = {}
    for (tenant_id, key_id, day), used in case.memory.key_usage_days.items():
        sums[tenant_id, day] = sums.get((tenant_id, day), 0) + used
        of_keys[key_id] = of_keys.get(key_id, 0) + used
        if used < 0:
            yield f"{key_id} used {used} on day {day}"
    for place in sorted({*sums, *case.memory.usage_days}):
        if sums.get(place, 0) != case.memory.usage_days.get(place, 0):
            yield f"{place} used {case.memory.usage_days.get(place, 0)}, its keys {sums.get(place, 0)}"
    charges: dict[str, list[Operation]] = {}
    refunds: dict[str, int] = {}
    for operation in case.of("charge"):
        charges.setdefault(operation.about.key_id, []).append(operation)
    for operation in case.of("refund"):
        refunds[operation.about.key_id] = refunds.get(operation.about.key_id, 0) + 1
    for key_id in sorted({*charges, *of_keys}):
        granted = sum(isinstance(each.result, Metered) for each in charges.get(key_id, []))
        doubtful = sum(each.unknown for each in charges.get(key_id, []))
        low, used = granted - refunds.get(key_id, 0), of_keys.get(key_id, 0)
        if not low <= used <= granted + doubtful:
            yield f"{key_id} used {used}, expected {low} to {granted + doubtful}"
