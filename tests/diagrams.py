"""State diagrams of a transition table for the documents: a Mermaid diagram and a plain table. Pure."""

from collections.abc import Mapping
from typing import TypeVar

from actors.bookings.records import BookingStatus, CampaignStatus
from actors.bookings.transitions import BookingMove, CampaignMove

S = TypeVar("S", CampaignStatus, BookingStatus)
M = TypeVar("M", CampaignMove, BookingMove)


def picture(table: Mapping[S, Mapping[M, S]], first: S) -> str:
    """A `stateDiagram-v2` with an arrow per move, in the order of the table. States without a move are final."""
    lines: list[str] = [f"[*] --> {first}"]
    for status, moves in table.items():
        lines += [f"{status} --> {there}: {words(move)}" for move, there in moves.items()]
        lines += [] if moves else [f"{status} --> [*]"]
    return "\n".join(["```mermaid", "stateDiagram-v2", *(f"    {line}" for line in lines), "```"])


def listing(table: Mapping[S, Mapping[M, S]]) -> str:
    """A Markdown table with a row per state: its moves and their targets."""
    rows = ["| State | What may happen, and the state that follows |", "|---|---|"]
    for status, moves in table.items():
        leads = "; ".join(f"{words(move)} -> {there}" for move, there in moves.items())
        rows.append(f"| {status} | {leads or 'nothing'} |")
    return "\n".join(rows)


def words(move: CampaignMove | BookingMove) -> str:
    return move.replace("_", " ")
