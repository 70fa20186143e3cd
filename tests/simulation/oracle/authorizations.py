"""What people allow programs, computed again one message at a time, and what callers may rely on.

Written from RFC 6749, 7636, 9700 and `docs/adr/`. A refresh token is its place among those of its authorization, not a row.
It knows no batches and no overlays, and no clock but the decision time.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import trio

from actors.clock import DAY_MS, day_of
from actors.keys import messages as keys
from actors.keys.authorizations import Authorization, Authorize, EndAuthorization, ExchangeCode, RefreshText
from actors.keys.authorizer import Tokens
from actors.keys.exposures import EndExposed, ExposedEnded, FoundKey
from actors.keys.messages import Key
from actors.shared.credentials import Kind, digest
from actors.values import Code, Refused
from tests.doubles.tables import Memory
from tests.simulation.history import Operation
from tests.simulation.oracle.case import EPSILON, Case
from tests.simulation.oracle.visits import recorded
from tests.simulation.register import Batch
from tests.simulation.rules import LIFE_SECONDS, RULES

if TYPE_CHECKING:
    from tests.simulation.world import World

OPEN_CODES = 20
NOTICE_MS = 7 * DAY_MS
"""The owner of a key is mailed so long before its end."""


@dataclass(slots=True, eq=False)
class Text:
    """A text of a program's key. `replaced` is the tick and the second at which the next one was stored."""

    key_id: str
    since: int
    ends_ms: int
    replaced: tuple[int, float] | None = None


@dataclass(slots=True, eq=False)
class Grant:
    """What a person allowed, and the tick at which it was stored. `secrets` are the hashes of the halves of refresh tokens,
    newest last."""

    asked: Authorization
    since: int
    key_id: str = ""
    text: bytes = b""
    secrets: list[bytes] = field(default_factory=list)
    repeat_ms: int | None = None

    @property
    def code_ends_ms(self) -> int:
        return self.asked.created_ms + RULES.code_life_ms


