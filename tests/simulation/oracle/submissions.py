"""Submissions: an accepted one writes its entry once and no other does, few enough wait, and each decision is mailed."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from actors.catalog.messages import Entry, EntryId
from actors.catalog.submissions import Submission, SubmissionSaved, SubmissionStatus
from actors.values import AuditRecord, BatchId, Code, OutboxMessage, Refused
from tests.simulation.history import Operation
from tests.simulation.oracle.case import Case
from tests.simulation.rules import SUBMISSIONS
from tests.simulation.submissions import ADMINISTRATOR

if TYPE_CHECKING:
    from tests.simulation.world import World

PENDING, ACCEPTED = SubmissionStatus.PENDING, SubmissionStatus.ACCEPTED
WAIT = "submissions_wait"


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """All submissions and entries after a transaction."""

    tick: int
    submissions: Mapping[str, Submission]
    entries: Mapping[EntryId, Entry]
    revision: int

    def waiting(self, mailboxes: Mapping[str, str], mailbox: str) -> int:
        rows = self.submissions.values()
        return sum(row.status is PENDING and mailboxes[row.tenant_id] == mailbox for row in rows)


@dataclass(slots=True, eq=False)
class Book:
    """The states of a world, in order."""

    states: list[State] = field(default_factory=list)

    def during(self, operation: Operation) -> Sequence[State]:
        """The state at the beginning of an operation, and those up to its end."""
        earlier = [each for each in self.states if each.tick <= operation.began]
        return [*earlier[-1:], *(each for each in self.states if operation.began < each.tick < operation.ended)]


def picture(world: "World") -> State:
    memory = world.memory
    return State(world.history.tick(), dict(memory.submissions), dict(memory.catalog.entries), memory.catalog.revision)


def mailboxes_of(world: "World") -> dict[str, str]:
    """The mailbox of each tenant. None of these accounts has paid."""
    return {row.tenant_id: row.email.split("+")[0].split("@")[0] for row in world.memory.accounts.values()}


def judge(
    world: "World",
    batch_id: BatchId,
    before: State,
    after: State,
    audits: Sequence[AuditRecord],
    messages: Sequence[OutboxMessage],
) -> Iterator[str]:
    """One transaction of submissions."""
    changed = {
        each.id: (before.submissions.get(each.id), each)
        for each in after.submissions.values()
        if before.submissions.get(each.id) is not each
    }
    accepted: dict[EntryId, Submission] = {}
    for old, new in changed.values():
        if (None if old is None else old.status, new.status) not in (
            (None, PENDING),
            *((PENDING, status) for status in SubmissionStatus if status is not PENDING),
            (None, ACCEPTED),
            (None, SubmissionStatus.DECLINED),
        ):
            yield f"{batch_id!r} changed {old} into {new}"
        if new.status is ACCEPTED:
            if new.entry_id in accepted:
                yield f"{batch_id!r} accepted two submissions of {new.entry_id}"
            accepted[new.entry_id] = new
    yield from _entries(batch_id, before, after, accepted)
    yield from _limits(world, batch_id, before, after)
    records = Counter(each.action for each in audits)
    decided = Counter(f"submission.{new.status}" for _, new in changed.values() if new.status is not PENDING)
    made = sum(old is None for old, _ in changed.values())
    if records - Counter({"entry.edited": 99, "entry.created": 99, "entry.restored": 99}) != decided + Counter(
        {"submission.created": made}
    ):
        yield f"{batch_id!r} left the records {records} of {decided} decisions and {made} submissions"
    yield from _mails(world, batch_id, [new for _, new in changed.values()], messages)


def _entries(batch_id: BatchId, before: State, after: State, accepted: Mapping[EntryId, Submission]) -> Iterator[str]:
    """The entries of accepted submissions are written as they were proposed, over what they were based on."""
    written = {
        name
        for name in {*before.entries, *after.entries}
        if _content(before.entries.get(name)) != _content(after.entries.get(name))
    }
    if written != accepted.keys():
        yield f"{batch_id!r} wrote {sorted(written)} and accepted {sorted(accepted)}"
    for name, submission in accepted.items():
        if _content(after.entries.get(name)) != _parsed(submission.entry):
            yield f"{batch_id!r} accepted {submission}, and the catalog has {after.entries.get(name)}"
        current = before.entries.get(name)
        if (None if current is None else current.document.decode()) != submission.base:
            yield f"{batch_id!r} accepted {submission} while the catalog had {current}"
    if after.revision - before.revision != bool(written):
        yield f"{batch_id!r} moved the revision from {before.revision} to {after.revision} and wrote {sorted(written)}"


def _content(entry: Entry | None) -> Any:
    return None if entry is None else _parsed(entry.document.decode())


def _parsed(document: str) -> Any:
    return {name: value for name, value in json.loads(document).items() if name != "addedAt"}


def _limits(world: "World", batch_id: BatchId, before: State, after: State) -> Iterator[str]:
    mailboxes = mailboxes_of(world)
    for mailbox in set(mailboxes.values()):
        waiting = after.waiting(mailboxes, mailbox)
        if waiting > max(SUBMISSIONS.pending, before.waiting(mailboxes, mailbox)):
            yield f"{batch_id!r} lets {waiting} submissions of {mailbox} wait"


def _mails(
    world: "World", batch_id: BatchId, changed: Sequence[Submission], messages: Sequence[OutboxMessage]
) -> Iterator[str]:
    """Each decision is mailed once. Administrators get a mail after each submission, at most so often."""
    emails = {account.tenant_id: account.email for account in world.memory.accounts.values()}
    expected = Counter(
        (f"submission_{each.status}", emails[each.tenant_id]) for each in changed if each.status is not PENDING
    )
    found = Counter((each.template, each.recipient) for each in messages if each.template != WAIT)
    if found != expected:
        yield f"{batch_id!r} wrote the mails {dict(found)}, and not {dict(expected)}"
    world.log.mailed.update(each.id for each in messages)
    mails = [each for each in world.memory.messages.values() if each.template == WAIT]
    times = sorted(each.created_ms for each in mails)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    if any(gap < SUBMISSIONS.mail_every_ms for gap in gaps):
        yield f"{batch_id!r} mails administrators at {times}"
    new = [each.created_ms for each in changed if each.status is PENDING]
    if any(each.recipient != ADMINISTRATOR for each in mails) or (new and max(times, default=0) < max(new)):
        yield f"{batch_id!r} has submissions of {new} and mails administrators at {times[-1:]}"


# At the end.


def proposals_are_as_answered(case: Case) -> Iterator[str]:
    """An answered proposal is stored, and an idempotency key has one submission."""
    of_keys: dict[tuple[str, str], set[str]] = {}
    for operation in case.of("propose"):
        if isinstance(operation.result, SubmissionSaved):
            about, saved = operation.about, operation.result.submission
            of_keys.setdefault((about.owner, about.key), set()).add(saved.id)
            stored = case.memory.submissions.get(saved.id)
            if stored is None or (stored.slug, stored.name, stored.base is not None) != (
                about.slug,
                about.name,
                about.edit,
            ):
                yield f"{about} was answered with {saved}, and stored is {stored}"
    for key, ids in of_keys.items():
        if len(ids) > 1:
            yield f"{key} made the submissions {sorted(ids)}"


def proposals_are_refused_for_a_reason(case: Case) -> Iterator[str]:
    mailboxes = mailboxes_of(case.world)
    for operation in case.of("propose"):
        if not isinstance(operation.result, Refused):
            continue
        about, states = operation.about, case.world.submissions.during(operation)
        has = [any(name.slug == about.slug for name in state.entries) for state in states]
        match operation.result.code:
            case Code.NOT_FOUND:
                fair = about.edit and not all(has)
            case Code.INVALID_STATE:
                fair = not about.edit and any(has)
            case Code.SUBMISSION_LIMIT:
                fair = _may_have_been_full(states, mailboxes, mailboxes[about.owner])
            case Code.IDEMPOTENCY_CONFLICT:
                others = [each.about for each in case.of("propose") if each.about.key == about.key]
                fair = any(other != about for other in others)
            case _:
                fair = False
        if not fair:
            yield f"{about} was refused at {operation.start:.3f}: {operation.result}"


def _may_have_been_full(states: Sequence[State], mailboxes: Mapping[str, str], mailbox: str) -> bool:
    """Within a batch, what waited before it and what it has made may have waited together, whatever it decided later."""
    most = max((state.waiting(mailboxes, mailbox) for state in states), default=0)
    for before, after in pairwise([State(0, {}, {}, 0), *states]):
        made = [row for row in after.submissions.values() if row.id not in before.submissions]
        new = sum(mailboxes[row.tenant_id] == mailbox for row in made)
        most = max(most, before.waiting(mailboxes, mailbox) + new)
    return most >= SUBMISSIONS.pending


def reviews_are_as_answered(case: Case) -> Iterator[str]:
    """An answered decision stands. One is refused because of another, or because the entry has changed."""
    for operation in case.of("review"):
        about = operation.about
        stored = case.memory.submissions[about.submission_id]
        if isinstance(operation.result, SubmissionSaved):
            if stored.status != ("accepted" if about.accept else "declined"):
                yield f"{about} was answered, and stored is {stored}"
        elif isinstance(operation.result, Refused):
            states = case.world.submissions.during(operation)
            rows = [(state.submissions.get(stored.id), state.entries.get(stored.entry_id)) for state in states]
            fair = any(
                row is None
                or row.status is not PENDING
                or about.seen != row.version(None if entry is None else entry.document.decode())
                or (about.accept and row.base != (None if entry is None else entry.document.decode()))
                for row, entry in rows
            )
            if operation.result.code is not Code.INVALID_STATE or not fair:
                yield f"{about} was refused at {operation.start:.3f}: {operation.result}"


def sights(case: Case) -> dict[str, int]:
    rows = case.memory.submissions.values()
    refused = [each.result.message for each in case.of("review") if isinstance(each.result, Refused)]
    return {
        **{f"submissions {status}": sum(row.status is status for row in rows) for status in SubmissionStatus},
        "edits accepted": sum(row.status is ACCEPTED and row.base is not None for row in rows),
        "a review was refused after a change": sum("Read it again" in each for each in refused),
        "an outdated submission was refused": sum("Decline it" in each for each in refused),
        "a submission was decided before": sum("already been" in each for each in refused),
    }


SOMETIMES = (
    "propose refused submission_limit",
    "propose refused not_found",
    "propose refused invalid_state",
    "propose refused idempotency_conflict",
    "review refused invalid_state",
)
