"""Submissions for tests of their rules and stores."""

from typing import Any

from actors.catalog.messages import Entry, EntryId, Kind
from actors.catalog.state import Snapshot as CatalogSnapshot
from actors.catalog.submission_rules import Decision, LockSet, Snapshot, SubmissionRules, decide, rows_to_lock
from actors.catalog.submissions import Answer, Message, ProposeEntry, ReviewSubmission, Submission, SubmissionSaved
from actors.values import Agent, AuditRecord
from service.schemas.urls import public_address
from tests.snapshots.entries import bot

RULES = SubmissionRules(public_address)
NOW = 1_790_000_000_000
ANN, ADMIN = Agent("key", "key_ann", "ann@example.com"), Agent("session", "ses_admin", "admin@example.com")


def audit(name: str, action: str, agent: Agent = ANN) -> AuditRecord:
    return AuditRecord.by(agent, f"aud_{name}", NOW, action, ("submission", f"sub_{name}"), "", "{}")


def document(slug: str, added_ms: int = 0, **fields: Any) -> str:
    return bot(slug, addedAt=added_ms, **fields).document.decode()


def submission(number: int, slug: str = "", tenant: str = "ten_1", **fields: Any) -> Submission:
    """A new bot template, at a time that follows from its number."""
    slug = slug or f"new-{number}"
    entry = document(slug, **{"name": f"Bot {number}"} | fields)
    return Submission(f"sub_{number}", tenant, Kind.BOTS, slug, f"Bot {number}", entry, NOW + number)


def propose(new: Submission, *, edit: bool = False, keyed: bool = False, record: str = "") -> ProposeEntry:
    record = record or new.id.removeprefix("sub_")
    return ProposeEntry(new, edit, keyed, audit(record, "submission.created"))


def review(
    reviewed: Submission, current: str | None = None, *, accept: bool = True, note: str | None = None, record: str = ""
) -> ReviewSubmission:
    """The review of a submission by somebody who has read it beside the entry `current`."""
    record = record or f"{reviewed.id}_review"
    action = "submission.accepted" if accept else "submission.declined"
    return ReviewSubmission(reviewed.id, accept, note, reviewed.version(current), audit(record, action, ADMIN))


def saved(answer: Answer) -> Submission:
    assert isinstance(answer, SubmissionSaved), answer
    return answer.submission


class Desk:
    """The rows of submissions and of the catalog, changed by the rules. `send` decides on what a batch locks."""

    def __init__(self) -> None:
        self.rows = Snapshot()
        self.last = Decision()

    def put(self, *entries: Entry) -> None:
        self.rows.catalog.entries |= {EntryId(Kind.BOTS, entry.slug): entry for entry in entries}

    def current(self, slug: str) -> str | None:
        entry = self.rows.catalog.entries.get(EntryId(Kind.BOTS, slug))
        return None if entry is None else entry.document.decode()

    def send(self, *messages: Message, now_ms: int = NOW) -> list[Answer]:
        self.last = decide(self._locked(rows_to_lock(messages)), messages, now_ms, RULES)
        self.rows.submissions |= self.last.submissions
        for changes in self.last.rounds:
            self.rows.catalog.entries |= changes.saved
        waiting = [row.tenant_id for row in self.rows.submissions.values() if row.waits]
        self.rows.pending = {tenant: waiting.count(tenant) for tenant in waiting}
        self.rows.mailed_ms = self.last.mailed_ms or self.rows.mailed_ms
        return self.last.answers

    def _locked(self, locks: LockSet) -> Snapshot:
        rows = self.rows
        submissions = {each: rows.submissions[each] for each in locks.submission_ids if each in rows.submissions}
        named = {*locks.entry_ids, *(row.entry_id for row in submissions.values() if locks.reviews)}
        entries, retired = (
            {each: table[each] for each in sorted(named) if each in table}
            for table in (rows.catalog.entries, rows.catalog.retired)
        )
        counted = {each for tenant in locks.tenant_ids for each in (tenant, *rows.siblings.get(tenant, ()))}
        pending = {tenant: number for tenant, number in rows.pending.items() if tenant in counted}
        siblings = {tenant: rows.siblings[tenant] for tenant in locks.tenant_ids if tenant in rows.siblings}
        return Snapshot(submissions, CatalogSnapshot(entries, retired), pending, siblings, rows.mailed_ms)

    def one(self, message: Message, now_ms: int = NOW) -> Answer:
        [answer] = self.send(message, now_ms=now_ms)
        return answer