class Programs:
    """The expected answers and rows. `texts` has all texts of programs by their hash, `ended` the tick and the second at
    which keys were revoked, `ends` each end that a key had, and `registrations` the beginning of the day of each one."""

    def __init__(self) -> None:
        self.grants: dict[str, Grant] = {}
        self.texts: dict[bytes, Text] = {}
        self.ended: dict[str, tuple[int, float]] = {}
        self.ends: dict[str, list[int]] = {}
        self.registrations: dict[str, int] = {}
        self._suspended: set[str] = set()
        self.met: Counter[str] = Counter()
        self.heard: list[str] = []
        self._shared: dict[bytes, str] = {}
        self._world: World
        self._batch: Batch
        self._keys: dict[str, Key] = {}
        self._audits: list[tuple[str, str, str, dict[str, Any]]] = []
        self._gone: set[bytes] = set()
        self._differs = False

    def judge(self, world: "World", batch: Batch, before: Mapping[str, Key]) -> Iterator[str]:
        """Repeat a transaction; yield the differences. `before` are all keys before it. After a difference the rest of the
        run is not judged, because it follows from other rows."""
        if not self._differs:
            for difference in self._repeat(world, batch, before):
                self._differs = True
                yield difference

    def _repeat(self, world: "World", batch: Batch, before: Mapping[str, Key]) -> Iterator[str]:
        self._world, self._batch, self._keys = world, batch, dict(before)
        self._audits, self._gone = [], set()
        for message, answer in batch.pairs:
            expected, actual = self._do(message, answer), summary(answer)
            if expected is not None and expected != actual:
                yield f"{batch.owner} answered {type(message).__name__} at {batch.now_ms} with {actual}, not {expected}"
        yield from self._rows(world.memory)
        yield from self._records()
        now = batch.tick, trio.current_time()
        for key_id, key in world.memory.keys.items():
            if key.revoked_ms is not None:
                self.ended.setdefault(key_id, now)
            if key.expires_ms is not None and key.expires_ms not in self.ends.setdefault(key_id, []):
                self.ends[key_id].append(key.expires_ms)
        self.heard.clear()

    # One message.

    def _do(self, message: keys.Message, answer: Any) -> str | None:
        match message:
            case Authorize():
                return self._authorize(message.authorization)
            case ExchangeCode():
                return self._exchange(message)
            case RefreshText():
                return self._refresh(message)
            case EndAuthorization():
                return self._end(message)
            case keys.EditKey() if isinstance(answer, keys.KeySaved):
                self._edited(answer.key)
            case keys.Revoke() if isinstance(answer, keys.KeySaved):
                for key_id in answer.ended:
                    self._keys[key_id] = replace(self._keys[key_id], revoked_ms=self._batch.now_ms)
            case keys.Suspend() if isinstance(answer, keys.SuspensionSet):
                self._suspended.add(message.email)
            case keys.Restore() if isinstance(answer, keys.SuspensionSet):
                self._suspended.discard(message.email)
            case EndExposed() if isinstance(answer, ExposedEnded):
                # Of a key that had ended already, the end is announced again.
                for key in [each for each in self._keys.values() if each.hash in answer.changed]:
                    self._keys[key.id] = replace(key, revoked_ms=key.revoked_ms or self._batch.now_ms)
            case keys.RotateKey() if isinstance(answer, keys.Rotated):
                self._keys |= {each.id: each for each in (answer.old, answer.key)}
            case _ if isinstance(answer, keys.KeySaved | keys.Claimed):
                self._keys[answer.key.id] = answer.key
        return None

    def _edited(self, key: Key) -> None:
        """The keys that a key granted end no later."""
        self._keys[key.id] = key
        for each in self._family(key.id):
            if key.expires_ms is not None and (each.expires_ms is None or each.expires_ms > key.expires_ms):
                self._keys[each.id] = replace(each, expires_ms=key.expires_ms)

    def _authorize(self, asked: Authorization) -> str:
        tenant_id = self._tenant_of(asked)
        if tenant_id is None:
            return Code.UNAUTHORIZED
        if asked.email in self._suspended:
            return Code.FORBIDDEN
        if refused := self._no_room(tenant_id):
            return refused
        waiting = [each for each in self.grants.values() if not each.key_id and each.asked.email == asked.email]
        if sum(each.code_ends_ms > self._batch.now_ms for each in waiting) >= OPEN_CODES:
            self.met["a program was refused, because many codes wait"] += 1
            return Code.RATE_LIMITED
        self.grants[asked.id] = Grant(asked, self._batch.tick)
        return "allowed"

    def _exchange(self, exchange: ExchangeCode) -> str:
        found = next((each for each in self.grants.values() if each.asked.code_hash == exchange.code_hash), None)
        if found is None or found.asked.client_hash != exchange.client_hash:
            return self._no("another client had a code")
        asked = found.asked
        if found.key_id:
            self._revoke(found, "replayed_code")
            return self._no("a code was exchanged again")
        if found.code_ends_ms <= self._batch.now_ms:
            return self._no("a code was too late")
        if (asked.redirect_uri, asked.challenge) != (exchange.redirect_uri, exchange.challenge):
            return self._no("a proof was wrong")
        if exchange.resource not in (None, asked.resource):
            return Code.INVALID_TARGET
        tenant_id = self._tenant_of(asked)
        if tenant_id is None:
            return self._no("a code of an ended session came")
        if asked.email in self._suspended:
            return self._no("a code of a suspended account came")
        if refused := self._no_room(tenant_id):
            return self._no(f"a code came after {refused}")
        return self._issue(found, tenant_id, exchange)

    def _issue(self, found: Grant, tenant_id: str, exchange: ExchangeCode) -> str:
        asked, now_ms, ends_ms = found.asked, self._batch.now_ms, found.asked.key_expires_ms
        self._keys[exchange.key_id] = Key(
            exchange.key_id,
            exchange.text.key_hash,
            exchange.text.prefix,
            Kind.SCOPED,
            tenant_id,
            now_ms,
            expires_ms=ends_ms,
            scopes=asked.scopes,
            name=asked.client_name,
            end_notice_ms=ends_ms - NOTICE_MS if ends_ms - NOTICE_MS > now_ms else None,
        )
        found.key_id = exchange.key_id
        self._shared[exchange.text.refresh_hash] = asked.id
        facts = {"scopes": list(asked.scopes), "name": asked.client_name, "expiresAt": ends_ms}
        self._audit("key.issued", found, found.key_id, facts | {"resource": asked.resource})
        self.met["a code was exchanged"] += 1
        return self._renew(found, exchange.text.key_hash, exchange.text.secret_hash)

    def _renew(self, found: Grant, text: bytes, secret: bytes) -> str:
        key, ends_ms = self._keys[found.key_id], self._batch.now_ms + RULES.access_life_ms
        ends_ms = ends_ms if key.expires_ms is None else min(ends_ms, key.expires_ms)
        self._keys[key.id] = replace(key, hash=text, text_expires_ms=ends_ms)
        if found.text:
            self.texts[found.text].replaced = self._batch.tick, trio.current_time()
            self._gone.add(found.text)
        found.text = text
        found.secrets.append(secret)
        self.texts[text] = Text(key.id, self._batch.tick, ends_ms)
        return self._described(found)

    def _refresh(self, refresh: RefreshText) -> str:
        found = self.grants.get(self._shared.get(refresh.text.refresh_hash, ""))
        if found is None or found.asked.client_hash != refresh.client_hash:
            return self._no("another client had a refresh token")
        key = self._keys[found.key_id]
        if key.revoked_ms is not None or key.successor_id is not None or not self._lives(key):
            if key.revoked_ms is None and refresh.secret_hash != found.secrets[-1]:
                self._revoke(found, "replayed_refresh_token")
                return self._no("an older refresh token ended a key that was over")
            return self._no("a refresh token came after its key had ended")
        if refresh.resource not in (None, found.asked.resource):
            return Code.INVALID_TARGET
        if any(scope not in found.asked.scopes for scope in refresh.scopes or ()):
            return Code.INVALID_SCOPE
        newest, *older = reversed(found.secrets)
        if refresh.secret_hash == newest:
            found.repeat_ms = self._batch.now_ms + RULES.refresh_repeat_ms
            self.met["a text was replaced"] += 1
            return self._renew(found, refresh.text.key_hash, refresh.text.secret_hash)
        last = bool(older) and refresh.secret_hash == older[0]
        if last and self._batch.now_ms < (found.repeat_ms or 0):
            self.met["a refresh was answered again"] += 1
            return self._described(found)
        self._revoke(found, "replayed_refresh_token")
        return self._no("a refresh came again too late" if last else "an older refresh token came")

    def _end(self, order: EndAuthorization) -> str:
        found = self.grants.get(self._shared.get(order.refresh_hash or b"", ""))
        if order.refresh_hash is None:
            found = next((each for each in self.grants.values() if each.key_id == order.key_id), None)
        if found is None or found.asked.client_hash != order.client_hash:
            self.met["another client ended nothing"] += 1
            return "ended []"
        ended = self._revoke(found, "client")
        self.met["a program ended its key"] += bool(ended)
        return f"ended {sorted(ended)}"

    def _revoke(self, found: Grant, why: str) -> list[str]:
        """End the key of a program, and the keys that it granted."""
        key = self._keys[found.key_id]
        if key.revoked_ms is not None:
            return [key.id]
        family = [key, *(each for each in self._family(key.id) if each.revoked_ms is None)]
        self.met["a program's key took another along"] += len(family) - 1
        for each in family:
            self._keys[each.id] = replace(each, revoked_ms=self._batch.now_ms)
            self._gone.add(each.hash)
            self._audit("key.revoked", found, each.id, {"reason": why} if each is key else {"endedWith": key.id})
        return [each.id for each in family]

    def _family(self, key_id: str) -> list[Key]:
        granted = [each for each in self._keys.values() if each.granter_id == key_id]
        return [*granted, *(other for each in granted for other in self._family(each.id))]

    def _tenant_of(self, asked: Authorization) -> str | None:
        """The account of a person whose session lives."""
        seat = self._world.visits.seats.get(asked.session_id)
        account = self._world.memory.accounts.get(asked.email)
        lives = seat is not None and seat.email == asked.email and seat.lives(self._batch.now_ms)
        return account.tenant_id if lives and account is not None else None

    def _no_room(self, tenant_id: str) -> str:
        own = [key for key in self._keys.values() if key.tenant_id == tenant_id]
        made = sum(day_of(key.created_ms) >= day_of(self._batch.now_ms) for key in own) + self._promised(tenant_id)
        if made >= RULES.keys_per_day:
            return Code.RATE_LIMITED
        live = [key for key in own if key.revoked_ms is None and key.successor_id is None and self._lives(key)]
        return Code.KEY_LIMIT if sum(key.scopes is not None for key in live) >= RULES.scoped_keys_per_account else ""

    def _promised(self, tenant_id: str) -> int:
        """The devices that an account has approved and that have not fetched their keys."""
        memory = self._world.memory
        [email] = [each.email for each in memory.accounts.values() if each.tenant_id == tenant_id]
        waiting = (each for each in memory.devices.values() if each.email == email and each.status == "approved")
        return sum(self._batch.now_ms < each.expires_ms for each in waiting)

    def _lives(self, key: Key) -> bool:
        return key.expires_ms is None or self._batch.now_ms < key.expires_ms

    def _no(self, why: str) -> str:
        self.met[why] += 1
        return Code.INVALID_GRANT

    def _described(self, found: Grant) -> str:
        key = self._keys[found.key_id]
        return f"key {key.id} text {key.hash.hex()} until {key.text_expires_ms}"

    def _audit(self, action: str, found: Grant, key_id: str, changes: dict[str, Any]) -> None:
        self._audits.append((action, key_id, found.asked.session_id, changes))

    # Rows.

    def _rows(self, memory: Memory) -> Iterator[str]:
        owner = self._batch.owner
        if memory.authorizations.keys() != self.grants.keys():
            yield f"{owner} left authorizations {sorted(memory.authorizations.keys() ^ self.grants.keys())} wrongly"
        for row_id, grant in self.grants.items():
            row = memory.authorizations.get(row_id, grant.asked)
            newest, spent, *_ = [*reversed(grant.secrets), None, None]
            expected = grant.key_id or None, newest, spent, grant.repeat_ms
            if (row.key_id, row.secret_hash, row.spent_hash, row.repeat_until_ms) != expected:
                yield f"{owner} left {row}, not with {expected}"
            if grant.key_id and memory.keys.get(grant.key_id) != self._keys[grant.key_id]:
                yield f"{owner} left {memory.keys.get(grant.key_id)}, not {self._keys[grant.key_id]}"
        ours = {grant.key_id for grant in self.grants.values()}
        for key in memory.keys.values():
            if key.granter_id in ours and key.revoked_ms is None and memory.keys[key.granter_id].revoked_ms is not None:
                yield f"{owner} left {key.id} alive, but {key.granter_id}, which granted it, is revoked"
        for name in sorted(each.hex() for each in self._gone):
            if f"key:{name}" not in self.heard:
                yield f"{owner} told no node that the text {name} has ended"

    def _records(self) -> Iterator[str]:
        """The records of the transaction about keys of programs, but for those that other messages brought. Keys that end
        together have them in any order."""
        ours = {grant.key_id for grant in self.grants.values()} | {place[1] for place in self._audits}
        others = {message.audit.id for message in self._batch.messages if hasattr(message, "audit")}
        others |= {each.audit.id for each in self._exposed()}
        actual = [
            recorded(audit)
            for audit in self._batch.audits
            if audit.target_id in ours and audit.id not in others and not self._goes_along(audit.changes)
        ]
        if sorted(actual, key=_place) != sorted(self._audits, key=_place):
            yield f"{self._batch.owner} recorded {actual}, not {self._audits}"

    def _goes_along(self, changes: str) -> bool:
        """Whether a record is of a key that ended, or whose end was moved, with another in a message of its owner, or in a
        report of keys that were found in public."""
        facts = json.loads(changes)
        roots = {message.key_id for message in self._batch.messages if isinstance(message, keys.Revoke | keys.EditKey)}
        exposed = {each.hash for each in self._exposed()}
        roots |= {key.id for key in self._keys.values() if key.hash in exposed}
        return facts.get("endsWith") in roots or facts.get("endedWith") in roots

    def _exposed(self) -> Iterator[FoundKey]:
        for message in self._batch.messages:
            if isinstance(message, EndExposed):
                yield from message.found


