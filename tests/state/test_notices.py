"""The limit of security mails to one mailbox."""

from dataclasses import replace

from actors.shared.notices import NoticeLimiter, notice
from actors.values import BatchId, OutboxMessage

NOW = 1_000_000_000
HOUR_MS = 3_600_000


def to_ann(number: int, template: str = "new_key") -> OutboxMessage:
    return notice(f"msg_{number}", template, "ann@example.com", NOW)


def batch(number: int) -> BatchId:
    return BatchId("one", number)


def test_beyond_its_limit_a_mailbox_gets_no_notice_until_the_hour_is_over() -> None:
    limiter = NoticeLimiter(2)
    one, two, three = outbox = [to_ann(1), replace(to_ann(2), recipient="ann+x@example.com"), to_ann(3)]
    assert limiter.within(batch(1), outbox, NOW) == [one, two]
    assert limiter.within(batch(2), [three], NOW + HOUR_MS - 1) == []
    assert limiter.within(batch(3), [three], NOW + HOUR_MS) == [three]


def test_each_mailbox_has_its_own_limit_and_other_mails_have_none() -> None:
    limiter = NoticeLimiter(1)
    outbox = [to_ann(1), replace(to_ann(2), recipient="bob@example.com"), *(to_ann(each, "code") for each in (3, 4))]
    assert limiter.within(batch(1), outbox, NOW) == outbox


def test_a_batch_counts_once_however_often_it_is_tried() -> None:
    limiter, first, outbox = NoticeLimiter(3), batch(1), [to_ann(1), to_ann(2)]
    assert [limiter.within(first, outbox, NOW) for _ in range(5)] == [outbox] * 5
    assert limiter.within(first, [*outbox, to_ann(3), to_ann(4)], NOW) == [*outbox, to_ann(3)]
    assert limiter.within(batch(2), [to_ann(1)], NOW) == [], "the same id in another batch is another notice"
