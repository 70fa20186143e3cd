"""Bugs to plant in what people allow programs, one at a time: see `key_bugs`."""

from dataclasses import replace
from typing import Any

import trio

from actors.clock import DAY_MS
from actors.keys import authorizing
from actors.keys import state as key_state
from actors.keys.authorizations import Authorization, EndAuthorization, ExchangeCode, RefreshText
from actors.keys.authorizer import ClientAuthorizer, Tokens
from actors.keys.messages import Answer, Key, Resolved
from actors.keys.state import Decision, LockSet
from actors.keys.store import Decide
from actors.values import Account, AuditRecord, BatchId, Refused, Steps
from service.api import authentication
from service.api.operations import authorizations
from tests.simulation.identity import RecordedKeys, RegisteredKeys
from tests.simulation.planting import Bugs, replaced
from tests.simulation.rules import Scene

BUGS = Bugs(Scene.PEOPLE)

_BATCH: Any = key_state._Batch


# Codes.


@BUGS.around(_BATCH, "_end_authorized")
def replayed_code_keeps_its_key(right: Any, unit: Any, found: Authorization, record: AuditRecord, why: str) -> Any:
    """The key of a code that comes again stays."""
    return right(unit, found, record, why) if why != "replayed_code" else iter(())


@BUGS.part("key_store")
class CodeReadOutside(RecordedKeys):
    """A code is read before the transaction locks it, so that two nodes exchange it."""

    async def transact(self, batch_id: BatchId, lock_set: LockSet, decide: Decide, now_ms: int) -> Decision:
        found = self._snapshot(lock_set, now_ms).authorizations

        def outdated(locked: Any) -> Any:
            return decide(replace(locked, authorizations=found))

        decision: Decision = await super().transact(batch_id, lock_set, outdated, now_ms)
        return decision


@BUGS.around(_BATCH, "_exchange")
def code_exchanged_again(right: Any, unit: Any, exchange: ExchangeCode) -> Any:
    """A code is exchanged for one key after the other."""
    found = unit._authorization(exchange.code_hash)
    if found is not None and found.key_id is not None:
        unit._save_authorization(replace(found, key_id=None))
    return right(unit, exchange)


@BUGS.around(_BATCH, "_exchange")
def authorization_code_without_end(right: Any, unit: Any, exchange: ExchangeCode) -> Any:
    """An authorization code does not expire."""
    found = unit._authorization(exchange.code_hash)
    if found is not None and found.key_id is None:
        unit._save_authorization(replace(found, expires_ms=unit._now_ms + 1))
    return right(unit, exchange)


@BUGS.around(_BATCH, "_exchange")
def code_for_any_client(right: Any, unit: Any, exchange: ExchangeCode) -> Any:
    """A client exchanges the code of another."""
    found = unit._authorization(exchange.code_hash)
    return right(unit, exchange if found is None else replace(exchange, client_hash=found.client_hash))


@BUGS.function(authorizing, "constant_time_equal")
def proof_not_compared(one: bytes, other: bytes) -> bool:
    """A code is exchanged without the verifier of its client."""
    return True


@BUGS.around(_BATCH, "_issue_authorized")
def ended_session_allows(right: Any, unit: Any, found: Authorization, exchange: ExchangeCode) -> Answer:
    """The code of a session that has ended is exchanged."""
    unit._snapshot.live_sessions |= {found.session_id}
    answer: Answer = right(unit, found, exchange)
    return answer


def _restored(right: Any, unit: Any, *rest: Any) -> Any:
    """Decide as if no account were suspended."""

    def account(email: str) -> Account | None:
        found: Account | None = _BATCH._account(unit, email)
        return None if found is None else replace(found, suspended_ms=None)

    unit._account = account
    try:
        return right(unit, *rest)
    finally:
        del unit._account


@BUGS.around(_BATCH, "_issue_authorized")
def suspended_account_gets_its_key(right: Any, unit: Any, found: Authorization, exchange: ExchangeCode) -> Answer:
    """A code that an account allowed before it was suspended is exchanged."""
    answer: Answer = _restored(right, unit, found, exchange)
    return answer


@BUGS.around(_BATCH, "_authorize")
def suspended_account_allows(right: Any, unit: Any, order: Any) -> Answer:
    """A suspended account allows programs."""
    answer: Answer = _restored(right, unit, order)
    return answer


@BUGS.around(_BATCH, "_issue_authorized")
def key_of_a_program_not_mailed(right: Any, unit: Any, found: Authorization, exchange: ExchangeCode) -> Answer:
    """The owner of the account hears nothing of a program's key."""
    mails = len(unit.decision.outbox)
    answer: Answer = right(unit, found, exchange)
    del unit.decision.outbox[mails:]
    return answer


@BUGS.function(authorizing, "_by")
def recorded_for_nobody(found: Authorization, record: AuditRecord) -> AuditRecord:
    """What a program got is not recorded in the name of the session that allowed it."""
    return record


@BUGS.function(_BATCH, "_no_room")
def keys_of_programs_unlimited(unit: Any, tenant_id: str) -> None:
    """The keys of programs do not count for the limit of scoped keys."""


BUGS.add(
    "waiting-codes-unlimited",
    "Any number of codes of an account wait.",
    replaced(authorizing, "OPEN_CODES", 10_000),
)


