"""The rules of sign-ins and sessions. Pure; source: ADR 0011 and 0012.

Takes a snapshot of locked rows and messages, returns changes and answers. Later messages of a batch see the changes of
earlier ones.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from actors.codes import CodeRules, guess, send, wrong_code
from actors.sessions.messages import (
    Answer,
    CodeSent,
    CompleteSignIn,
    EndSession,
    Kept,
    Message,
    Session,
    SignIn,
    StartSignIn,
    Touch,
)
from actors.times import DAY_MS, HOUR_MS
from actors.values import Account, AuditRecord, Code, OutboxMessage, Refused, Tenant, Tier


@dataclass(frozen=True, slots=True)
class SessionRules:
    """Limits of sign-ins and sessions. Times are in milliseconds."""

    life_ms: int = 30 * DAY_MS
    touch_ms: int = HOUR_MS
    per_account: int = 20
    codes: CodeRules = field(default_factory=CodeRules)


@dataclass(slots=True)
class Snapshot:
    """The rows of a batch. The same class holds the changes of a decision. `sessions` has the named ones, and all live
    ones of emails that complete a sign-in."""

    sign_ins: dict[str, SignIn] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)


@dataclass(slots=True)
class Decision:
    """The changes to commit, and one answer for each message in order. `tenants` are those of new accounts."""

    changed: Snapshot = field(default_factory=Snapshot)
    tenants: list[Tenant] = field(default_factory=list)
    outbox: list[OutboxMessage] = field(default_factory=list)
    audits: list[AuditRecord] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LockSet:
    """The rows that a batch needs, each sorted. `entering` are the emails that complete a sign-in: their accounts and
    live sessions are read, too."""

    emails: tuple[str, ...]
    entering: tuple[str, ...]
    session_ids: tuple[str, ...]


def rows_to_lock(messages: Iterable[Message]) -> LockSet:
    """The rows to lock for a batch, sorted, so that two nodes lock them in the same order."""
    emails: set[str] = set()
    entering: set[str] = set()
    session_ids: set[str] = set()
    for message in messages:
        match message:
            case StartSignIn(email=email):
                emails.add(email)
            case CompleteSignIn(session=session):
                emails.add(session.email)
                entering.add(session.email)
            case Touch(session_id=session_id) | EndSession(session_id=session_id):
                session_ids.add(session_id)
    return LockSet(tuple(sorted(emails)), tuple(sorted(entering)), tuple(sorted(session_ids)))


def decide(snapshot: Snapshot, messages: Sequence[Message], now_ms: int, rules: SessionRules) -> Decision:
    """Answer `messages` in order against `snapshot`, whose rows are locked until the decision is committed."""
    batch = _Batch(snapshot, now_ms, rules)
    for message in messages:
        batch.decision.answers.append(batch.handle(message))
    return batch.decision


class _Batch:
    """Answers the messages of one batch. Reads see the changes of earlier messages."""

    def __init__(self, snapshot: Snapshot, now_ms: int, rules: SessionRules) -> None:
        self._snapshot = snapshot
        self._now_ms = now_ms
        self._rules = rules
        self.decision = Decision()

    def handle(self, message: Message) -> Answer:
        match message:
            case StartSignIn():
                return self._start(message)
            case CompleteSignIn():
                return self._complete(message)
            case Touch():
                return self._touch(message)
            case EndSession():
                return self._end(message)

    def _start(self, start: StartSignIn) -> Answer:
        row = self._sign_in(start.email) or SignIn(start.email)
        sent = send(row, start.proof, self._now_ms, self._rules.codes, "to this email")
        if isinstance(sent, Refused):
            return sent
        self._keep_sign_in(sent)
        self.decision.outbox.append(start.message)
        return CodeSent()

    def _complete(self, complete: CompleteSignIn) -> Answer:
        session = complete.session
        row = self._sign_in(session.email)
        if row is None:
            return wrong_code()
        guessed, right = guess(row, complete.proof, self._rules.codes, valid=self._now_ms < row.code_expires_ms)
        if guessed is not row:
            self._keep_sign_in(guessed)
        if not right:
            return wrong_code()
        # A code starts one session only. 0 lies in the past for the clock of every node.
        self._keep_sign_in(replace(guessed, code_expires_ms=0))
        changes = self._make_account(session.email, complete.tenant_id)
        ended = self._make_room(session.email)
        if ended:
            changes["ended"] = ended
        self._keep_session(session)
        self.decision.audits.append(replace(complete.audit, changes=json.dumps(changes)))
        return Kept(session)

    def _make_account(self, email: str, tenant_id: str) -> dict[str, list[str | None]]:
        """Create the account if it does not exist; returns the changes for the audit."""
        if self._account(email) is not None:
            return {}
        self.decision.changed.accounts[email] = Account(email, tenant_id, self._now_ms)
        self.decision.tenants.append(Tenant(tenant_id, Tier.CLAIMED))
        return {"tenantId": [None, tenant_id]}

    def _make_room(self, email: str) -> list[str | None]:
        """End the least recently used sessions, so that one more is allowed; returns their ids."""
        known = self._snapshot.sessions | self.decision.changed.sessions
        live = [each for each in known.values() if each.email == email and each.is_live(self._now_ms)]
        live.sort(key=lambda each: (each.seen_ms, each.id))
        ended = live[: max(0, len(live) + 1 - self._rules.per_account)]
        for each in ended:
            self._keep_session(self._ended(each))
        return [each.id for each in ended]

    def _touch(self, touch: Touch) -> Answer:
        session = self._session(touch.session_id)
        if session is None or not session.is_live(self._now_ms):
            return _not_signed_in()
        if self._now_ms - session.seen_ms >= self._rules.touch_ms:
            session = replace(session, seen_ms=self._now_ms, expires_ms=self._now_ms + self._rules.life_ms)
            self._keep_session(session)
        return Kept(session)

    def _end(self, end: EndSession) -> Answer:
        session = self._session(end.session_id)
        if session is None or session.email != end.email:
            return Refused(Code.NOT_FOUND, "There is no such session.")
        if session.is_live(self._now_ms):
            session = self._ended(session)
            self._keep_session(session)
            self.decision.audits.append(end.audit)
        return Kept(session)

    def _ended(self, session: Session) -> Session:
        return replace(session, revoked_ms=self._now_ms, expires_ms=min(session.expires_ms, self._now_ms))

    # Rows, overlaid with the changes of this batch.

    def _sign_in(self, email: str) -> SignIn | None:
        return self.decision.changed.sign_ins.get(email) or self._snapshot.sign_ins.get(email)

    def _account(self, email: str) -> Account | None:
        return self.decision.changed.accounts.get(email) or self._snapshot.accounts.get(email)

    def _session(self, session_id: str) -> Session | None:
        return self.decision.changed.sessions.get(session_id) or self._snapshot.sessions.get(session_id)

    def _keep_sign_in(self, row: SignIn) -> None:
        self.decision.changed.sign_ins[row.email] = row

    def _keep_session(self, session: Session) -> None:
        self.decision.changed.sessions[session.id] = session


def _not_signed_in() -> Refused:
    return Refused(Code.UNAUTHORIZED, "This session has ended. Sign in again.")
