"""The rules of emailed codes: how often one is sent, and how often it may be guessed. Pure.

Knows nothing of what a code is for: a row with a code extends `EmailedCode`, and one that counts what was sent extends
`Sendings`. Source of the rules: ADR 0011 and 0056. `actors.shared.code_mails` has those of whole mailboxes.
"""

import re
import unicodedata
from dataclasses import dataclass, replace
from typing import TypeVar

from actors.shared.credentials import constant_time_equal
from actors.times import DAY_MS, MINUTE_MS, SECOND_MS, day_of
from actors.values import Code, Refused


@dataclass(frozen=True, slots=True)
class CodeRules:
    """`life_ms` of a code, `attempts` to guess it, `pause_ms` between two codes, and codes `per_day` (UTC)."""

    life_ms: int = 10 * MINUTE_MS
    attempts: int = 5
    pause_ms: int = 60 * SECOND_MS
    per_day: int = 5


@dataclass(frozen=True, kw_only=True)
class Sendings:
    """How often something was sent. Has no slots, so that a record can extend it beside another class."""

    sent_ms: int = 0
    sent_day: int = 0
    sent_today: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailedCode:
    """The code that was sent last: its proof, and its guesses. `proof` is None before the first code."""

    proof: bytes | None = None
    code_expires_ms: int = 0
    attempts: int = 0


MINUS = "\N{MINUS SIGN}"
_DECORATION = frozenset(("Zs", "Zl", "Zp", "Pd", "Cf", "Cc", "Mn", "Me"))
"""The categories of spaces, hyphens, controls, formats and marks in Unicode."""
_EMAILED = re.compile("[0-9]{6}(?:[0-9]{6})?")

WRONG_CLOCK_MS = DAY_MS
"""A `sent_ms` further ahead comes from a wrong clock and is ignored, so that nobody is locked out until then."""

C = TypeVar("C", bound=EmailedCode)
S = TypeVar("S", bound=Sendings)


def send(row: S, now_ms: int, to: str, *, pause_ms: int, per_day: int) -> S | Refused:
    """The row with one more code counted. Refused if the last code is too recent or the daily limit is reached. `to`
    completes the refusal: what the codes are sent for."""
    if row.sent_ms > now_ms + WRONG_CLOCK_MS:
        row = replace(row, sent_ms=0, sent_day=0, sent_today=0)
    # Without a pause, a node whose clock is ahead must not hold up the others.
    wait_ms = row.sent_ms + pause_ms - now_ms if pause_ms else 0
    if wait_ms > 0:
        return _wait("A code was sent a moment ago.", wait_ms)
    # Days never go back: another node's clock may be ahead, and counting its day again would reset the limit.
    today = max(row.sent_day, day_of(now_ms))
    sent_today = row.sent_today if row.sent_day == today else 0
    if sent_today >= per_day:
        return _wait(f"No more codes can be sent {to} today.", (today + 1) * DAY_MS - now_ms)
    return replace(row, sent_ms=now_ms, sent_day=today, sent_today=sent_today + 1)


def renew(row: C, proof: bytes, now_ms: int, rules: CodeRules) -> C:
    """The row with a new code, which invalidates the old one."""
    return replace(row, proof=proof, code_expires_ms=now_ms + rules.life_ms, attempts=0)


def guess(row: C, proof: bytes, rules: CodeRules, *, valid: bool) -> tuple[C, bool]:
    """The row with the guess counted, and whether it was right. An invalid code, or one without attempts left, is never
    right, and further guesses are not counted. The attempt is charged in the same transaction as the comparison."""
    if row.proof is None or not valid or row.attempts >= rules.attempts:
        return row, False
    return replace(row, attempts=row.attempts + 1), constant_time_equal(row.proof, proof)


def read_typed(text: str) -> str:
    """A code from what a person types or pastes: with ASCII digits, without spaces, hyphens and what cannot be seen."""
    plain = unicodedata.normalize("NFKC", text)
    return "".join(
        str(unicodedata.decimal(sign, sign))
        for sign in plain
        if sign != MINUS and unicodedata.category(sign) not in _DECORATION
    )


def emailed_code(typed: str) -> str | Refused:
    """The code of a mail that was typed. Refused if it can be none, which costs no attempt."""
    code = read_typed(typed)
    if _EMAILED.fullmatch(code):
        return code
    return Refused(Code.INVALID_CODE, "This is not a code of ours. Write the 6 or 12 digits of the mail.")


def wrong_code() -> Refused:
    """One refusal for wrong, expired and used-up codes, so that it reveals nothing."""
    return Refused(Code.INVALID_CODE, "The code is wrong or no longer valid. Ask for a new one.")


def _wait(why: str, wait_ms: int) -> Refused:
    seconds = max(1, -(-wait_ms // SECOND_MS))
    return Refused(Code.RATE_LIMITED, f"{why} Try again in {seconds} s.", seconds)