# Refresh tokens.


@BUGS.around(_BATCH, "_refresh")
def older_refresh_token_works(right: Any, unit: Any, refresh: RefreshText) -> Any:
    """A refresh token works after the next one was used."""
    found = unit._authorization(refresh.text.refresh_hash)
    older = found is not None and refresh.secret_hash not in (found.secret_hash, found.spent_hash)
    return right(unit, replace(refresh, secret_hash=found.secret_hash) if older else refresh)


@BUGS.around(_BATCH, "_refresh")
def refresh_repeated_without_end(right: Any, unit: Any, refresh: RefreshText) -> Any:
    """A refresh token is answered again for as long as it is the last one."""
    found = unit._authorization(refresh.text.refresh_hash)
    if found is not None and refresh.secret_hash == found.spent_hash:
        unit._save_authorization(replace(found, repeat_until_ms=unit._now_ms + 1))
    return right(unit, refresh)


@BUGS.around(_BATCH, "_refresh")
def lost_refresh_revokes(right: Any, unit: Any, refresh: RefreshText) -> Any:
    """A refresh whose answer was lost revokes the key when it comes again."""
    found = unit._authorization(refresh.text.refresh_hash)
    if found is not None and refresh.secret_hash == found.spent_hash:
        unit._save_authorization(replace(found, repeat_until_ms=unit._now_ms))
    return right(unit, refresh)


@BUGS.part("keys")
class TextsOfEachNode(RegisteredKeys):
    """The answer to a repeated refresh differs on another node."""

    def __init__(self, *arguments: Any, node: str, **named: Any) -> None:
        super().__init__(*arguments, node=node, **named)
        self._own = node.encode()

    def _access_token(self, token: str) -> str:
        right, self._secret = self._secret, self._secret + self._own
        try:
            return super()._access_token(token)
        finally:
            self._secret = right


@BUGS.around(_BATCH, "_refresh")
def replaced_text_not_announced(right: Any, unit: Any, refresh: RefreshText) -> Steps[Answer]:
    """No node hears that a text was replaced."""
    told = len(unit.decision.touched_keys)
    answer: Answer = yield from right(unit, refresh)
    if not isinstance(answer, Refused):
        del unit.decision.touched_keys[told:]
    return answer


@BUGS.part("keys")
class ReplacedTextStays(RegisteredKeys):
    """The node that replaces a text forgets the old one only when it hears of it."""

    async def refresh(self, *arguments: Any, **named: Any) -> Tokens | Refused:
        tokens = await super().refresh(*arguments, **named)
        return tokens if isinstance(tokens, Refused) else replace(tokens, changed=())


@BUGS.function(_BATCH, "_text_end_ms")
def text_lives_as_long_as_its_key(unit: Any, key_ends_ms: int | None) -> int | None:
    """The text of a program's key ends only with the key."""
    return key_ends_ms or unit._now_ms + authorizing.KEPT_MS


@BUGS.around(authentication, "refused_key")
def ended_text_let_in(right: Any, resolved: Resolved | None, now_ms: int) -> Refused | None:
    """A text works after its end."""
    kept = None if resolved is None else replace(resolved, key=replace(resolved.key, text_expires_ms=None))
    refused: Refused | None = right(kept, now_ms)
    return refused


@BUGS.function(_BATCH, "_key_of")
def revoked_key_refreshed(unit: Any, found: Authorization) -> Key | None:
    """A key that its owner revoked is refreshed."""
    key: Key | None = unit._key(found.key_id)
    return key


@BUGS.around(_BATCH, "_end_authorized")
def key_that_is_over_stays(right: Any, unit: Any, found: Authorization, record: AuditRecord, why: str) -> Any:
    """A refresh token that comes again leaves a key that is over, which may be refreshed where a clock is behind."""
    stays = why == "replayed_refresh_token" and unit._key_of(found) is None
    return iter(()) if stays else right(unit, found, record, why)


# Ends.


@BUGS.around(_BATCH, "_end_authorization")
def anybody_ends_tokens(right: Any, unit: Any, order: EndAuthorization) -> Any:
    """A client ends the key of another."""
    found = unit._authorization(order.refresh_hash or order.key_id or "")
    return right(unit, order if found is None else replace(order, client_hash=found.client_hash))


@BUGS.around(_BATCH, "_end_authorized")
def program_ends_alone(right: Any, unit: Any, *rest: Any) -> Any:
    """The keys that a program's key granted outlive it. A real bug of the first version."""
    unit._family = lambda key: iter((key,))
    try:
        return (yield from right(unit, *rest))
    finally:
        del unit._family


# Registrations.


BUGS.add(
    "registration-never-forgotten",
    "A registration that is not used stays.",
    replaced(authorizations, "LIFE_MS", 10_000 * DAY_MS),
)
BUGS.add(
    "registration-forgotten-a-day-early",
    "A registration that is not used is forgotten after 29 days.",
    replaced(authorizations, "LIFE_MS", 29 * DAY_MS),
)


@BUGS.function(ClientAuthorizer, "is_client_in_use")
async def registration_in_use_forgotten(authorizer: Any, client_id: str, since_ms: int) -> bool:
    """A program that is used has to register again after 30 days."""
    await trio.lowlevel.checkpoint()
    return False
