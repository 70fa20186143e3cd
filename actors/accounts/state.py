"""The rules of deleting accounts and choosing mails: locked rows and messages in, changes and answers out. Pure; source:
ADR 0062."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from actors.accounts.messages import (
    Answer,
    BeginErasure,
    ChooseMails,
    ConfirmDeletion,
    Deletion,
    DeletionBlockers,
    MailChoices,
    MailsChosen,
    Message,
    Scheduled,
    StartDeletion,
    UndoDeletion,
)
from actors.shared.codes import CodeRules, guess, renew, send, wrong_code
from actors.times import DAY_MS, HOUR_MS, SECOND_MS
from actors.values import Account, AuditRecord, Code, Done, OutboxMessage, Refused


@dataclass(frozen=True, slots=True)
class AccountRules:
    """`undo_ms` is the time between the confirmation of a deletion and its beginning."""

    undo_ms: int = 7 * DAY_MS
    codes: CodeRules = field(default_factory=CodeRules)


SETTLED_MS = 15 * SECOND_MS
"""How long after the end of an account its rows are erased: requests that were let in before it have ended by then, on every
node, and what they wrote is erased, too."""

POSTPONED_MS = HOUR_MS
"""The pause before a due deletion that cannot begin is tried again."""


@dataclass(slots=True)
class Snapshot:
    """The locked rows of a batch, all by email."""

    accounts: dict[str, Account] = field(default_factory=dict)
    deletions: dict[str, Deletion] = field(default_factory=dict)
    blockers: dict[str, DeletionBlockers] = field(default_factory=dict)
    choices: dict[str, MailChoices] = field(default_factory=dict)


@dataclass(slots=True)
class Decision:
    """The changes to commit, and one answer for each message in order. `deletions` and `choices` are new or changed. The
    accounts of `ended` go with the commit, with all that lets a caller in: keys, sessions, codes."""

    deletions: dict[str, Deletion] = field(default_factory=dict)
    choices: dict[str, MailChoices] = field(default_factory=dict)
    ended: list[Account] = field(default_factory=list)
    outbox: list[OutboxMessage] = field(default_factory=list)
    audits: list[AuditRecord] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LockSet:
    """The emails whose accounts a batch needs, and those among them whose account may end, each sorted."""

    emails: tuple[str, ...]
    ending: tuple[str, ...]


def rows_to_lock(messages: Iterable[Message]) -> LockSet:
    """The rows to lock for a batch, sorted, so that two nodes lock them in the same order."""
    several = list(messages)
    ending = {message.email for message in several if isinstance(message, BeginErasure)}
    return LockSet(tuple(sorted({message.email for message in several})), tuple(sorted(ending)))


def obstacle(standing: DeletionBlockers, now_ms: int) -> Refused | None:
    """Return why the owner of an account cannot delete it now; None if nothing blocks it."""
    if standing.admin and standing.administrators <= 1:
        return Refused(
            Code.INVALID_STATE, "You are the last administrator. Make another account an administrator first."
        )
    if standing.paid_until_ms > now_ms:
        return Refused(
            Code.INVALID_STATE,
            f"Paid weeks of this account run until {day_words(standing.paid_until_ms)}. Delete the account after that, "
            "or ask the administrators for a refund first.",
        )
    if standing.refunds:
        return Refused(Code.INVALID_STATE, "A refund to this account is under way. Delete the account once it is made.")
    return None


def decide(snapshot: Snapshot, messages: Sequence[Message], now_ms: int, rules: AccountRules) -> Decision:
    """Answer `messages` in order against `snapshot`, whose rows are locked until the decision is committed."""
    batch = _Batch(snapshot, now_ms, rules)
    for message in messages:
        batch.decision.answers.append(batch.handle(message))
    return batch.decision


class _Batch:
    """Answers the messages of one batch. Reads see the changes of earlier messages."""

    def __init__(self, snapshot: Snapshot, now_ms: int, rules: AccountRules) -> None:
        self._snapshot = snapshot
        self._now_ms = now_ms
        self._rules = rules
        self.decision = Decision()

    def handle(self, message: Message) -> Answer:
        account = self._snapshot.accounts.get(message.email)
        if account is None or account in self.decision.ended:
            return Refused(Code.NOT_FOUND, f"There is no account with the email {message.email}.")
        match message:
            case StartDeletion():
                return self._start(message, account)
            case ConfirmDeletion():
                return self._confirm(message, account)
            case UndoDeletion():
                return self._undo(message)
            case BeginErasure():
                return self._begin(message, account)
            case ChooseMails():
                return self._choose(message, account)

    def _deletion(self, email: str) -> Deletion | None:
        return self.decision.deletions.get(email) or self._snapshot.deletions.get(email)

    def _new(self, account: Account) -> Deletion:
        return Deletion(tenant_id=account.tenant_id, email=account.email, requested_ms=self._now_ms)

    def _obstacle(self, email: str) -> Refused | None:
        standing = self._snapshot.blockers.get(email, DeletionBlockers())
        gone = sum(self._snapshot.blockers.get(each.email, DeletionBlockers()).admin for each in self.decision.ended)
        return obstacle(replace(standing, administrators=standing.administrators - gone), self._now_ms)

    def _start(self, start: StartDeletion, account: Account) -> Answer:
        row = self._deletion(start.email) or self._new(account)
        if row.due_ms is not None:
            return Refused(Code.INVALID_STATE, "The deletion of this account is confirmed already.")
        if refused := self._obstacle(start.email):
            return refused
        codes = self._rules.codes
        sent = send(row, self._now_ms, "to delete this account", pause_ms=codes.pause_ms, per_day=codes.per_day)
        if isinstance(sent, Refused):
            return sent
        self.decision.deletions[start.email] = renew(sent, start.proof, self._now_ms, codes)
        self.decision.outbox.append(start.message)
        return Done()

    def _confirm(self, confirm: ConfirmDeletion, account: Account) -> Answer:
        row = self._deletion(confirm.email)
        if row is not None and row.due_ms is not None:
            # A repeated confirmation changes nothing. An operator may bring it forward.
            return Scheduled(row) if confirm.proof is not None else self._schedule(row, confirm)
        if confirm.proof is not None:
            if row is None:
                return wrong_code()
            guessed, right = guess(row, confirm.proof, self._rules.codes, valid=self._now_ms < row.code_expires_ms)
            self.decision.deletions[confirm.email] = row = guessed
            if not right:
                return wrong_code()
        return self._obstacle(confirm.email) or self._schedule(row or self._new(account), confirm)

    def _schedule(self, row: Deletion, confirm: ConfirmDeletion) -> Answer:
        due_ms = self._now_ms + confirm.delay_ms
        if row.due_ms is not None and row.due_ms <= due_ms:
            return Scheduled(row)
        row = replace(row, confirmed_ms=self._now_ms, due_ms=due_ms, proof=None, code_expires_ms=0)
        self.decision.deletions[confirm.email] = row
        facts = json.dumps({"day": day_words(due_ms)})
        self.decision.outbox.append(replace(confirm.message, facts=facts))
        self.decision.audits.append(replace(confirm.audit, target_id=row.tenant_id))
        return Scheduled(row)

    def _undo(self, undo: UndoDeletion) -> Answer:
        row = self._deletion(undo.email)
        if row is None:
            return Done()
        # The counters stay until the row is pruned, so that undoing does not reset the limit of codes.
        kept = replace(row, confirmed_ms=None, due_ms=None, proof=None, code_expires_ms=0)
        if kept != row:
            self.decision.deletions[undo.email] = kept
        if row.due_ms is not None:
            self.decision.outbox.append(undo.message)
            self.decision.audits.append(replace(undo.audit, target_id=row.tenant_id))
        return Done()

    def _begin(self, begin: BeginErasure, account: Account) -> Answer:
        row = self._deletion(begin.email)
        if row is None or row.due_ms is None or row.due_ms > self._now_ms:
            return Done()
        if self._obstacle(begin.email) or self._snapshot.blockers.get(begin.email, DeletionBlockers()).holds:
            # Bought, or made the last administrator, since the confirmation.
            row = replace(row, due_ms=self._now_ms + POSTPONED_MS)
        else:
            row = replace(row, begun_ms=self._now_ms)
            self.decision.ended.append(account)
            self.decision.choices.pop(begin.email, None)
            # Mails from before the end are erased.
            self.decision.outbox.append(replace(begin.message, created_ms=self._now_ms))
            self.decision.audits.append(replace(begin.audit, target_id=row.tenant_id))
        self.decision.deletions[begin.email] = row
        return Scheduled(row)

    def _choose(self, choose: ChooseMails, account: Account) -> Answer:
        email = choose.email
        before = self.decision.choices.get(email) or self._snapshot.choices.get(email) or MailChoices(email)
        chosen: dict[str, Any] = {topic.value: on for topic, on in choose.choices.items()}
        after = replace(before, **chosen)
        if after != before:
            topics = [topic.value for topic in choose.choices if getattr(before, topic) != getattr(after, topic)]
            changes = json.dumps({topic: [getattr(before, topic), getattr(after, topic)] for topic in sorted(topics)})
            self.decision.choices[email] = after
            self.decision.audits.append(replace(choose.audit, target_id=account.tenant_id, changes=changes))
        return MailsChosen(after)


def day_words(at_ms: int) -> str:
    """A moment in a mail or a refusal, such as `18 November 2026, 12:00 UTC`."""
    return f"{datetime.fromtimestamp(at_ms // SECOND_MS, UTC):%-d %B %Y, %H:%M} UTC"
