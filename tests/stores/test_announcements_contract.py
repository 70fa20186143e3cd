"""The contract of what the ledger tells: mails to owners and administrators, and schedules, over Postgres and in memory."""

from typing import Any

import pytest

from actors.accounts.messages import MailChoices
from actors.bookings.decision import Decision
from actors.bookings.messages import CreateCampaign, FollowSchedule, SendDigest
from actors.bookings.records import BookingStatus, CampaignStatus, DayDelivered
from actors.bookings.state import LockSet
from actors.shared.announcements import AccountMail, Topic
from actors.times import DAY_MS
from storage.connection.pool import Connection
from tests.doubles.tables import Memory
from tests.stores.books import DAY, NOW, Books, a_world, booking, campaign, origin, week
from tests.stores.conftest import Stores


@pytest.fixture
def books(stores: Stores) -> Books:
    return Books(stores)


def mail(number: int, tenant: int | None = 1, topic: Topic | None = None) -> AccountMail:
    to = None if tenant is None else f"ten_{tenant}"
    return AccountMail(f"msg_{number}", to, "refund_made", topic, '{"booking":"bok_1"}', NOW, NOW + 9)


async def turn_off(books: Books, email: str, topic: Topic) -> None:
    """Turn one topic off."""
    below, rest = books.stores.below, [each for each in Topic if each is not topic]
    if isinstance(below, Memory):
        below.mail_choices[email] = MailChoices(email, *(each in rest for each in Topic))
        return

    async def insert(connection: Connection) -> None:
        statement = "insert into mail_choices (email, reviews, bookings, reports) values ($1, $2, $3, $4)"
        await connection.execute(statement, email, *(each in rest for each in Topic))

    await below.read(insert)


async def outbox(books: Books) -> list[tuple[str, str]]:
    """The ids and recipients of all messages."""
    below = books.stores.below
    if isinstance(below, Memory):
        return sorted((message.id, message.recipient) for message in below.messages.values())
    rows = await below.read(lambda connection: connection.fetch("select id, recipient from outbox"))
    return sorted((row["id"], row["recipient"]) for row in rows)


async def facts_of(books: Books, message_id: str) -> str:
    below = books.stores.below
    if isinstance(below, Memory):
        return below.messages[message_id].facts
    rows = await below.read(
        lambda connection: connection.fetch("select facts::text from outbox where id = $1", message_id)
    )
    return str(rows[0]["facts"])


async def test_a_mail_goes_to_the_owner_of_the_account_and_to_nobody_without_one(books: Books) -> None:
    await a_world(books, tenants=3)
    await books.accounts(1, 2)
    await books.keep(Decision(mails=[mail(1, 1), mail(2, 2), mail(3, 3), mail(4, 1)]))
    mine = "owner1@example.com"
    assert await outbox(books) == [("msg_1", mine), ("msg_2", "owner2@example.com"), ("msg_4", mine)]


async def test_a_mail_to_administrators_goes_to_each_of_them_under_a_number(books: Books) -> None:
    await books.keep(Decision(mails=[mail(1, None)]))
    await books.administrators("bob@example.com", "ann@example.com")
    await books.keep(Decision(mails=[mail(2, None), mail(3, None)]))
    both = ("ann@example.com", "bob@example.com")
    assert await outbox(books) == [(f"msg_{n}_{place}", both[place - 1]) for n in (2, 3) for place in (1, 2)]


@pytest.mark.parametrize("topic", Topic)
async def test_a_topic_that_is_turned_off_is_not_mailed_and_others_are(books: Books, topic: Topic) -> None:
    await a_world(books)
    await books.accounts(1)
    await books.administrators("owner1@example.com")
    await turn_off(books, "owner1@example.com", topic)
    mails = [mail(n, to, each) for n, (each, to) in enumerate([(each, to) for each in Topic for to in (1, None)])]
    await books.keep(Decision(mails=[*mails, mail(8, 1), mail(9, None)]))
    kept = [f"{each.id}{'' if each.tenant_id else '_1'}" for each in mails if each.topic is not topic]
    assert [message_id for message_id, _ in await outbox(books)] == sorted([*kept, "msg_8", "msg_9_1"])


async def test_a_mail_whose_id_exists_is_not_written_again(books: Books) -> None:
    await a_world(books)
    await books.accounts(1)
    await books.administrators("ann@example.com")
    for _ in range(2):
        await books.keep(Decision(mails=[mail(1), mail(2, None)]))
    assert [message_id for message_id, _ in await outbox(books)] == ["msg_1", "msg_2_1"]


