"""The rules of sign-ins and sessions. Pure; source: ADR 0011, 0012, 0056 and 0063.

Takes a snapshot of locked rows and messages, returns changes and answers. Later messages of a batch see the changes of
earlier ones.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from actors.sessions.messages import (
    Answer,
    CompleteSignIn,
    EndSession,
    EndSessions,
    IssueLink,
    Message,
    Session,
    SessionSaved,
    SessionsEnded,
    SignIn,
    SignInLink,
    StartSignIn,
    Touch,
    UseLink,
)
from actors.sessions.passkeys import PasskeyRules, Passkeys
from actors.sessions.second_factor import (
    CancelSignIn,
    Confirm,
    FinishSignIn,
    Register,
    Remove,
    RemoveAll,
    Rename,
    SecondFactorRows,
    StartCeremony,
)
from actors.shared.browsers import browser
from actors.shared.code_mails import CodeMailCount, CodeMailCounter, CodeMailRules
from actors.shared.codes import CodeRules, guess, renew, wrong_code
from actors.shared.groups import Groups
from actors.shared.notices import Ending, with_facts
from actors.times import DAY_MS, HOUR_MS
from actors.values import (
    AcceptedTerms,
    Account,
    AuditRecord,
    Code,
    Done,
    OutboxMessage,
    Refused,
    Tenant,
    Tier,
    session_ended,
)


@dataclass(frozen=True, slots=True)
class SessionRules:
    """Limits of sign-ins and sessions. Times are in milliseconds. `terms_version` is what a sign-in accepts; empty: none."""

    life_ms: int = 30 * DAY_MS
    touch_ms: int = HOUR_MS
    per_account: int = 20
    notices_per_hour: int = 20
    codes: CodeRules = field(default_factory=CodeRules)
    letters: CodeMailRules = field(default_factory=CodeMailRules)
    passkeys: PasskeyRules = field(default_factory=PasskeyRules)
    terms_version: str = ""


@dataclass(slots=True)
class Snapshot:
    """The rows of a batch. The same class holds the changes of a decision. `sign_ins` are by email and browser.
    `sessions` has the named ones, and of emails that sign in those that work, or may do so where a clock is behind."""

    sign_ins: dict[tuple[str, bytes], SignIn] = field(default_factory=dict)
    letters: dict[bytes, CodeMailCount] = field(default_factory=dict)
    links: dict[bytes, SignInLink] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    second_factor: SecondFactorRows = field(default_factory=SecondFactorRows)


@dataclass(slots=True)
class Decision:
    """The changes to commit, and one answer for each message in order. `tenants` are those of new accounts."""

    changed: Snapshot = field(default_factory=Snapshot)
    tenants: list[Tenant] = field(default_factory=list)
    terms: list[AcceptedTerms] = field(default_factory=list)
    outbox: list[OutboxMessage] = field(default_factory=list)
    audits: list[AuditRecord] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LockSet:
    """The rows that a batch needs, each sorted. `entering` are the emails that complete a sign-in, end all sessions or
    change passkeys: their accounts, live sessions and passkeys are read, too. The store adds the emails of links to them.
    `holders` are the ids of sessions and pending sign-ins with a challenge, and `credential_ids` those of new passkeys."""

    sign_ins: tuple[tuple[str, bytes], ...] = ()
    code_mail_ids: tuple[bytes, ...] = ()
    link_hashes: tuple[bytes, ...] = ()
    entering: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    credential_ids: tuple[bytes, ...] = ()


def rows_to_lock(messages: Iterable[Message]) -> LockSet:
    """The rows to lock for a batch, sorted, so that two nodes lock them in the same order."""
    rows: defaultdict[str, set[Any]] = defaultdict(set)
    for message in messages:
        match message:
            case StartSignIn(email=email, browser=browser, draft=draft):
                rows["sign_ins"].add((email, browser))
                rows["code_mail_ids"].update(draft.count_ids)
            case CompleteSignIn(session=session, browser=browser, network_id=network_id):
                rows["sign_ins"].add((session.email, browser))
                rows["code_mail_ids"].add(network_id)
                rows["entering"].add(session.email)
            case IssueLink(link=link):
                rows["link_hashes"].add(link.token_hash)
            case UseLink(token_hash=token_hash):
                rows["link_hashes"].add(token_hash)
            case Touch(session_id=session_id) | EndSession(session_id=session_id):
                rows["session_ids"].add(session_id)
            case EndSessions(email=email) | Rename(email=email) | Remove(email=email) | RemoveAll(email=email):
                rows["entering"].add(email)
            case StartCeremony(challenge=challenge, email=email):
                rows["entering"].add(email)
                rows["holders"].add(challenge.holder_id)
            case Register(session_id=holder_id, passkey=passkey):
                rows["entering"].add(passkey.email)
                rows["holders"].add(holder_id)
                rows["credential_ids"].add(passkey.credential_id)
            case Confirm(session_id=holder_id, email=email) | FinishSignIn(pending_id=holder_id, email=email):
                rows["entering"].add(email)
                rows["holders"].add(holder_id)
            case CancelSignIn(pending_id=holder_id):
                rows["holders"].add(holder_id)
    return LockSet(**{name: tuple(sorted(ids)) for name, ids in rows.items()})


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
        self._by_email = Groups(attrgetter("email"), snapshot.sessions.values())
        self._code_mails = CodeMailCounter(snapshot.letters, self.decision.changed.letters)
        self._passkeys = Passkeys(
            snapshot.second_factor,
            self.decision.changed.second_factor,
            self.decision.audits,
            self.decision.outbox,
            self,
            now_ms,
            rules.passkeys,
            rules.life_ms,
        )

    def handle(self, message: Message) -> Answer:
        match message:
            case StartSignIn():
                return self._start(message)
            case CompleteSignIn():
                return self._complete(message)
            case IssueLink():
                return self._issue_link(message)
            case UseLink():
                return self._use_link(message)
            case Touch():
                return self._touch(message)
            case EndSession():
                return self._end(message)
            case EndSessions():
                return self._end_all(message)
            case _:
                return self._passkeys.handle(message)

    def _start(self, start: StartSignIn) -> Answer:
        sent = self._code_mails.count(start.draft, self._now_ms, self._rules.letters, "to this email")
        if isinstance(sent, Refused):
            return sent
        row = self._sign_in((start.email, start.browser)) or SignIn(start.email, start.browser)
        self._save_sign_in(renew(row, sent.proof, self._now_ms, self._rules.codes))
        self.decision.outbox.append(sent.message)
        return Done()

    def _complete(self, complete: CompleteSignIn) -> Answer:
        """A guess needs the code of the same browser, so that nobody else can use it up."""
        session = complete.session
        row = self._sign_in((session.email, complete.browser))
        if row is None:
            return wrong_code()
        guessed, right = guess(row, complete.proof, self._rules.codes, valid=self._now_ms < row.code_expires_ms)
        if guessed is not row:
            self._save_sign_in(guessed)
        if not right:
            return wrong_code()
        # A code starts one session only. 0 lies in the past for the clock of every node.
        self._save_sign_in(replace(guessed, code_expires_ms=0))
        self._code_mails.recognise(complete.network_id, self._now_ms, self._rules.letters)
        return self._enter(session, complete)

    def _issue_link(self, issue: IssueLink) -> Answer:
        self.decision.changed.links[issue.link.token_hash] = issue.link
        self.decision.audits.append(issue.audit)
        return Done()

    def _use_link(self, use: UseLink) -> Answer:
        links = self._snapshot.links | self.decision.changed.links
        link = links.get(use.token_hash)
        if link is None or link.used_ms is not None or self._now_ms >= link.expires_ms:
            return unusable_link()
        self.decision.changed.links[link.token_hash] = replace(link, used_ms=self._now_ms)
        return self._enter(replace(use.session, email=link.email), use)

    def _enter(self, session: Session, by: CompleteSignIn | UseLink) -> Answer:
        """Start a session and create its account, or wait for a passkey if the account has one."""
        if self._passkeys.of(session.email):
            return self._passkeys.await_passkey(session, replace(by.audit, actor_email=session.email))
        return self.begin(session, by.audit, by.notice, self._make_account(session.email, by.tenant_id))

    def begin(
        self,
        session: Session,
        audit: AuditRecord,
        notice: OutboxMessage | None,
        changes: Mapping[str, list[str | None]] | None = None,
    ) -> SessionSaved:
        """Start a session of an existing account, end surplus ones, and mail the owner. `changes` came with it."""
        ended = self._make_room(session.email)
        facts = {**(changes or {}), **({"ended": ended} if ended else {})}
        self.save_session(session)
        account, version = self._account(session.email), self._rules.terms_version
        if account is not None and version:
            self.decision.terms.append(AcceptedTerms(account.tenant_id, version, self._now_ms))
        self.decision.audits.append(replace(audit, actor_email=session.email, changes=json.dumps(facts)))
        for message in with_facts(notice, Ending.SESSION, session.id, browser(session.agent)):
            self.decision.outbox.append(replace(message, recipient=session.email))
        return SessionSaved(session)

    def _make_account(self, email: str, tenant_id: str) -> dict[str, list[str | None]]:
        """Create the account if it does not exist; returns the changes for the audit."""
        if self._account(email) is not None:
            return {}
        self.decision.changed.accounts[email] = Account(email, tenant_id, self._now_ms)
        self.decision.tenants.append(Tenant(tenant_id, Tier.CLAIMED))
        return {"tenantId": [None, tenant_id]}

    def _make_room(self, email: str) -> list[str | None]:
        """End the least recently used sessions, so that one more is allowed; returns their ids."""
        live = [each for each in self.sessions_of(email) if each.is_live(self._now_ms)]
        ended = live[: max(0, len(live) + 1 - self._rules.per_account)]
        for each in ended:
            self.save_session(self._ended(each))
        return [each.id for each in ended]

    def sessions_of(self, email: str) -> list[Session]:
        """The sessions of an account in `LockSet.entering` that no one has revoked, least recently used first."""
        kept = [each for each in self._by_email.within(email) if each.revoked_ms is None]
        return sorted(kept, key=lambda each: (each.seen_ms, each.id))

    def _end_all(self, order: EndSessions) -> Answer:
        ended = [each for each in self.sessions_of(order.email) if each.id != order.except_id]
        for each in ended:
            self.save_session(self._ended(each))
        ids = tuple(each.id for each in ended)
        if ids:
            self.decision.audits.append(replace(order.audit, changes=json.dumps({"ended": ids})))
        return SessionsEnded(ids)

    def _touch(self, touch: Touch) -> Answer:
        session = self.session(touch.session_id)
        if session is None or not session.is_live(self._now_ms):
            return session_ended()
        if self._now_ms - session.seen_ms >= self._rules.touch_ms:
            session = replace(session, seen_ms=self._now_ms, expires_ms=self._now_ms + self._rules.life_ms)
            self.save_session(session)
        return SessionSaved(session)

    def _end(self, end: EndSession) -> Answer:
        """Revoke a session, even one that has expired: it may still work where a clock is behind, and be extended there."""
        session = self.session(end.session_id)
        if session is None or session.email != end.email:
            return Refused(Code.NOT_FOUND, "There is no such session.")
        if session.revoked_ms is None:
            session = self._ended(session)
            self.save_session(session)
            self.decision.audits.append(end.audit)
        return SessionSaved(session)

    def _ended(self, session: Session) -> Session:
        return replace(session, revoked_ms=self._now_ms, expires_ms=min(session.expires_ms, self._now_ms))

    # Rows, overlaid with the changes of this batch.

    def _sign_in(self, key: tuple[str, bytes]) -> SignIn | None:
        return self.decision.changed.sign_ins.get(key) or self._snapshot.sign_ins.get(key)

    def _account(self, email: str) -> Account | None:
        return self.decision.changed.accounts.get(email) or self._snapshot.accounts.get(email)

    def session(self, session_id: str) -> Session | None:
        return self.decision.changed.sessions.get(session_id) or self._snapshot.sessions.get(session_id)

    def _save_sign_in(self, row: SignIn) -> None:
        self.decision.changed.sign_ins[row.key] = row

    def save_session(self, session: Session) -> None:
        self.decision.changed.sessions[session.id] = session
        self._by_email.save(session)


def unusable_link() -> Refused:
    return Refused(
        Code.INVALID_CODE, "This link is not valid, was used before, or is too old. Ask an operator for a new one."
    )