def _place(record: tuple[str, str, str, dict[str, Any]]) -> tuple[str, str]:
    return record[:2]


def summary(answer: Any) -> str:
    """An answer in the words of this module."""
    match answer:
        case keys.Authorized(key=Key() as key):
            return f"key {key.id} text {key.hash.hex()} until {key.text_expires_ms}"
        case keys.Authorized():
            return "allowed"
        case keys.KeysEnded(ended):
            return f"ended {sorted(key.id for key in ended)}"
        case Refused():
            return answer.code
    return repr(answer)


# At the end.


def _answered(case: Case, kind: str) -> list[tuple[Operation, Tokens]]:
    return [(each, each.result) for each in case.of(kind) if isinstance(each.result, Tokens)]


def a_code_opens_one_key(case: Case) -> Iterator[str]:
    codes = Counter(operation.about.code for operation, _ in _answered(case, "exchange"))
    for code, times in codes.items():
        if times > 1:
            yield f"a code was exchanged {times} times: {code[:12]}"


def registrations_are_forgotten_after_30_days_unless_they_are_used(case: Case) -> Iterator[str]:
    programs = case.world.programs
    for operation in case.of("allow"):
        since_ms, answer = programs.registrations.get(operation.about.target), operation.result
        if since_ms is None:
            continue
        grants = [each for each in programs.grants.values() if each.asked.client_hash == digest(operation.about.target)]
        own = [each.since for each in grants if isinstance(answer, str) and each.asked.code_hash == digest(answer)]
        first_ms, last_ms = (now_ms - 30 * DAY_MS for now_ms in case.span_ms(operation))
        forgotten = isinstance(answer, Refused) and answer.code is Code.INVALID_REQUEST
        if forgotten and (last_ms < since_ms or any(each.since < operation.began for each in grants)):
            yield f"{operation.node} forgot a program that registered at {since_ms}, at {operation.start:.3f}"
        if isinstance(answer, str) and first_ms >= since_ms and all(each.since >= min(own) for each in grants):
            yield f"{operation.node} knew a program that registered at {since_ms}, at {operation.start:.3f}"
        programs.met["a registration was forgotten"] += forgotten
        programs.met["a registration was in use after 30 days"] += isinstance(answer, str) and first_ms >= since_ms


