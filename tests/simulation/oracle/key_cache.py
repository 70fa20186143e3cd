"""The promise of the key cache: cached keys are fresh enough."""

from collections.abc import Iterator, Sequence
from functools import partial

from actors.keys.messages import Claimed, Key, Resolved
from actors.shared.credentials import digest
from actors.values import Tier
from tests.simulation.history import Operation
from tests.simulation.oracle.case import EPSILON, Case, possible, surely
from tests.simulation.rules import LIFE_SECONDS


def look_ups_are_fresh(case: Case) -> Iterator[str]:
    """A node sees its own changes at once, and those of others within the life of a cached key."""
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
            yield f"{operation.node} answered a look-up with another key"
        yield from stale(case, operation, found.key, claims.get(found.key.id, []))
        if found.tier is not Tier.ANONYMOUS and found.key.tenant_id in case.accounts:
            writes = case.tier_writes(found.key.tenant_id)
            if not possible(writes, found.tier, operation, partial(_must_see, operation)):
                yield f"{operation.node} saw {found.tier} at {operation.start:.3f} for {found.email}"


def stale(case: Case, read: Operation, key: Key, claims: Sequence[Operation]) -> Iterator[str]:
    revokes = [each for each in case.revokes.get(key.id, []) if surely(each) and _must_see(read, each, key)]
    if revokes and key.revoked_ms is None:
        yield f"{read.node} saw {key.id} alive at {read.start:.3f}, {_since(read, revokes)}"
    seen = [each for each in claims if _must_see(read, each)]
    if seen and (key.expires_ms is not None or key.tenant_id != seen[0].result.key.tenant_id):
        yield f"{read.node} saw {key.id} unclaimed at {read.start:.3f}, {_since(read, seen)}"


def _must_see(read: Operation, change: Operation, revoked: Key | None = None) -> bool:
    """A revocation is its node's own change only of the keys that it ended: others of the family ended elsewhere before."""
    if change.node == read.node and (revoked is None or revoked.hash in change.result.changed):
        return change.ended < read.began
    return change.end + LIFE_SECONDS + EPSILON < read.start


def _since(read: Operation, changes: Sequence[Operation]) -> str:
    return f"{read.start - changes[0].end:.3f} s after {changes[0].node} changed it"
