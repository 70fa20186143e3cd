"""Promise 8, the audit and the feed of webhook events: what a reader saw of them stays where it was. Pure."""

from bisect import bisect_left, insort
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

from tests.judge.accounts import Accounts
from tests.judge.finding import DAY_MS, Verdict, itself, with_past
from tests.judge.records import History, Operation, Record

ERASES = frozenset({"confirmAccountDeletion", "page"})
"""Operations that may take the email of an account out of the audit."""

KEPT_MS = 29 * DAY_MS
"""Younger items are certainly kept: the feed keeps 30 days, the audit 730 (docs/retention.md)."""


def check(history: History) -> Verdict:
    verdict, accounts = Verdict(), Accounts(history)
    audits: defaultdict[str, list[Operation]] = defaultdict(list)
    feeds: defaultdict[str, list[Operation]] = defaultdict(list)
    erased = any(each.kind in ERASES and (each.good or each.doubtful) for each in history.operations)
    for operation in sorted(history.operations, key=lambda each: each.ended):
        if not operation.read:
            continue
        if operation.asked.query is not None and (erased or operation.kind == "listWebhookEvents"):
            verdict.unjudged["a filter by a time, or by an email that may be erased"] += 1
        elif operation.kind == "listAudit":
            audits[operation.asked.query or ""].append(operation)
        elif operation.kind == "listWebhookEvents":
            feeds[accounts.owner(operation.asked.caller)].append(operation)
    for reads in audits.values():
        _audit(reads, verdict)
    for account, reads in feeds.items():
        _feed(account, reads, verdict, fresh=history.header.fresh)
    return verdict


# The audit: newest first, so that an earlier read is the end of a later one.

Place = tuple[int, str]
"""The time and the id of a record, which order the audit."""


@dataclass(slots=True)
class Known:
    """Records that were seen, in their order, with the first operation that showed each."""

    order: list[Place] = field(default_factory=list)
    first: dict[str, tuple[Record, Operation]] = field(default_factory=dict)


def _audit(reads: list[Operation], verdict: Verdict) -> None:
    known = Known()
    cursors = {each.said.cursor: each.said.records[-1] for each in reads if each.said.records}
    for operation, past in with_past(reads, itself):
        for each in past:
            _learn(each, known)
        cursor = operation.asked.cursor
        if cursor is not None and cursor not in cursors:
            verdict.unjudged["the page before it is not in the history"] += 1
            continue
        verdict.judged += 1
        before = cursors[cursor] if cursor is not None else None
        _page(operation, known, before, verdict)


def _learn(operation: Operation, known: Known) -> None:
    for record in operation.said.records:
        if record.id not in known.first:
            known.first[record.id] = (record, operation)
            insort(known.order, (record.at, record.id))


def _page(operation: Operation, known: Known, before: Record | None, verdict: Verdict) -> None:
    """A page shows every known record between its bounds, unchanged."""
    answer = operation.said
    places = [(each.at, each.id) for each in answer.records]
    if places != sorted(set(places), reverse=True):
        verdict.breaks("a page of the audit is not sorted by time, or has a record twice", operation)
        return
    _unchanged("the audit", operation, known.first, verdict)
    low = bisect_left(known.order, places[-1]) if answer.more and places else 0
    low = max(low, bisect_left(known.order, (int(operation.began) - KEPT_MS, "")))
    high = bisect_left(known.order, (before.at, before.id)) if before is not None else len(known.order)
    # A page without records and with more to come has no bound.
    expected = known.order[low:high] if places or not answer.more else []
    seen = set(places)
    lost = [place for place in expected if place not in seen]
    for _, id in lost[:1]:
        verdict.breaks(f"the audit has lost {len(lost)} records, among them {id}", known.first[id][1], operation)


def _unchanged(what: str, operation: Operation, first: dict[str, tuple[Record, Operation]], verdict: Verdict) -> None:
    for record in operation.said.records:
        if record.id in first and first[record.id][0] != record:
            verdict.breaks(f"{what} shows another {record.id} than before", first[record.id][1], operation)


# The feed: oldest first. After each event comes the same next one, for every reader and for ever.


START = ""
"""The place before the first event of a feed."""


@dataclass(slots=True)
class Feed:
    """What was seen of a feed: where each cursor stands, which event comes after which, and each event."""

    places: dict[str | None, str] = field(default_factory=dict)
    following: dict[str, tuple[str, Operation]] = field(default_factory=dict)
    first: dict[str, tuple[Record, Operation]] = field(default_factory=dict)

    def path(self, operation: Operation) -> list[str]:
        """The place at which a read began, if that is known, and the events that it shows."""
        place = self.places.get(operation.asked.cursor)
        return ([] if place is None else [place]) + [each.id for each in operation.said.records]

    def learn(self, operation: Operation) -> None:
        path, answer = self.path(operation), operation.said
        for one, other in pairwise(path):
            self.following.setdefault(one, (other, operation))
        for record in answer.records:
            self.first.setdefault(record.id, (record, operation))
        if path and answer.cursor is not None:
            self.places[answer.cursor] = path[-1]


def _feed(account: str, reads: list[Operation], verdict: Verdict, *, fresh: bool) -> None:
    """Compare each read with those before it. A history that is fresh and short has the first event of each feed."""
    feed = Feed()
    if fresh and reads[-1].ended - reads[0].began < KEPT_MS:
        feed.places[None] = START
    for operation, past in with_past(reads, itself):
        for each in past:
            feed.learn(each)
        answer, path = operation.said, feed.path(operation)
        if operation.asked.cursor not in feed.places:
            verdict.unjudged["where a read of the feed begins is known only from the cursor of another one"] += 1
        verdict.judged += 1
        _unchanged("the feed", operation, feed.first, verdict)
        if len(set(path)) < len(path):
            verdict.breaks(f"the feed of {account} shows an event twice", operation)
        for one, other in pairwise(path):
            if one in feed.following and feed.following[one][0] != other:
                before, shown = feed.following[one]
                words = f"the feed of {account} shows {other} where it showed {before} before"
                verdict.breaks(words, shown, operation)
        if path and not answer.more and path[-1] in feed.following:
            lost, shown = feed.following[path[-1]]
            verdict.breaks(f"the feed of {account} ends before {lost}, which it showed before", shown, operation)
