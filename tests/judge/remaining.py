"""Promise 4: what answers tell of a quota, used or left, lies between the certain and the possible charges. Pure."""

from tests.judge.charges import Ledger, figures, is_charged
from tests.judge.finding import Verdict, is_whole
from tests.judge.records import History, Operation


def check(history: History) -> Verdict:
    verdict, ledger, whole = Verdict(), Ledger(history), is_whole(history)
    for operation in history.operations:
        if not operation.asked.caller or not (operation.said.limits or operation.said.usage):
            continue
        if operation.status >= 500 or operation.status == 429:
            # The charge is refunded, and its figures are those from before the refund.
            verdict.unjudged["figures of a request that failed"] += 1
            continue
        _judge(operation, ledger, verdict, whole=whole)
    return verdict


def _judge(operation: Operation, ledger: Ledger, verdict: Verdict, *, whole: bool) -> None:
    caller = operation.asked.caller or ""
    for window, used, cap, exact in figures(ledger, operation):
        verdict.judged += 1
        sure = ledger.sure.get((ledger.unit(caller), window))
        least = (sure.before(operation.began) if sure else 0) + is_charged(operation)
        if exact and used < least and sure:
            last = sure.operations[sure.before(operation.began) - 1]
            words = (
                f"{caller} was told {used} requests of its cap of {cap} ({window[0]}), but {least} were charged before"
            )
            verdict.breaks(words, last, operation)
        most = ledger.possible(caller, window, operation.ended) if whole else None
        if most is None:
            verdict.unjudged["upper bounds need a whole history and its beginning"] += 1
        elif used > most:
            words = (
                f"{caller} was told {used} requests of its cap of {cap} ({window[0]}), but at most {most} were possible"
            )
            verdict.breaks(words, operation)