def the_same_refresh_token_has_the_same_answer(case: Case) -> Iterator[str]:
    answers: dict[str, set[tuple[str, str, str]]] = {}
    for operation, tokens in _answered(case, "refresh"):
        answer = tokens.access_token, tokens.refresh_token, tokens.key.id
        answers.setdefault(operation.about.token, set()).add(answer)
    for several in answers.values():
        if len(several) > 1:
            yield f"one refresh token had {len(several)} answers: {sorted(several)}"


def tokens_are_stored(case: Case) -> Iterator[str]:
    """A program gets the text that is stored, and is told no later end than its own."""
    for kind in ("exchange", "refresh"):
        for operation, tokens in _answered(case, kind):
            text = case.world.programs.texts.get(digest(tokens.access_token))
            if text is None or text.key_id != tokens.key.id:
                yield f"{tokens.key.id} was handed out with a text that is not stored: {text}"
                continue
            left_ms = text.ends_ms - case.span_ms(operation)[0]
            if tokens.expires_seconds * 1_000 > max(0, left_ms):
                yield f"{tokens.key.id} was said to work for {tokens.expires_seconds} s, but ends in {left_ms} ms"


def texts_work_on_all_nodes_until_they_are_replaced(case: Case) -> Iterator[str]:
    """A node that replaced a text, or ended its key, knows it at once; others within the life of a cached key."""
    programs, own = case.world.programs, _own_changes(case)
    for operation in case.of("resolve"):
        text = programs.texts.get(digest(operation.about))
        if text is None or operation.unknown or operation.fruitless:
            continue
        found = operation.result
        if found is None:
            if text.since < operation.began and (text.replaced is None or text.replaced[0] > operation.ended):
                yield f"{operation.node} does not know a text of {text.key_id} at {operation.start:.3f}"
            continue
        ended = programs.ended.get(text.key_id) if found.key.revoked_ms is None else None
        for what, at in (("replaced", text.replaced), ("revoked", ended)):
            if at is not None and at[1] + LIFE_SECONDS + EPSILON < operation.start:
                yield f"{operation.node} knew {text.key_id} {operation.start - at[1]:.3f} s after its text was {what}"
        seen = own.get((operation.node, digest(operation.about)), own.get((operation.node, text.key_id)))
        if seen is not None and seen < operation.began and found.key.revoked_ms is None:
            yield f"{operation.node} ended a text of {text.key_id}, and knew it at {operation.start:.3f}"


