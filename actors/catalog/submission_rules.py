"""The rules of submissions: locked rows and messages in, changes and answers out. Pure; source: ADR 0099."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from actors.catalog import state
from actors.catalog.messages import UNCONDITIONAL, EntryId, EntrySaved, PutEntry
from actors.catalog.submissions import (
    Answer,
    Message,
    Outdated,
    ProposeEntry,
    ReviewSubmission,
    Submission,
    SubmissionSaved,
    SubmissionStatus,
)
from actors.shared.announcements import DELIVERY_MS, AccountMail, Topic
from actors.times import HOUR_MS
from actors.values import AuditRecord, Code, Refused, invalid_field, unknown


@dataclass(frozen=True, slots=True)
class SubmissionRules:
    """At most `pending` submissions of an account, or of the accounts of a mailbox that never paid, wait for review.
    Mails to administrators are at least `mail_every_ms` apart. `check_address` raises `ValueError` for a web address that
    third parties may not bring into the catalog. No settings."""

    check_address: Callable[[str], object]
    pending: int = 10
    mail_every_ms: int = HOUR_MS


unknown_submission = partial(unknown, "submission")

ADDRESSES = ("sourceUrl", "templateUrl")
"""The fields of entries that are web addresses."""

REASONS = {
    Outdated.TAKEN: "The catalog has an entry with this slug now, so it is no new entry any more.",
    Outdated.CHANGED: "The entry has been changed since this edit was proposed.",
    Outdated.RETIRED: "The entry has been retired since this edit was proposed.",
}


@dataclass(frozen=True, slots=True)
class LockSet:
    """The rows that a batch locks and reads, sorted: submissions by id, the accounts whose submissions are counted, and the
    entries of proposals. `reviews`: the catalog is locked, with the entries of the submissions."""

    submission_ids: tuple[str, ...]
    tenant_ids: tuple[str, ...]
    entry_ids: tuple[EntryId, ...]
    reviews: bool


@dataclass(slots=True)
class Snapshot:
    """The locked rows of a batch, and entries of the catalog. `pending` counts the submissions of accounts that wait,
    `siblings` are, for accounts that never paid, the other ones of their mailbox that never paid and are in the batch or have
    a submission that waits. `mailed_ms` is the time of the newest mail to administrators, which may be ahead."""

    submissions: dict[str, Submission] = field(default_factory=dict)
    catalog: state.Snapshot = field(default_factory=state.Snapshot)
    pending: dict[str, int] = field(default_factory=dict)
    siblings: dict[str, frozenset[str]] = field(default_factory=dict)
    mailed_ms: int = 0


@dataclass(slots=True)
class Decision:
    """The changes to commit, and one answer for each message in order. `rounds` change the catalog in the same transaction,
    at `decided_ms`. `mailed_ms` is the time of a new mail to administrators."""

    submissions: dict[str, Submission] = field(default_factory=dict)
    rounds: list[state.Changes] = field(default_factory=list)
    decided_ms: int = 0
    mails: list[AccountMail] = field(default_factory=list)
    mailed_ms: int | None = None
    audits: list[AuditRecord] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


def rows_to_lock(messages: Iterable[Message]) -> LockSet:
    """The rows to lock for a batch."""
    several = list(messages)
    proposed = [each.submission for each in several if isinstance(each, ProposeEntry)]
    reviewed = [each.submission_id for each in several if isinstance(each, ReviewSubmission)]
    return LockSet(
        tuple(sorted({*reviewed, *(each.id for each in proposed)})),
        tuple(sorted({each.tenant_id for each in proposed})),
        tuple(sorted({each.entry_id for each in proposed})),
        bool(reviewed),
    )


def decide(snapshot: Snapshot, messages: Sequence[Message], now_ms: int, rules: SubmissionRules) -> Decision:
    """Answer `messages` in order against `snapshot`; each sees the changes of the ones before it."""
    batch = _Batch(snapshot, now_ms, rules)
    for message in messages:
        batch.decision.answers.append(batch.answer(message))
    return batch.finished()


class _Batch:
    def __init__(self, snapshot: Snapshot, now_ms: int, rules: SubmissionRules) -> None:
        self._snapshot = snapshot
        self._now_ms = now_ms
        self._rules = rules
        self._catalog = state.EntryWork(snapshot.catalog, now_ms)
        self.decision = Decision(decided_ms=now_ms)

    def finished(self) -> Decision:
        """The decision with what it makes of the catalog."""
        made = self._catalog.decision
        self.decision.rounds, self.decision.audits = made.rounds, [*self.decision.audits, *made.audits]
        return self.decision

    def answer(self, message: Message) -> Answer:
        match message:
            case ProposeEntry():
                return self._propose(message)
            case ReviewSubmission():
                return self._review(message)

    # Reading, with the changes of this batch.

    def _submission(self, submission_id: str) -> Submission | None:
        return self.decision.submissions.get(submission_id) or self._snapshot.submissions.get(submission_id)

    def _current(self, entry_id: EntryId) -> str | None:
        entry = self._catalog.current(entry_id)
        return None if entry is None else entry.document.decode()

    def _pending(self, tenant_id: str) -> int:
        together = self._snapshot.siblings.get(tenant_id, frozenset()) | {tenant_id}
        stored = sum(self._snapshot.pending.get(each, 0) for each in together)
        changed = (each for each in self.decision.submissions.values() if each.tenant_id in together)
        before = self._snapshot.submissions
        return stored + sum(each.waits - (each.id in before and before[each.id].waits) for each in changed)

    # Proposing.

    def _propose(self, message: ProposeEntry) -> Answer:
        new = message.submission
        known = self._submission(new.id)
        if known is not None:
            return self._repeated(known, message)
        current = self._current(new.entry_id)
        refused = _misplaced(message.edit, new.entry, current) or self._address(new.entry, current)
        refused = refused or self._full(new.tenant_id)
        if refused is not None:
            return refused
        new = replace(new, base=current)
        self.decision.submissions[new.id] = new
        self.decision.audits.append(message.audit)
        self._mail_administrators(message.audit)
        return SubmissionSaved(new)

    @staticmethod
    def _repeated(known: Submission, message: ProposeEntry) -> Answer:
        new = message.submission
        same = (known.kind, known.entry, known.base is not None) == (new.kind, new.entry, message.edit)
        if message.keyed and same:
            return SubmissionSaved(known)
        words = "This Idempotency-Key was already used with a different body. Use a new one."
        return Refused(Code.IDEMPOTENCY_CONFLICT, words)

    def _address(self, entry: str, base: str | None) -> Refused | None:
        """Why the web address of an entry is refused. An edit may leave the one that an administrator chose."""
        proposed, before = json.loads(entry), json.loads(base or "{}")
        for name in ADDRESSES:
            if name in proposed and proposed[name] != before.get(name):
                try:
                    self._rules.check_address(proposed[name])
                except ValueError as error:
                    return invalid_field(f"entry.{name}", "value_error", str(error))
        return None

    def _full(self, tenant_id: str) -> Refused | None:
        most = self._rules.pending
        if self._pending(tenant_id) < most:
            return None
        alone = not self._snapshot.siblings.get(tenant_id)
        having = "This account has" if alone else "The accounts of this mailbox, none of which has paid yet, have"
        words = f"{having} {most} submissions that wait for review, the maximum. Wait for a review."
        return Refused(Code.SUBMISSION_LIMIT, words)

    def _mail_administrators(self, audit: AuditRecord) -> None:
        """Mail them now, or, if they were mailed within the hour, when it is over. One mail ahead is about all that come
        until then."""
        last_ms = self._snapshot.mailed_ms if self.decision.mailed_ms is None else self.decision.mailed_ms
        if last_ms > self._now_ms:
            return
        self.decision.mailed_ms = at_ms = max(self._now_ms, last_ms + self._rules.mail_every_ms)
        self._mail(None, "submissions_wait", {}, audit, at_ms)

    # Reviewing.

    def _review(self, message: ReviewSubmission) -> Answer:
        submission = self._submission(message.submission_id)
        if submission is None:
            return unknown_submission()
        if not submission.waits:
            return Refused(Code.INVALID_STATE, f"This submission has already been {submission.status}.")
        current = self._current(submission.entry_id)
        if message.seen != submission.version(current):
            words = "The catalog's entry has been changed since you read this submission. Read it again."
            return Refused(Code.INVALID_STATE, words)
        outdated = submission.outdated(current)
        if message.accept and outdated is not None:
            return Refused(Code.INVALID_STATE, f"{REASONS[outdated]} Decline it; it can be proposed again.")
        refused = self._address(submission.entry, submission.base) if message.accept else None
        if refused is not None:
            return Refused(Code.INVALID_STATE, f"{refused.message} Decline it; it can be proposed again.")
        status = SubmissionStatus.ACCEPTED if message.accept else SubmissionStatus.DECLINED
        decided = replace(submission, status=status, note=message.note, decided_ms=self._now_ms)
        self.decision.submissions[decided.id] = decided
        if message.accept:
            self._save_entry(decided, message.audit)
        facts = {
            "name": decided.name,
            "kind": decided.kind,
            "slug": decided.slug,
            "edit": "yes" if decided.base else "",
        }
        self._mail(
            decided.tenant_id, f"submission_{status}", facts | {"note": decided.note or ""}, message.audit, self._now_ms
        )
        changes = {"status": [SubmissionStatus.PENDING, status], "kind": decided.kind, "slug": decided.slug}
        changes |= {} if decided.note is None else {"note": decided.note}
        self.decision.audits.append(replace(message.audit, changes=json.dumps(changes, ensure_ascii=False)))
        return SubmissionSaved(decided)

    def _save_entry(self, accepted: Submission, audit: AuditRecord) -> None:
        """Write the entry, over the one that was read. A new one is added now; an edited one, or one that was retired, keeps
        its place in the list."""
        kind, slug = accepted.entry_id
        audit = replace(audit, id=f"{audit.id}_2", target_type=state.TARGETS[kind], target_id=slug)
        put = PutEntry(accepted.entry_id, lambda ms: dated(accepted.entry, ms).encode(), None, UNCONDITIONAL, audit)
        saved = self._catalog.put(put)
        assert isinstance(saved, EntrySaved), "the entry is the one that was read"

    def _mail(
        self, tenant_id: str | None, template: str, facts: dict[str, str], audit: AuditRecord, at_ms: int
    ) -> None:
        mail_id = f"msg_{audit.id.removeprefix('aud_')}_{'a' if tenant_id is None else 'o'}"
        words = json.dumps(facts, ensure_ascii=False)
        mail = AccountMail(mail_id, tenant_id, template, Topic.REVIEWS, words, at_ms, at_ms + DELIVERY_MS)
        self.decision.mails.append(mail)


def _misplaced(edit: bool, entry: str, current: str | None) -> Refused | None:
    """Why an entry cannot be proposed, or an edit of it, while the catalog has `current`."""
    if edit and current is None:
        return Refused(Code.NOT_FOUND, "There is no entry with this slug.")
    if not edit and current is not None:
        words = "The catalog has an entry with this slug. Send `slug` to propose an edit of it, or choose another slug."
        return Refused(Code.INVALID_STATE, words)
    if current is not None and dated(current, 0) == entry:
        return invalid_field("entry", "unchanged", "is the same as the entry of the catalog")
    return None


def dated(document: str, added_ms: int) -> str:
    """A canonical document with another `addedAt`."""
    return json.dumps(json.loads(document) | {"addedAt": added_ms}, ensure_ascii=False, separators=(",", ":"))
