"""The contract of the outbox, in memory and over Postgres. The key store of each inserts the messages."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
import trio

from actors.keys.state import Decision, LockSet
from actors.keys.store import KeyStore
from actors.mail.messages import Backlog, GivenUp, QueuedMessage, RetryLater, Sent
from actors.mail.store import MAX_COUNTED, Outbox
from actors.values import BatchId, OutboxMessage
from storage.connection.pool import Connection, Database
from storage.postgres.keys import PostgresKeys
from storage.postgres.mail import PostgresOutbox
from tests.doubles.keys import MemoryKeys
from tests.doubles.mail import MemoryOutbox
from tests.doubles.tables import Memory

NOW_MS = 1_763_640_000_000
UNTIL_MS = NOW_MS + 60_000


@dataclass
class Case:
    """An outbox and the key store that fills it."""

    keys: KeyStore
    outbox: Outbox
    batches: int = 0

    async def post(self, *letters: OutboxMessage) -> None:
        self.batches += 1
        batch_id = BatchId("test", self.batches)
        await self.keys.transact(batch_id, LockSet((), (), ()), lambda _: Decision(outbox=list(letters)), NOW_MS)

    async def all(self) -> dict[str, QueuedMessage]:
        return {message.id: message for message in await self.outbox.recent(1_000)}

    async def one(self, message_id: str = "let_1") -> QueuedMessage:
        return (await self.all())[message_id]


FACTS = '{"prefix": "cs_user_abcd", "name": "\\u00e9t\\u00e9 \\"CI\\""}'


def message(message_id: str = "let_1", created_ms: int = NOW_MS) -> OutboxMessage:
    return OutboxMessage(
        message_id, "anna@example.com", "claim_code", b"\x00nonce\xff", created_ms, created_ms + 600_000, FACTS
    )


def row(letter_id: str = "let_1", created_ms: int = NOW_MS) -> QueuedMessage:
    """A newly inserted message, as the outbox returns it."""
    kept = message(letter_id, created_ms)
    return QueuedMessage(
        kept.id, kept.recipient, kept.template, kept.nonce, kept.created_ms, kept.expires_ms, created_ms, FACTS
    )


def ids(messages: Sequence[QueuedMessage]) -> list[str]:
    return [message.id for message in messages]


class OutboxContract:
    """The guarantees on which the mail sender relies."""

    async def test_an_empty_outbox_leases_nothing(self, case: Case) -> None:
        lease = await case.outbox.lease(4, NOW_MS, UNTIL_MS)
        assert (lease.messages, lease.next_due_ms) == ((), None)
        assert list(await case.outbox.recent(10)) == []
        assert await case.outbox.prune(UNTIL_MS, 10) == 0

    async def test_a_leased_letter_is_as_it_was_put_there_with_an_attempt_counted(self, case: Case) -> None:
        await case.post(message())
        lease = await case.outbox.lease(4, NOW_MS, UNTIL_MS)
        assert lease.messages == (replace(row(), attempts=1, due_ms=UNTIL_MS),)
        assert lease.next_due_ms == UNTIL_MS
        assert await case.one() == lease.messages[0]

    async def test_a_leased_letter_is_nobody_elses_until_the_lease_ends(self, case: Case) -> None:
        await case.post(message())
        await case.outbox.lease(4, NOW_MS, UNTIL_MS)
        assert (await case.outbox.lease(4, UNTIL_MS - 1, UNTIL_MS + 60_000)).messages == ()
        (again,) = (await case.outbox.lease(4, UNTIL_MS, UNTIL_MS + 60_000)).messages
        assert (again.attempts, again.due_ms) == (2, UNTIL_MS + 60_000)

    async def test_a_letter_is_not_leased_before_it_is_due(self, case: Case) -> None:
        await case.post(message("let_1", NOW_MS + 5))
        lease = await case.outbox.lease(4, NOW_MS + 4, UNTIL_MS)
        assert (lease.messages, lease.next_due_ms) == ((), NOW_MS + 5)
        assert ids((await case.outbox.lease(4, NOW_MS + 5, UNTIL_MS)).messages) == ["let_1"]

    async def test_a_lease_is_bounded_and_takes_the_longest_due_first(self, case: Case) -> None:
        await case.post(*[message(f"let_{number}", NOW_MS - number) for number in range(5)])
        lease = await case.outbox.lease(3, NOW_MS, UNTIL_MS)
        assert ids(lease.messages) == ["let_4", "let_3", "let_2"]
        assert lease.next_due_ms == NOW_MS - 1
        assert ids((await case.outbox.lease(3, NOW_MS, UNTIL_MS)).messages) == ["let_1", "let_0"]

    async def test_a_lease_tells_how_many_messages_wait_and_since_when(self, case: Case) -> None:
        assert (await case.outbox.lease(4, NOW_MS, UNTIL_MS)).backlog == Backlog(0, None)
        await case.post(*[message(f"let_{number}", NOW_MS - number) for number in range(5)])
        assert (await case.outbox.lease(2, NOW_MS, UNTIL_MS)).backlog == Backlog(5, NOW_MS - 4)
        await case.outbox.mark([Sent("let_4", NOW_MS), GivenUp("let_3", 1, NOW_MS, "550 no")])
        assert (await case.outbox.lease(4, NOW_MS, UNTIL_MS)).backlog == Backlog(3, NOW_MS - 2)

    async def test_a_long_backlog_is_counted_up_to_a_limit(self, case: Case) -> None:
        await case.post(*[message(f"let_{number:04}", NOW_MS + number) for number in range(MAX_COUNTED + 5)])
        lease = await case.outbox.lease(1, NOW_MS, UNTIL_MS)
        assert lease.backlog == Backlog(MAX_COUNTED, NOW_MS + 1)
        assert lease.next_due_ms == NOW_MS + 1

    async def test_leases_at_once_never_share_a_letter(self, case: Case) -> None:
        await case.post(*[message(f"let_{number:02}") for number in range(40)])
        leased: list[str] = []

        async def lease() -> None:
            while taken := (await case.outbox.lease(3, NOW_MS, UNTIL_MS)).messages:
                leased.extend(ids(taken))

        async with trio.open_nursery() as nursery:
            for _ in range(6):
                nursery.start_soon(lease)
        # A worker that finds the rest locked stops early, so one more looks when all others have stopped.
        await lease()
        assert sorted(leased) == [f"let_{number:02}" for number in range(40)]

    async def test_a_sent_letter_is_done(self, case: Case) -> None:
        await case.post(message())
        (leased,) = (await case.outbox.lease(4, NOW_MS, UNTIL_MS)).messages
        await case.outbox.mark([Sent("let_1", NOW_MS + 7)])
        assert await case.one() == replace(leased, sent_ms=NOW_MS + 7)
        lease = await case.outbox.lease(4, UNTIL_MS, UNTIL_MS + 1)
        assert (lease.messages, lease.next_due_ms) == ((), None)

    async def test_a_failed_letter_is_due_again_when_it_was_said_to_be(self, case: Case) -> None:
        await case.post(message())
        await case.outbox.lease(4, NOW_MS, UNTIL_MS)
        await case.outbox.mark([RetryLater("let_1", 1, NOW_MS + 1_000, "451 later")])
        assert (await case.one()).last_error == "451 later"
        assert (await case.outbox.lease(4, NOW_MS + 999, UNTIL_MS)).messages == ()
        (again,) = (await case.outbox.lease(4, NOW_MS + 1_000, UNTIL_MS)).messages
        assert (again.attempts, again.last_error) == (2, "451 later")

    async def test_a_letter_that_was_given_up_is_done(self, case: Case) -> None:
        await case.post(message())
        (leased,) = (await case.outbox.lease(4, NOW_MS, UNTIL_MS)).messages
        await case.outbox.mark([GivenUp("let_1", 1, NOW_MS + 7, "550 no")])
        assert await case.one() == replace(leased, failed_ms=NOW_MS + 7, last_error="550 no")
        assert (await case.outbox.lease(4, UNTIL_MS, UNTIL_MS + 1)).messages == ()

    async def test_marks_of_a_lease_that_was_followed_by_another_do_not_hold(self, case: Case) -> None:
        await case.post(message())
        await case.outbox.lease(4, NOW_MS, UNTIL_MS)
        (later,) = (await case.outbox.lease(4, UNTIL_MS, UNTIL_MS + 60_000)).messages
        await case.outbox.mark([RetryLater("let_1", 1, NOW_MS, "late")])
        await case.outbox.mark([GivenUp("let_1", 1, NOW_MS, "late")])
        assert await case.one() == later

    async def test_a_mail_that_is_out_is_sent_whoever_holds_the_lease(self, case: Case) -> None:
        await case.post(message())
        await case.outbox.lease(4, NOW_MS, UNTIL_MS)
        await case.outbox.lease(4, UNTIL_MS, UNTIL_MS + 60_000)
        await case.outbox.mark([GivenUp("let_1", 2, UNTIL_MS + 1, "expired")])
        await case.outbox.mark([Sent("let_1", UNTIL_MS + 2)])
        kept = await case.one()
        assert (kept.sent_ms, kept.failed_ms) == (UNTIL_MS + 2, None)

    async def test_a_finished_message_stays_as_it_is(self, case: Case) -> None:
        await case.post(message())
        await case.outbox.lease(4, NOW_MS, UNTIL_MS)
        await case.outbox.mark([Sent("let_1", NOW_MS + 1)])
        kept = await case.one()
        await case.outbox.mark([Sent("let_1", NOW_MS + 2)])
        await case.outbox.mark([RetryLater("let_1", 1, NOW_MS + 2, "late")])
        await case.outbox.mark([GivenUp("let_1", 1, NOW_MS + 2, "late")])
        assert await case.one() == kept

    async def test_many_marks_are_kept_at_once_and_those_of_unknown_letters_are_passed_over(self, case: Case) -> None:
        await case.post(message("let_1"), message("let_2"), message("let_3"))
        await case.outbox.lease(4, NOW_MS, UNTIL_MS)
        await case.outbox.mark(
            [
                Sent("let_3", NOW_MS + 3),
                GivenUp("let_1", 1, NOW_MS + 1, "550"),
                Sent("let_9", NOW_MS),
                RetryLater("let_2", 1, NOW_MS + 2, "451"),
            ]
        )
        messages = await case.all()
        assert [messages[f"let_{number}"].done_ms for number in (1, 2, 3)] == [NOW_MS + 1, None, NOW_MS + 3]
        assert len(messages) == 3

    async def test_only_what_was_done_before_is_deleted_the_oldest_first_and_bounded(self, case: Case) -> None:
        await case.post(*[message(f"let_{number}") for number in range(5)])
        await case.outbox.lease(5, NOW_MS, UNTIL_MS)
        await case.outbox.mark([Sent("let_0", NOW_MS + 10), Sent("let_1", NOW_MS + 20), Sent("let_3", NOW_MS + 40)])
        await case.outbox.mark([GivenUp("let_2", 1, NOW_MS + 30, "550")])
        assert await case.outbox.prune(NOW_MS + 40, 2) == 2
        assert sorted(await case.all()) == ["let_2", "let_3", "let_4"]
        assert await case.outbox.prune(NOW_MS + 40, 2) == 1
        assert await case.outbox.prune(NOW_MS + 40, 2) == 0
        assert sorted(await case.all()) == ["let_3", "let_4"]

    async def test_the_newest_letters_are_shown_first_and_bounded(self, case: Case) -> None:
        await case.post(message("let_b"), message("let_a"), message("let_c", NOW_MS + 1))
        assert list(await case.outbox.recent(2)) == [row("let_c", NOW_MS + 1), row("let_b")]


class TestMemoryOutbox(OutboxContract):
    @pytest.fixture
    def case(self) -> Case:
        memory = Memory()
        return Case(MemoryKeys(memory), MemoryOutbox(memory))


class TestPostgresOutbox(OutboxContract):
    @pytest.fixture
    async def case(self, database: Database) -> Case:
        return Case(PostgresKeys(database), PostgresOutbox(database))

    async def test_a_letter_that_another_node_has_locked_is_passed_over_and_not_waited_for(
        self, case: Case, database: Database
    ) -> None:
        await case.post(message("let_1"), message("let_2"))
        locked, release = trio.Event(), asyncio.Event()

        async def other_node(connection: Connection) -> None:
            await connection.execute("select 1 from outbox where id = 'let_1' for update")
            locked.set()
            await release.wait()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(database.transact, other_node)
            await locked.wait()
            try:
                with trio.fail_after(60):
                    lease = await case.outbox.lease(4, NOW_MS, UNTIL_MS)
            finally:
                release.set()
        assert ids(lease.messages) == ["let_2"]
        assert lease.next_due_ms == NOW_MS
        assert ids((await case.outbox.lease(4, NOW_MS, UNTIL_MS)).messages) == ["let_1"]
