"""The rules of emailed codes: how often one is sent, and how often it may be guessed. Pure.

Knows nothing of what a code is for: a row that has one is an `EmailedCode` with more fields of its own.
Source of the rules: decisions, section 2.
"""

from dataclasses import dataclass, replace
from typing import TypeVar

from actors.clock import DAY_MS, MINUTE_MS, SECOND_MS, day_of
from actors.credentials import constant_time_equal
from actors.values import Code, Refused


@dataclass(frozen=True, slots=True)
class CodeRules:
    """How long a code lives, how many guesses it takes, the pause between two, and how many are sent in a UTC day."""

    life_ms: int = 10 * MINUTE_MS
    attempts: int = 5
    pause_ms: int = 60 * SECOND_MS
    per_day: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailedCode:
    """The code that was last sent: its proof and what counts against it. `proof` is None before the first."""

    proof: bytes | None = None
    code_expires_ms: int = 0
    attempts: int = 0
    sent_ms: int = 0
    sent_day: int = 0
    sent_today: int = 0


WRONG_CLOCK_MS = DAY_MS
"""What was sent so far ahead was sent by a wrong clock, and holds nothing back: nobody waits until that time comes."""

C = TypeVar("C", bound=EmailedCode)


def send(row: C, proof: bytes, now_ms: int, rules: CodeRules, to: str) -> C | Refused:
    """The row with a new code, which kills the old one; refused where the last one was sent too short a while ago, or too
    many were. `to` says in words what has them."""
    if row.sent_ms > now_ms + WRONG_CLOCK_MS:
        row = replace(row, sent_ms=0, sent_day=0, sent_today=0)
    wait_ms = row.sent_ms + rules.pause_ms - now_ms
    if wait_ms > 0:
        return _wait("A code was sent a moment ago.", wait_ms)
    # Days never go back: another node's clock may be ahead of ours, and its midnight would be met again and again.
    today = max(row.sent_day, day_of(now_ms))
    sent_today = row.sent_today if row.sent_day == today else 0
    if sent_today >= rules.per_day:
        return _wait(f"No more codes are sent {to} today.", DAY_MS - now_ms % DAY_MS)
    return replace(
        row,
        proof=proof,
        code_expires_ms=now_ms + rules.life_ms,
        attempts=0,
        sent_ms=now_ms,
        sent_day=today,
        sent_today=sent_today + 1,
    )


def guess(row: C, proof: bytes, rules: CodeRules, *, valid: bool) -> tuple[C, bool]:
    """The row with the guess counted, and whether it was right. A code that does not live, or whose attempts are spent, is
    never right and counts nothing more.

    The attempt is charged in the transaction of the comparison, before anyone learns of either.
    """
    if row.proof is None or not valid or row.attempts >= rules.attempts:
        return row, False
    return replace(row, attempts=row.attempts + 1), constant_time_equal(row.proof, proof)


def wrong_code() -> Refused:
    """Wrong, expired or spent: one refusal for all three."""
    return Refused(Code.INVALID_CODE, "The code is wrong or no longer valid. Ask for a new one.")


def _wait(why: str, wait_ms: int) -> Refused:
    seconds = max(1, -(-wait_ms // SECOND_MS))
    return Refused(Code.RATE_LIMITED, f"{why} Try again in {seconds} s.", seconds)
