"""Links to reports: at most 20 of an account work, and an ended one is gone."""

from actors.bookings.messages import EndSharedReport, ShareReport
from actors.bookings.reports import SharedReport
from actors.bookings.sharing import MOST_SHARED
from actors.values import Code, Refused
from tests.state.ledger import ANN, BOB, Ledger


def share(ledger: Ledger, number: int, owner: str = ANN) -> ShareReport:
    report = SharedReport(f"shr_{number}", owner, bytes([number]) * 32, 1, 7, None, None, False, ledger.now_ms)
    return ShareReport(report, ledger.origin())


def test_an_account_shares_at_most_twenty_reports_whichever_batches_they_come_in() -> None:
    ledger = Ledger()
    answers = ledger.act(*(share(ledger, number) for number in range(MOST_SHARED - 1)))
    answers += ledger.act(share(ledger, 50), share(ledger, 51), share(ledger, 52, BOB))
    assert [isinstance(each, Refused) for each in answers] == [False] * MOST_SHARED + [True, False]
    assert (len(ledger.shared), "shr_51" in ledger.shared) == (MOST_SHARED + 1, False)
    end, again, more = EndSharedReport(ANN, "shr_50", ledger.origin()), ledger.origin(), share(ledger, 53)
    ended = ledger.act(end, EndSharedReport(ANN, "shr_50", again), more)
    assert [each.code if isinstance(each, Refused) else None for each in ended] == [None, Code.NOT_FOUND, None]
    assert ("shr_50" in ledger.shared, "shr_53" in ledger.shared) == (False, True)


def test_nobody_ends_the_link_of_another_and_one_of_the_same_batch_can_be_ended() -> None:
    ledger = Ledger()
    ledger.one(share(ledger, 1))
    assert isinstance(ledger.one(EndSharedReport(BOB, "shr_1", ledger.origin())), Refused)
    ledger.act(share(ledger, 2), EndSharedReport(ANN, "shr_2", ledger.origin()))
    assert list(ledger.shared) == ["shr_1"]
    assert [action for action, _ in ledger.told()] == [
        "account.report_shared",
        "account.report_shared",
        "account.report_unshared",
    ]
