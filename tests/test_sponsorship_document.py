"""`docs/sponsorship.md` shows the state diagrams of the ledger's transition tables."""

import re
from pathlib import Path

import pytest

from actors.bookings.records import BookingStatus, CampaignStatus
from actors.bookings.transitions import BOOKING_MOVES, CAMPAIGN_MOVES
from tests.diagrams import listing, picture

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "sponsorship.md"
DRAWN = {
    "### States of a campaign": f"{picture(CAMPAIGN_MOVES, CampaignStatus.PENDING)}\n\n{listing(CAMPAIGN_MOVES)}",
    "### States of a booking": f"{picture(BOOKING_MOVES, BookingStatus.RESERVED)}\n\n{listing(BOOKING_MOVES)}",
}


@pytest.mark.parametrize(("heading", "drawn"), DRAWN.items())
def test_the_document_draws_the_states_as_the_tables_have_them(heading: str, drawn: str) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert f"\n{heading}\n\n{drawn}\n\n" in text, f"put this into docs/sponsorship.md:\n\n{heading}\n\n{drawn}\n"


def test_the_document_draws_nothing_else() -> None:
    assert len(re.findall("stateDiagram", DOCUMENT.read_text(encoding="utf-8"))) == len(DRAWN)


def test_a_picture_has_an_arrow_for_each_move_and_marks_the_ends() -> None:
    drawn = picture(BOOKING_MOVES, BookingStatus.RESERVED)
    assert drawn.count(" --> ") == sum(len(moves) for moves in BOOKING_MOVES.values()) + 1
    assert "    [*] --> reserved\n" in drawn
    assert "    refunding --> paid: decline refund\n" in drawn
    assert listing(BOOKING_MOVES).endswith(
        "| refunded | fail refund -> refunding; win dispute -> paid; win dispute too late -> refunding |"
    )