async def test_steps_are_due_for_paid_bookings_the_longest_first(books: Books) -> None:
    await a_world(books)
    steps = {1: NOW - 1, 2: NOW - 5, 3: NOW, 4: NOW + 1, 5: 0, 6: None}
    paid = BookingStatus.PAID
    rows = [booking(n, week_start_ms=week(n), status=paid, next_step_ms=step) for n, step in steps.items()]
    unpaid = booking(7, week_start_ms=week(7), status=BookingStatus.REFUNDING)
    demo = booking(8, week_start_ms=week(8), status=paid, demo=True)
    await books.lay_out(*rows, unpaid, demo)
    reads = books.stores.sponsorship
    assert list(await reads.due_steps(NOW, 10)) == ["bok_5", "bok_2", "bok_1", "bok_3"]
    assert list(await reads.due_steps(NOW, 2)) == ["bok_5", "bok_2"]


async def test_followed_bookings_are_read_with_their_days(books: Books) -> None:
    await a_world(books)
    await books.lay_out(booking(1), booking(2, week_start_ms=week(2)))
    await books.deliver("bok_1", DAY, 3, 1)
    await books.deliver("bok_1", DAY + 1, 0, 2)
    await books.deliver("bok_2", DAY, 9, 9)
    seen = await books.see(LockSet(booking_ids=("bok_1", "bok_2"), followed_ids=("bok_1",)))
    assert seen.days == {"bok_1": [DayDelivered(DAY, 3, 1), DayDelivered(DAY + 1, 0, 2)]}


async def test_the_digest_is_due_after_a_submission_and_once_an_hour(books: Books) -> None:
    await a_world(books)
    await books.administrators("ann@example.com")
    reads = books.stores.sponsorship
    assert not await reads.digest_is_due(NOW)
    for number in (3, 4):
        made = campaign(number, status=CampaignStatus.PENDING, submitted_ms=NOW + number)
        await books.send(CreateCampaign(made, origin(number)))
    assert await reads.digest_is_due(NOW)
    await books.send(SendDigest(), now_ms=NOW + 5)
    assert not await reads.digest_is_due(NOW + 5)
    await books.send(CreateCampaign(campaign(5, status=CampaignStatus.PENDING, submitted_ms=NOW + 6), origin(5)))
    assert not await reads.digest_is_due(NOW + 4)
    assert await reads.digest_is_due(NOW + 5)
    assert [recipient for _, recipient in await outbox(books)] == ["ann@example.com"]


async def test_lists_of_campaigns_that_wait_include_edits(books: Books) -> None:
    await a_world(books)
    await books.lay_out(campaign(1, pending=campaign().content), campaign(3, status=CampaignStatus.REJECTED))
    reads = books.stores.sponsorship
    for oldest in (True, False):
        listed = await reads.everybodys_campaigns(CampaignStatus.PENDING, None, 9, oldest=oldest)
        assert [view.campaign.id for view in listed] == ["cmp_1"]


async def test_whichever_booking_of_an_account_comes_first_mails_its_week_once(books: Books) -> None:
    """On two nodes, with the figures of all bookings, those that have ended included."""
    await a_world(books)
    await books.accounts(1, 2)
    paid: dict[str, Any] = {"status": BookingStatus.PAID, "paid_ms": NOW, "paid_cents": 5_000, "next_step_ms": week(2)}
    goes_on = [booking(n, week_start_ms=week(n - 1), weeks=4, **paid) for n in (1, 2)]
    ended = booking(3, week_start_ms=week(1), **{**paid, "next_step_ms": None})
    foreign = booking(4, 2, week_start_ms=week(0), weeks=1, **{**paid, "next_step_ms": None})
    await books.lay_out(*goes_on, ended, foreign, weeks=False)
    first = week(1) // DAY_MS
    for number, day in ((1, first), (1, first - 1), (2, first + 6), (3, first + 3), (2, first + 7), (4, first)):
        await books.deliver(f"bok_{number}", day, 10 * number, number)
    other = Books(books.stores, "two/bookings")
    monday = week(2) + 10 * 60_000
    for node, booking_id in ((books, "bok_1"), (other, "bok_2"), (other, "bok_1")):
        await node.send(FollowSchedule(booking_id, origin(1)), now_ms=monday)
    [(mail_id, recipient)] = [each for each in await outbox(books) if "_week_" in each[0]]
    assert (mail_id, recipient) == (f"msg_1_week_{week(2) // DAY_MS}_o", "owner1@example.com")
    assert '"impressions":"60","clicks":"6"' in await facts_of(books, mail_id)