def _own_changes(case: Case) -> dict[tuple[str, Any], int]:
    """When nodes had answered that they replaced a text, by its hash, or ended a key, by its id."""
    given = {
        tokens.refresh_token: tokens.access_token
        for kind in ("exchange", "refresh")
        for _, tokens in _answered(case, kind)
    }
    seen: dict[tuple[str, Any], int] = {}
    for operation, _ in _answered(case, "refresh"):
        if operation.about.token in given:
            seen.setdefault((operation.node, digest(given[operation.about.token])), operation.ended)
    for operation in case.of("end token"):
        if isinstance(operation.result, keys.KeysEnded):
            for key in operation.result.keys:
                seen.setdefault((operation.node, key.id), operation.ended)
    return seen


def texts_are_used_until_their_end_and_never_after(case: Case) -> Iterator[str]:
    """A text that is refused was replaced, or has ended, or its key has."""
    programs = case.world.programs
    for operation in case.of("use"):
        text = programs.texts.get(digest(operation.about))
        if text is None:
            continue
        now_ms, refused = case.now_ms(operation.node, operation.start), operation.result
        if refused is None:
            if now_ms >= text.ends_ms:
                yield f"a text of {text.key_id} worked {now_ms - text.ends_ms} ms after its end on {operation.node}"
            continue
        if refused.code is Code.KEY_EXPIRED:
            fair = now_ms >= min(programs.ends.get(text.key_id, [now_ms + 1]))
        else:
            changes = [each[0] for each in (text.replaced, programs.ended.get(text.key_id)) if each is not None]
            fair = now_ms >= text.ends_ms or any(tick <= operation.ended for tick in changes)
        if not fair:
            yield f"a text of {text.key_id} was refused at {operation.start:.3f}: {refused}"
