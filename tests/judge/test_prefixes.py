"""Promise 8: the audit and the feed only grow."""

from typing import Any

from tests.judge.prefixes import check
from tests.judge.records import Operation, Record
from tests.judge.small import NOON, Case, holds, op, partial


def audit(at: float, *ids: int, more: bool = False, **facts: Any) -> Operation:
    """A page of the audit. Each record has its number as time and id."""
    records = tuple(Record(f"r{id}", NOON + id, "d") for id in ids)
    return op("listAudit", at, caller="key-1", records=records, more=more, **facts)


def feed(at: float, *ids: str, more: bool = False, **facts: Any) -> Operation:
    records = tuple(Record(id, 0, "d") for id in ids)
    return op("listWebhookEvents", at, records=records, more=more, **{"caller": "key-1", **facts})


CLEAN: dict[str, Case] = {
    "pages that were not read": [
        *(audit(0, 2, 1), audit(1, code="unread"), audit(2, 2, 1)),
        *(feed(0, "a", gives="x"), feed(1, code="unread"), feed(2, "a")),
    ],
    "an audit that grows": [audit(0, 2, 1), audit(1, 3, 2, 1), audit(2, 5, 4, 3, 2, 1)],
    "pages of the audit": [audit(0, 4, 3, more=True, gives="x"), audit(1, 2, 1, cursor="x"), audit(2, 5, 4, 3, 2, 1)],
    "a record by a clock that is behind": [audit(0, 5, 1), audit(1, 5, 3, 1)],
    "a page of the newest": [audit(0, 3, 2, 1), audit(1, 4, 3, more=True)],
    "two filters": [audit(0, 3, 2), audit(1, 9, query="f"), audit(2, 3, 2)],
    "two reads at once": [audit(0, 3, 2, 1, took=5), audit(1, 2, 1, took=5)],
    "an email that was erased": [
        *(audit(0, 2, 1, query="f"), op("confirmAccountDeletion", 1), audit(2, 2, query="f")),
    ],
    "a feed that is followed": [
        *(feed(0, "a", "b", gives="x"), feed(1, cursor="x", gives="y"), feed(2, "c", cursor="y", gives="z")),
        *(feed(3, "a", "b", "c"), feed(4, "c", cursor="x")),
    ],
    "feeds of two accounts": [feed(0, "a"), feed(1, "b", caller="key-2"), feed(2, "a")],
    "a feed of few": [feed(0, "a", "b"), feed(1, "a", more=True)],
    "a feed with its old events gone": partial(feed(0, "a", "b"), feed(1, "b", "c")),
    "a feed since a time": [feed(0, "a", "b"), feed(1, "b", query="s")],
}

BROKEN: dict[str, tuple[Case, str]] = {
    "a lost record": ([audit(0, 3, 2, 1), audit(1, 3, 1)], "lost 1 records, among them r2"),
    "the newest record is lost": (partial(audit(0, 3, 2, 1), audit(1, 2, 1)), "among them r3"),
    "lost from a page": (
        [audit(0, 4, 3, 2, 1), audit(1, 4, more=True, gives="x"), audit(2, 2, 1, cursor="x")],
        "among them r3",
    ),
    "an audit out of order": ([audit(0, 1, 2)], "not sorted"),
    "a changed record": (
        [audit(0, 1), op("listAudit", 1, records=(Record("r1", NOON + 1, "e"),))],
        "the audit shows another r1",
    ),
    "a skipped event": ([feed(0, "a", "c"), feed(1, "a", "b", "c")], "shows b where it showed c before"),
    "an event that was skipped by a cursor": (
        [feed(0, "a", gives="x"), feed(1, "c", cursor="x"), feed(2, "a", "b", "c")],
        "shows b where it showed c before",
    ),
    "a lost event": ([feed(0, "a", "b"), feed(1, "a")], "ends before b"),
    "an empty feed": ([feed(0, "a", "b"), feed(1)], "ends before a"),
    "an event twice": ([feed(0, "a", "b", "a")], "shows an event twice"),
    "an event again after a cursor": ([feed(0, "a", "b", gives="x"), feed(1, "b", cursor="x")], "shows an event twice"),
    "a changed event": (
        [feed(0, "a"), op("listWebhookEvents", 1, caller="key-1", records=(Record("a", 0, "e"),))],
        "the feed shows another a",
    ),
}


def test_what_a_reader_saw_stays_where_it_was() -> None:
    holds(check, CLEAN, BROKEN)
