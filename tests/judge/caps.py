"""Promise 3: the certain charges of a key never exceed its cap, and each refusal has a moment at which the certain and
possible ones reach it. Pure."""

from tests.judge.charges import Ledger, figures
from tests.judge.finding import Verdict, is_whole
from tests.judge.records import History, Operation

MINUTE_SECONDS = 60
"""A limit per minute asks to wait no longer; a daily cap asks to wait until midnight."""

OTHER_LIMITS = frozenset({"exportAccount"})
"""Operations with another limit that asks to wait longer than a minute."""


def check(history: History) -> Verdict:
    verdict, ledger = Verdict(), Ledger(history)
    for operation in history.operations:
        caller = operation.asked.caller
        if caller is not None and operation.kind == "getUsage":
            for window, _, cap, _ in figures(ledger, operation):
                if cap:
                    ledger.note_cap(operation, window[0], cap)
    for (unit, (name, _)), sure in ledger.sure.items():
        if not sure.most:
            verdict.unjudged["no answer tells the cap"] += len(sure.ends)
            continue
        verdict.judged += len(sure.ends)
        if len(sure.ends) > sure.most:
            beyond = sure.operations[sure.most]
            words = {"day": "in one day", "month": "in one month"}.get(name, "in its lifetime")
            verdict.breaks(
                f"{unit} was charged {len(sure.ends)} requests {words}, beyond its cap of {sure.most}",
                sure.operations[0],
                beyond,
            )
    if ledger.between:
        verdict.unjudged["the day of a charge around midnight is not known"] += ledger.between
    whole = is_whole(history)
    for operation in history.operations:
        if (refused_by := _refused_by(operation, ledger)) is not None:
            _refusal(operation, refused_by, ledger, verdict, whole=whole)
    return verdict


def _refused_by(operation: Operation, ledger: Ledger) -> str | None:
    """The window whose cap refused a request; None if none did, or another limit."""
    answer, caller = operation.said, operation.asked.caller
    if not operation.asked.metered or caller is None or answer.limits:
        return None
    if answer.code == "quota_exhausted":
        return "month" if ledger.cap(caller, ("lifetime", 0)) is None else "lifetime"
    daily = answer.code == "rate_limited" and (answer.retry or 0) > MINUTE_SECONDS
    return "day" if daily and operation.kind not in OTHER_LIMITS else None


def _refusal(operation: Operation, name: str, ledger: Ledger, verdict: Verdict, *, whole: bool) -> None:
    caller = operation.asked.caller or ""
    if not whole:
        verdict.unjudged["refusals need a whole history"] += 1
        return
    if operation.said.shared:
        verdict.unjudged["the caps of a mailbox are shared by accounts that no answer names"] += 1
        return
    reached: list[str] = []
    for window in ledger.windows(operation, name):
        cap = ledger.cap(caller, window)
        possible = ledger.possible(caller, window, operation.ended)
        if cap is None or possible is None:
            verdict.unjudged["the cap, or what was used before the history, is not known"] += 1
            return
        if possible >= cap:
            reached.append(name)
        told = f"{possible} of {cap}"
    verdict.judged += 1
    if not reached:
        verdict.breaks(
            f"a request of {caller} was refused because its cap ({name}) was reached, but at most {told} were charged",
            operation,
        )
