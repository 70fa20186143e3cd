"""The contract of the store of submissions, over Postgres and in memory."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import pytest

from actors.bookings.records import BookingStatus
from actors.catalog.messages import ChangeType, Entry
from actors.catalog.state import Decision as EditorDecision
from actors.catalog.store import CatalogStore
from actors.catalog.submission_rules import Decision, decide, rows_to_lock
from actors.catalog.submission_store import SubmissionStore
from actors.catalog.submissions import Answer, Message, Submission, SubmissionStatus, SubmissionView
from actors.keys.state import Decision as KeysDecision
from actors.keys.state import LockSet as KeysWanted
from actors.keys.state import Snapshot as KeysSnapshot
from actors.times import HOUR_MS
from actors.values import Account, BatchId, Code, Contended, Refused
from storage.connection.pool import Database
from storage.postgres.catalog import PostgresCatalog
from storage.postgres.submissions import PostgresSubmissions
from tests.doubles.catalog import MemoryCatalog
from tests.doubles.submissions import MemorySubmissions
from tests.doubles.tables import Memory
from tests.fakes import together
from tests.snapshots.editing import put
from tests.snapshots.entries import bot, of_bots
from tests.state.submissions import NOW, RULES, document, propose, review, saved, submission
from tests.stores.books import Books, a_world, booking
from tests.stores.conftest import Stores, beside, stores_over
from tests.stores.test_catalog_changes_contract import edited
from tests.stores.test_catalog_contract import loaded

EMAILS = ("one+0@example.com", "one@example.com", "two@example.com")
"""Of the tenants 1 to 3. The first two are one mailbox."""
ADMIN = "admin@example.com"


class Desk:
    """The stores of one node."""

    def __init__(self, stores: Stores, node: str = "node") -> None:
        self.stores = stores
        self.store: SubmissionStore = beside(stores, MemorySubmissions, PostgresSubmissions)
        self.catalog: CatalogStore = beside(stores, MemoryCatalog, PostgresCatalog)
        self.owner, self.batches = f"{node}/submissions", 0

    async def decision(self, *messages: Message, now_ms: int = NOW, batch: int = 0) -> Decision:
        self.batches += not batch
        batch_id = BatchId(self.owner, batch or self.batches)
        return await self.store.transact(
            batch_id, rows_to_lock(messages), lambda rows: decide(rows, messages, now_ms, RULES)
        )

    async def send(self, *messages: Message, now_ms: int = NOW) -> list[Answer]:
        """Decide by the real rules, again if another node was in the way."""
        while True:
            try:
                return list((await self.decision(*messages, now_ms=now_ms)).answers)
            except Contended:
                continue

    async def one(self, message: Message) -> Submission:
        [answer] = await self.send(message)
        return saved(answer)

    async def entry(self, slug: str) -> Entry | None:
        return (await self.catalog.stored(submission(1, slug).entry_id)).entry

    async def rows(self, table: str) -> list[tuple[str, ...]]:
        """Rows of the outbox or of the audit, in order."""
        below, columns = self.stores.below, {"outbox": "recipient, template", "audit": "action, target_id"}[table]
        if isinstance(below, Memory):
            rows = below.messages.values() if table == "outbox" else below.audits
            names = columns.split(", ")
            return sorted(tuple(str(getattr(row, name)) for name in names) for row in rows)
        return sorted(tuple(row) for row in await below.fetch(f"select {columns} from {table}"))


async def open_desk(stores: Stores) -> Desk:
    books = Books(stores)
    await a_world(books, len(EMAILS))
    accounts = {email: Account(email, f"ten_{number}", NOW) for number, email in enumerate(EMAILS, 1)}
    rows = KeysDecision(changed=KeysSnapshot(accounts=accounts, administrators={ADMIN: NOW}))
    await stores.keys.transact(books.next_batch_id(), KeysWanted(), lambda _: rows, NOW)
    desk = Desk(stores)
    await desk.catalog.replace(of_bots(bot("a"), bot("b")))
    return desk


@pytest.fixture
async def desk(stores: Stores) -> Desk:
    return await open_desk(stores)


def codes(answers: list[Answer]) -> list[Code | None]:
    return [answer.code if isinstance(answer, Refused) else None for answer in answers]


async def test_submissions_are_listed_by_account_and_status_with_what_the_catalog_has(desk: Desk) -> None:
    first, edit = await desk.one(propose(submission(1))), await desk.one(propose(submission(2, "a"), edit=True))
    other = await desk.one(propose(submission(3, tenant="ten_3")))
    declined = await desk.one(review(other, accept=False, note="No."))
    assert edit.base == document("a", 1_000)
    assert await desk.store.submissions("ten_1", None, 10) == [edit, first]
    assert await desk.store.submissions("ten_1", (edit.created_ms, edit.id), 10) == [first]
    assert await desk.store.submissions("ten_1", None, 1) == [edit]
    assert [await desk.store.count_submissions("ten_1", most) for most in (10, 1)] == [2, 1]
    assert await desk.store.submission("ten_1", first.id) == first
    assert await desk.store.submission("ten_3", first.id) is None
    views = [
        SubmissionView(first, None, EMAILS[0]),
        SubmissionView(edit, document("a", 1_000), EMAILS[0]),
        SubmissionView(declined, None, EMAILS[2]),
    ]
    assert await desk.store.for_review(None, None, 10) == views[::-1]
    assert await desk.store.for_review(None, None, 10, oldest=True) == views
    place = (first.created_ms, first.id)
    assert await desk.store.for_review(SubmissionStatus.PENDING, None, 1, oldest=True) == views[:1]
    assert await desk.store.for_review(SubmissionStatus.PENDING, place, 10, oldest=True) == views[1:2]
    assert await desk.store.for_review(SubmissionStatus.PENDING, (edit.created_ms, edit.id), 10) == views[:1]
    assert await desk.store.for_review(SubmissionStatus.DECLINED, None, 10) == views[2:]
    searches: Sequence[tuple[str, list[int]]] = (
        (first.id, [0]),
        (EMAILS[0].upper(), [1, 0]),
        ("NEW-", [2, 0]),
        ("%", []),
        (EMAILS[0][1:], []),
    )
    for text, found in searches:
        assert await desk.store.for_review(None, None, 10, text) == [views[n] for n in found], text
    counts = await desk.stores.sponsorship.list_counts(NOW)
    assert counts.submissions == 2


async def test_accepting_writes_the_entry_its_change_the_records_and_the_mail(desk: Desk) -> None:
    new = await desk.one(propose(submission(1)))
    before, number = await desk.catalog.revision(), (await loaded(desk.catalog)).changes[-1].number
    await desk.one(review(new, note="Thanks."))
    entry = await desk.entry("new-1")
    assert entry is not None
    assert (entry.document.decode(), entry.updated_ms) == (document("new-1", NOW, name="Bot 1"), NOW)
    assert await desk.catalog.revision() == before + 1
    [change] = (await loaded(desk.catalog, number)).changes
    assert (change.slug, change.type, change.at_ms) == ("new-1", ChangeType.ADDED, NOW)
    mails = [(ADMIN, "submissions_wait"), (EMAILS[0], "submission_accepted")]
    assert await desk.rows("outbox") == mails
    records = [("entry.created", "new-1"), ("submission.accepted", "sub_1"), ("submission.created", "sub_1")]
    assert [row for row in await desk.rows("audit") if row[0].startswith(("entry", "submission"))] == [
        (action, target if action == "entry.created" else f"sub_{'sub_1_review' if 'acc' in action else '1'}")
        for action, target in records
    ]


async def test_a_batch_that_is_repeated_is_decided_once(desk: Desk) -> None:
    new = await desk.one(propose(submission(1)))
    accept = review(new)
    first = await desk.decision(accept, batch=7)
    before = await desk.catalog.revision()
    batch_id = BatchId(desk.owner, 7)
    batch_id.decided = first
    again = await desk.store.transact(batch_id, rows_to_lock([accept]), lambda rows: decide(rows, [accept], NOW, RULES))
    assert again.answers == first.answers
    assert await desk.catalog.revision() == before


async def test_submissions_that_wait_count_by_mailbox_until_an_account_has_paid(desk: Desk) -> None:
    made = [propose(submission(number, tenant=f"ten_{number % 2 + 1}")) for number in range(RULES.pending)]
    assert codes(await desk.send(*made)) == [None] * RULES.pending
    more = [propose(submission(number, tenant=f"ten_{number - 19}")) for number in (20, 21, 22)]
    assert codes(await desk.send(*more)) == [Code.SUBMISSION_LIMIT, Code.SUBMISSION_LIMIT, None]
    await Books(desk.stores, "paid").lay_out(booking(1, 1, status=BookingStatus.PAID, paid_ms=NOW))
    assert codes(await desk.send(*more[:2])) == [None, None], "each has five of its own"


async def test_administrators_are_mailed_once_an_hour(desk: Desk) -> None:
    for number, now_ms in enumerate((NOW, NOW + 1, NOW + 2, NOW + HOUR_MS + 1)):
        await desk.decision(propose(submission(number)), now_ms=now_ms)
    assert await desk.rows("outbox") == [(ADMIN, "submissions_wait")] * 3


# Nodes over one Postgres.


async def _nodes(database: Database, count: int) -> list[Desk]:
    await open_desk(stores_over(database))
    return [Desk(stores_over(database), f"node{place}") for place in range(count)]


async def test_of_several_nodes_one_accepts_a_submission(database: Database) -> None:
    nodes = await _nodes(database, 3)
    new = await nodes[0].one(propose(submission(1)))
    before = await nodes[0].catalog.revision()
    calls = [partial(node.send, review(new, record=f"r{place}")) for place, node in enumerate(nodes)]
    answers = [codes(each) for each in await together(*calls)]
    assert sorted(answers, key=str) == [[Code.INVALID_STATE], [Code.INVALID_STATE], [None]]
    assert await nodes[0].catalog.revision() == before + 1


async def test_nodes_that_edit_entries_and_accept_edits_of_them_do_not_deadlock(database: Database) -> None:
    """What is accepted is based on the entry as it is."""
    first, second, editor = await _nodes(database, 3)
    for number in range(1, 4):
        reviews = []
        for place, slug in enumerate("ab"):
            proposed = await first.one(propose(submission(10 * number + place, slug), edit=True))
            reviews.append(partial(review, proposed, proposed.base))
        calls: list[Callable[[], Awaitable[Any]]] = [
            partial(first.send, reviews[0](record=f"{number}a"), reviews[1](record=f"{number}b")),
            partial(second.send, reviews[1](record=f"{number}c"), reviews[0](record=f"{number}d")),
            partial(edited, editor.catalog, put("bots/a", job=f"Job {number}."), seq=number, node="editor"),
        ]
        one, other, decision = await together(*calls)
        assert isinstance(decision, EditorDecision), decision
        accepted = [codes(answers).count(None) for answers in (one, other)]
        assert sum(accepted) in (1, 2), "the edit of b, and that of a unless the editor came first"


async def test_nodes_at_the_limit_let_in_no_more_than_it(database: Database) -> None:
    nodes = await _nodes(database, 3)
    await nodes[0].send(*(propose(submission(number)) for number in range(RULES.pending - 1)))
    news = [propose(submission(20 + place, tenant=f"ten_{place % 2 + 1}")) for place in range(3)]
    answers = await together(*(partial(node.send, new) for node, new in zip(nodes, news, strict=True)))
    assert sorted(map(codes, answers), key=str) == [[Code.SUBMISSION_LIMIT], [Code.SUBMISSION_LIMIT], [None]]


async def test_an_export_has_submissions_and_the_records_about_them_page_by_page(desk: Desk) -> None:
    mine = [await desk.one(propose(submission(number))) for number in (1, 2, 3)]
    other = await desk.one(propose(submission(4, tenant="ten_3")))

    async def exported(table: str, name: str) -> list[str]:
        found: list[str] = []
        place = ""
        while page := await desk.stores.accounts.export(Account(EMAILS[0], "ten_1", NOW), table, place, 2):
            found += [each.row[name] for each in page]
            place = page[-1].place
        return found

    ids = [each.id for each in mine]
    assert await exported("catalog_submissions", "id") == ids
    records = await exported("audit", "target_id")
    assert {each: records.count(each) for each in (*ids, other.id)} == dict.fromkeys(ids, 1) | {other.id: 0}
