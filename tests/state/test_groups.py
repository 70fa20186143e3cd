"""A batch walks over the rows that it has read once, however many messages are about parts of them."""

from dataclasses import replace
from typing import Any

import pytest

from actors.bookings import state as bookings
from actors.sessions import state as sessions
from actors.sessions.messages import EndSessions, Session
from actors.shared.groups import Groups
from actors.values import AuditRecord
from tests.state.ledger import ANN, Ledger, furnished

NOW = 1_000


class Walked(dict[str, Any]):
    """A dictionary that counts how often it is walked."""

    walks = 0

    def values(self) -> Any:
        self.walks += 1
        return super().values()

    def __or__(self, other: Any) -> Any:
        self.walks += 1
        return super().__or__(other)


def walks_of_sessions(messages: int) -> int:
    emails = [f"{number}@example.com" for number in range(messages)]
    rows = Walked((email, Session(email, b"", email, "", 1, 1, 2 * NOW)) for email in emails)
    record = AuditRecord("aud_1", NOW, "session", "ses_1", "sessions.ended", "account", "")
    orders = [EndSessions(email, None, record) for email in emails]
    decision = sessions.decide(sessions.Snapshot(sessions=rows), orders, NOW, sessions.SessionRules())
    assert len(decision.changed.sessions) == messages
    return rows.walks


def walks_of_bookings(messages: int) -> int:
    ledger: Ledger = furnished()
    paid = ledger.paid("bok_1")
    orders = [
        order
        for week in range(1, messages + 1)
        for order in (ledger.reserve(f"bok_w{week}", week=week), ledger.pay("bok_1", f"evt_{week}", "pay_bok_1", 1))
    ]
    snapshot = ledger.snapshot(orders)
    snapshot.bookings, snapshot.reports = Walked(snapshot.bookings), Walked(snapshot.reports)
    bookings.decide(snapshot, orders, ledger.now_ms, replace(ledger.rules, open_holds=messages + 1))
    assert snapshot.bookings[paid.id].tenant_id == ANN
    return snapshot.bookings.walks + snapshot.reports.walks


@pytest.mark.parametrize("walks", [walks_of_sessions, walks_of_bookings])
def test_many_messages_walk_over_the_rows_as_often_as_one(walks: Any) -> None:
    assert walks(20) == walks(1) > 0


def test_a_row_that_changes_its_group_leaves_the_other() -> None:
    one, other = (Session(name, b"", f"{name}@example.com", "", 1, 1, 2) for name in ("one", "other"))
    groups: Groups[Session] = Groups(lambda session: session.email, [one, other])
    groups.save(replace(other, email=one.email))
    assert [session.id for session in groups.within(one.email)] == ["one", "other"]
    assert list(groups.within(other.email)) == []
