"""Three ledgers over one Postgres that take payments and refunds at once, with transactions that are rolled back and commits
whose outcome is lost: the numbers of invoices have no gaps, and no payment has two."""

import random
from collections import Counter
from typing import Any

from actors.bookings.actor import BookingLedger
from actors.bookings.records import BookingStatus, BookingView
from actors.bookings.state import BookingRules
from actors.kernel.actor import ActorLimits
from actors.kernel.supervision import running
from actors.values import Agent, Contended, OutcomeUnknown
from storage.connection.pool import Connection, Database
from storage.postgres.ledger import PostgresLedger
from tests.fakes import HandClock, SeededEntropy, together
from tests.slow import shortened
from tests.stores.books import NOW, Books, a_world, booking, slot, week
from tests.stores.conftest import stores_over

BOOKINGS = 10 * (1 + shortened(5))
AGENT = Agent("key", "key_1", "admin@example.com")


class Failing(Database):
    """A database that undoes every third transaction after all its statements, and loses every fourth commit."""

    def __init__(self, below: Database) -> None:
        self._below = below
        self._begun = self.undone = self.lost = 0

    async def transact(self, work: Any, *, seconds: float | None = None) -> Any:
        number = self._begun = self._begun + 1

        async def undone(connection: Connection) -> Any:
            result = await work(connection)
            if number % 3 == 1:
                self.undone += 1
                raise Contended("undone after its last statement")
            return result

        result = await self._below.transact(undone, seconds=seconds)
        if number % 4 == 2:
            self.lost += 1
            raise OutcomeUnknown("the answer to the commit was lost")
        return result


async def _life(ledgers: list[BookingLedger], number: int) -> None:
    """A payment that is reported to every node; then, by chance, refunds and failures of them."""
    chance = random.Random(number)
    booking_id, payment_id = f"bok_{number}", f"pay_{number}"

    async def pay(ledger: BookingLedger) -> None:
        paid = await ledger.record_payment(f"evt_{number}", booking_id, payment_id, 5_000, "usd")
        assert isinstance(paid, BookingView), paid

    await together(*(lambda ledger=ledger: pay(ledger) for ledger in ledgers))
    for attempt in range(chance.randrange(3)):
        await chance.choice(ledgers).order_refund(booking_id, None, AGENT)
        await chance.choice(ledgers).settle_refund(booking_id, None)
        if attempt == 0:
            await chance.choice(ledgers).settle_refund(booking_id, "Returned", f"re_{number}", payment_id)


async def test_numbers_have_no_gaps_and_no_payment_has_two(database: Database) -> None:
    books = Books(stores_over(database))
    await a_world(books)
    numbers = range(1, BOOKINGS + 1)
    slots = [slot(f"slot-{number}") for number in numbers]
    rows = [
        booking(number, 1 + number % 2, slot_id=f"slot-{number}", status=BookingStatus.CHECKOUT, week_start_ms=week(2))
        for number in numbers
    ]
    await books.lay_out(*slots, *rows)
    failing = [Failing(database) for _ in range(3)]
    limits = ActorLimits(batch=4, settle_attempts=50, settle_pause_seconds=0.001, settle_pause_max_seconds=0.01)
    ledgers = [
        BookingLedger(
            PostgresLedger(each), HandClock(NOW), SeededEntropy(place), BookingRules(), node=f"n{place}", limits=limits
        )
        for place, each in enumerate(failing)
    ]
    async with running(ledgers):
        results = await together(*(lambda number=number: _life(ledgers, number) for number in numbers))
    assert [error for error in results if error is not None] == []
    assert all(each.undone and each.lost for each in failing), "nothing went wrong, so nothing was shown"
    made = [
        row for tenant in ("ten_1", "ten_2") for row in await books.stores.sponsorship.invoices(tenant, None, 10_000)
    ]
    for series in ("test invoice", "test credit_note"):
        taken = sorted(invoice.sequence for invoice in made if invoice.series == series)
        assert taken == list(range(1, len(taken) + 1)), series
        assert taken
    first = Counter(
        invoice.booking_id for invoice in made if invoice.series == "test invoice" and not invoice.belongs_to
    )
    assert first == Counter({f"bok_{number}": 1 for number in numbers})
    views = {view.booking.id: view.booking for view in await books.stores.sponsorship.bookings(None, None, 10_000)}
    for row in views.values():
        own = [each for each in made if each.booking_id == row.id]
        balance = sum(each.amount_cents * (1 if each.kind == "invoice" else -1) for each in own)
        assert balance == (row.paid_cents or 0) - row.refunded_cents, row
