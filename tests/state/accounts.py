"""Accounts for scenarios of their deletion and of their choices of mails."""

from collections.abc import Sequence

from actors.accounts.messages import (
    Answer,
    BeginErasure,
    ChooseMails,
    ConfirmDeletion,
    Deletion,
    DeletionBlockers,
    MailChoices,
    Message,
    StartDeletion,
    UndoDeletion,
)
from actors.accounts.state import AccountRules, Decision, Snapshot, decide, rows_to_lock
from actors.clock import DAY_MS
from actors.shared.announcements import Topic
from actors.values import Account, AuditRecord, OutboxMessage
from tests.state.manners import well_said

RULES = AccountRules()
EMAILS = ("ann@example.com", "bob@example.com", "eve@example.com")


class Accounts:
    """Three accounts, and the rows that the rules change. `act` decides on what a batch locks."""

    def __init__(self) -> None:
        self.now_ms = 20_000 * DAY_MS + DAY_MS // 2
        self.accounts = {email: Account(email, f"ten_{email[:3]}", 1) for email in EMAILS}
        self.deletions: dict[str, Deletion] = {}
        self.choices: dict[str, MailChoices] = {}
        self.blockers: dict[str, DeletionBlockers] = {}
        self.last = Decision()
        self._messages = 0

    def act(self, *messages: Message) -> Sequence[Answer]:
        locked = rows_to_lock(messages).emails
        accounts = {email: self.accounts[email] for email in locked if email in self.accounts}
        waiting = {email: row for email, row in self.deletions.items() if email in locked and row.begun_ms is None}
        choices = {email: self.choices[email] for email in locked if email in self.choices}
        self.last = decide(Snapshot(accounts, waiting, self.blockers, choices), messages, self.now_ms, RULES)
        well_said(self.last.answers)
        self.deletions |= self.last.deletions
        self.choices |= self.last.choices
        for account in self.last.ended:
            del self.accounts[account.email]
        return self.last.answers

    def start(self, email: str) -> StartDeletion:
        return StartDeletion(email, b"right", self._mail(email, "deletion_code"))

    def confirm(self, email: str, proof: bytes | None = b"right", delay_ms: int = RULES.undo_ms) -> ConfirmDeletion:
        return ConfirmDeletion(
            email, proof, delay_ms, self._mail(email, "deletion_scheduled"), self._audit("confirmed")
        )

    def undo(self, email: str) -> UndoDeletion:
        return UndoDeletion(email, self._mail(email, "deletion_undone"), self._audit("undone"))

    def begin(self, email: str) -> BeginErasure:
        return BeginErasure(email, self._mail(email, "account_deleted"), self._audit("begun"))

    def choose(self, email: str, **topics: bool) -> ChooseMails:
        return ChooseMails(email, {Topic(name): on for name, on in topics.items()}, self._audit("chosen"))

    def _mail(self, email: str, template: str) -> OutboxMessage:
        self._messages += 1
        return OutboxMessage(f"let_{self._messages}", email, template, b"nonce", 1, 1 + DAY_MS)

    def _audit(self, word: str) -> AuditRecord:
        self._messages += 1
        return AuditRecord(f"aud_{self._messages}", self.now_ms, "key", "key_1", f"account.{word}", "account", "")
