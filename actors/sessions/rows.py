"""The rows of a batch of the session keeper: their limits, which ones to lock, and what a decision changes. Pure."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from actors.sessions.messages import (
    Answer,
    CompleteSignIn,
    EndSession,
    EndSessions,
    IssueLink,
    Message,
    Session,
    SignIn,
    SignInLink,
    StartSignIn,
    Touch,
    UseLink,
)
from actors.sessions.passkey_rules import PasskeyRules
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
from actors.shared.code_mails import CodeMailCount, CodeMailRules
from actors.shared.codes import CodeRules
from actors.times import DAY_MS, HOUR_MS
from actors.values import Account, AuditRecord, OutboxMessage, Tenant


@dataclass(frozen=True, slots=True)
class SessionRules:
    """Limits of sign-ins and sessions. Times are in milliseconds."""

    life_ms: int = 30 * DAY_MS
    touch_ms: int = HOUR_MS
    per_account: int = 20
    notices_per_hour: int = 20
    codes: CodeRules = field(default_factory=CodeRules)
    letters: CodeMailRules = field(default_factory=CodeMailRules)
    passkeys: PasskeyRules = field(default_factory=PasskeyRules)


@dataclass(slots=True)
class Snapshot:
    """The rows of a batch. The same class holds the changes of a decision. `sign_ins` are by email and browser.
    `sessions` has the named ones, and all live ones of emails that sign in."""

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
