"""Sign-ins and sessions, computed again one message at a time.

Written from `docs/adr/`, not from the product: a code is what happened since it was sent, not a row. Knows no batches,
no overlays, and no clock but the one a transaction was decided with.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from actors.clock import DAY_MS, SECOND_MS, day_of
from actors.credentials import code_from, code_proof, digest
from actors.sessions import messages as sessions
from actors.values import AuditRecord, OutboxMessage, Refused
from storage.memory.tables import Memory
from tests.simulation.register import Kept
from tests.simulation.rules import SECRET, SESSIONS

SUBJECT = digest("sign-in")


@dataclass(slots=True, eq=False)
class Codes:
    """The codes sent to one email, each with the day it counted for, and the fate of the last."""

    sent: list[tuple[int, int]] = field(default_factory=list)
    proof: bytes = b""
    guesses: int = 0
    used: bool = False

    def send(self, proof: bytes, now_ms: int) -> str:
        rules = SESSIONS.codes
        day = max([day_of(now_ms), *(day for _, day in self.sent)])
        if self.sent and now_ms < self.sent[-1][0] + rules.pause_ms:
            return waiting(self.sent[-1][0] + rules.pause_ms - now_ms)
        if sum(sent_day == day for _, sent_day in self.sent) >= rules.per_day:
            return waiting(DAY_MS - now_ms % DAY_MS)
        self.sent.append((now_ms, day))
        self.proof, self.guesses, self.used = proof, 0, False
        return "sent"

    def guess(self, proof: bytes, now_ms: int) -> bool:
        rules = SESSIONS.codes
        if not self.sent or self.used or now_ms >= self.sent[-1][0] + rules.life_ms or self.guesses >= rules.attempts:
            return False
        self.guesses += 1
        self.used = proof == self.proof
        return self.used

    def lost(self, proof: bytes, now_ms: int) -> str:
        """Why a code that was once right is no longer valid."""
        if proof != self.proof:
            return "older than another"
        if self.used:
            return "used"
        return "spent by guesses" if self.guesses >= SESSIONS.codes.attempts else "too late"


@dataclass(frozen=True, slots=True)
class Seat:
    """The state of a session: it lives until `ends_ms` unless `ended`."""

    email: str
    token_hash: bytes
    seen_ms: int
    ends_ms: int
    ended: bool = False

    def lives(self, now_ms: int) -> bool:
        return not self.ended and now_ms < self.ends_ms


class Visits:
    """The expected answers and rows. `versions` has each state of a session with its first tick."""

    def __init__(self) -> None:
        self.codes: dict[str, Codes] = {}
        self.seats: dict[str, Seat] = {}
        self.versions: dict[str, list[tuple[int, Seat]]] = {}
        self.met: Counter[str] = Counter()
        self._proofs: set[bytes] = set()
        self._kept: Kept
        self._accounts: set[str] = set()
        self._told: list[tuple[str, str, str, dict[str, Any]]] = []
        self._sent: list[OutboxMessage] = []

    def judge(self, memory: Memory, kept: Kept) -> Iterator[str]:
        """Repeat a transaction; yield the differences."""
        self._kept, self._accounts, self._told, self._sent = kept, set(kept.accounts), [], []
        before = dict(self.seats)
        for message, answer in kept.pairs:
            expected, told = self._do(message), said(answer)
            if expected != told:
                yield f"{kept.owner} answered {_named(message)} at {kept.now_ms} with {told}, and not with {expected}"
        yield from self._rows(memory)
        for session_id, seat in self.seats.items():
            if before.get(session_id) is not seat:
                self.versions.setdefault(session_id, []).append((kept.tick, seat))

    # One message.

    def _do(self, message: sessions.Message) -> str:
        match message:
            case sessions.StartSignIn():
                return self._start(message)
            case sessions.CompleteSignIn():
                return self._complete(message)
            case sessions.Touch():
                return self._touch(message.session_id)
            case sessions.EndSession():
                return self._end(message)
            case _:
                raise AssertionError(f"nobody in the simulation has a passkey: {message}")

    def _start(self, start: sessions.StartSignIn) -> str:
        right = code_proof(SECRET, SUBJECT, start.email, code_from(SECRET, start.message.nonce))
        answer = self.codes.setdefault(start.email, Codes()).send(right, self._kept.now_ms)
        self._proofs.add(right)
        if answer == "sent":
            self._sent.append(start.message)
        return answer

    def _complete(self, complete: sessions.CompleteSignIn) -> str:
        session, now_ms = complete.session, self._kept.now_ms
        codes = self.codes.get(session.email)
        if codes is None or not codes.guess(complete.proof, now_ms):
            if codes is not None and complete.proof in self._proofs:
                self.met[f"a right code was {codes.lost(complete.proof, now_ms)}"] += 1
            return "invalid_code"
        self.met[f"signed in at guess {codes.guesses}"] += 1
        changes: dict[str, Any] = {}
        if session.email not in self._accounts:
            self._accounts.add(session.email)
            changes["tenantId"] = [None, complete.tenant_id]
        live = [id for id, seat in self.seats.items() if seat.email == session.email and seat.lives(now_ms)]
        live.sort(key=lambda id: (self.seats[id].seen_ms, id))
        surplus = len(live) + 1 - SESSIONS.per_account
        if surplus > 0:
            self.met["a session ended for a newer one"] += 1
            changes["ended"] = live[:surplus]
            for session_id in live[:surplus]:
                self._close(session_id)
        began_ms = session.created_ms
        self.seats[session.id] = Seat(session.email, session.token_hash, began_ms, began_ms + SESSIONS.life_ms)
        self._told.append(("session.started", session.id, session.id, changes))
        return self._as_kept(session.id)

    def _touch(self, session_id: str) -> str:
        seat, now_ms = self.seats.get(session_id), self._kept.now_ms
        if seat is None or not seat.lives(now_ms):
            self.met["a use came after the session's end"] += 1
            return "unauthorized"
        if now_ms - seat.seen_ms >= SESSIONS.touch_ms:
            self.seats[session_id] = replace(seat, seen_ms=now_ms, ends_ms=now_ms + SESSIONS.life_ms)
            self.met["a session slid"] += 1
        return self._as_kept(session_id)

    def _end(self, end: sessions.EndSession) -> str:
        seat = self.seats.get(end.session_id)
        if seat is None or seat.email != end.email:
            return "not_found"
        self.met["a session was ended again"] += seat.ended
        if seat.lives(self._kept.now_ms):
            self._close(end.session_id)
            self.met["a session was ended by another"] += end.session_id != end.audit.actor_id
            self._told.append(("session.ended", end.session_id, end.audit.actor_id, {}))
        return self._as_kept(end.session_id)

    def _close(self, session_id: str) -> None:
        seat = self.seats[session_id]
        self.seats[session_id] = replace(seat, ended=True, ends_ms=min(seat.ends_ms, self._kept.now_ms))

    def _as_kept(self, session_id: str) -> str:
        seat = self.seats[session_id]
        return f"kept {session_id} seen {seat.seen_ms} ends {seat.ends_ms} ended {seat.ended}"

    # Rows.

    def _rows(self, memory: Memory) -> Iterator[str]:
        kept = self._kept
        stored = {
            session.id: Seat(
                session.email, session.token_hash, session.seen_ms, session.expires_ms, session.revoked_ms is not None
            )
            for session in memory.sessions.values()
        }
        for session_id in sorted({*stored, *self.seats}):
            if stored.get(session_id) != self.seats.get(session_id):
                yield f"{kept.owner} left {session_id} as {stored.get(session_id)}, not as {self.seats.get(session_id)}"
        if [letter.id for letter in kept.letters] != [letter.id for letter in self._sent]:
            yield f"{kept.owner} put {kept.letters} into the outbox, not {self._sent}"
        if set(memory.accounts) != self._accounts:
            yield f"{kept.owner} left accounts {sorted(set(memory.accounts) ^ self._accounts)} wrongly"
        told = [recorded(audit) for audit in kept.audits]
        if told != self._told:
            yield f"{kept.owner} recorded {told}, not {self._told}"


def waiting(wait_ms: int) -> str:
    """The refusal with its waiting time, rounded up to whole seconds."""
    return f"rate_limited for {-(-wait_ms // SECOND_MS)} s"


def said(answer: Any) -> str:
    """An answer in the words of this module."""
    match answer:
        case sessions.CodeSent():
            return "sent"
        case sessions.Kept(session):
            ended = session.revoked_ms is not None
            return f"kept {session.id} seen {session.seen_ms} ends {session.expires_ms} ended {ended}"
        case Refused(retry_after_seconds=int() as seconds):
            return f"{answer.code} for {seconds} s"
        case Refused():
            return str(answer.code)
    return repr(answer)


def recorded(audit: AuditRecord) -> tuple[str, str, str, dict[str, Any]]:
    """The action, target, agent and changes of a record."""
    return audit.action, audit.target_id, audit.actor_id, json.loads(audit.changes)


def _named(message: Any) -> str:
    whom = getattr(message, "email", None) or getattr(message, "session_id", None)
    return f"{type(message).__name__} of {whom or message.session.email}"
