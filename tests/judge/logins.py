"""Promise 7: sessions and device logins follow their tables, and what opens one opens it once. Pure."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate
from math import inf

from tests.judge.finding import Verdict, first, is_whole, with_past
from tests.judge.records import History, Key, Login, Operation
from tests.judge.tables import LOGIN_STATES

ONCE = frozenset({"pollDevice", "issueToken", "completeSignIn"})
"""Operations that give something for a secret, which is the same each time."""
TOLD = {
    "authorization_pending": "pending",
    "slow_down": "pending",
    "access_denied": "denied",
    "expired_token": "expired",
}
"""The state of a device login that the refusal of a poll tells."""
SLOWER_SECONDS, SLOWEST_SECONDS = 5, 60
"""By how much a poll that is too fast lengthens the pause (RFC 8628, 3.5), and the longest one."""
ENDING = frozenset({"endAll", "suspendAccount", "deleteAccount", "confirmAccountDeletion", "page"})
"""Operations that may end sessions that they do not name."""


def check(history: History, verdict: Verdict) -> None:
    operations = sorted(history.operations, key=lambda each: each.ended)
    _once(operations, verdict)
    begun = {
        key.caller: (operation, key)
        for operation in operations
        for key in operation.said.keys
        if key.caller.startswith("session-")
    }
    _sessions(history, operations, begun, verdict)
    _devices(history, operations, {caller: told.asked.id for caller, (told, _) in begun.items()}, verdict)


def _once(operations: Sequence[Operation], verdict: Verdict) -> None:
    """A secret opens the same thing ever after. A code that is mailed again may be the same by chance."""
    opened: dict[tuple[str | None, ...], tuple[Key, Operation]] = {}
    mailed: defaultdict[str | None, list[float]] = defaultdict(list)
    for operation in sorted(operations, key=lambda each: each.began):
        if operation.kind == "startSignIn":
            mailed[operation.asked.id].append(operation.began)
    for operation in operations:
        if operation.kind not in ONCE or operation.asked.id is None:
            continue
        place = operation.asked.id, operation.asked.body if operation.kind == "completeSignIn" else None
        for key in operation.said.keys:
            verdict.judged += 1
            known, earlier = opened.setdefault(place, (key, operation))
            begins = mailed[operation.asked.id] if place[1] is not None else []
            again = bisect_right(begins, earlier.began) < bisect_left(begins, operation.ended)
            if known.caller != key.caller and not again:
                verdict.breaks(f"one code or token gave {known.caller} and {key.caller}", earlier, operation)


# Sessions.


def _sessions(
    history: History, operations: Sequence[Operation], begun: dict[str, tuple[Operation, Key]], verdict: Verdict
) -> None:
    """A session works until it was ended or not used for its life, and is refused only if one of these may be so."""
    ends: defaultdict[str | None, list[Operation]] = defaultdict(list)
    entered: defaultdict[str | None, list[float]] = defaultdict(list)
    uses: defaultdict[str, list[Operation]] = defaultdict(list)
    ending, whole = inf, is_whole(history)
    for operation in operations:
        if operation.asked.caller in begun:
            uses[operation.asked.caller].append(operation)
        if operation.good or operation.doubtful:
            if operation.kind == "endSession":
                ends[operation.asked.id].append(operation)
            elif operation.kind in ("completeSignIn", "finishPasskeySignIn"):
                entered[operation.asked.id].append(operation.began)
            elif operation.kind in ENDING:
                ending = min(ending, operation.began)
    for times in entered.values():
        times.sort()
    for caller, (told, key) in begun.items():
        ended = min((each for each in ends[key.id] if each.good), key=lambda each: each.ended, default=None)
        _uses(history, uses[caller], (told, key), ended, verdict, whole=whole)
        begins = entered[told.asked.id]
        # With one session more, the account may have too many.
        following = begins[place] if (place := bisect_right(begins, told.began)) < len(begins) else inf
        causes = min([ending, following, *(each.began for each in ends[key.id])])
        for operation in uses[caller] if whole else ():
            due = operation.ended + history.header.clock_ms >= (key.ends or inf) or causes < operation.ended
            if operation.said.code == "unauthorized" and not due:
                verdict.breaks(f"session {key.id} was refused, although nothing had ended it", told, operation)
                break


def _uses(
    history: History,
    uses: Sequence[Operation],
    begun: tuple[Operation, Key],
    ended: Operation | None,
    verdict: Verdict,
    *,
    whole: bool,
) -> None:
    told, key = begun
    doubtful = any(each.doubtful for each in uses)
    clock = 2 * history.header.clock_ms
    life = (key.ends or inf) - told.began + history.header.clock_ms
    latest, refused, refusal = told.ended, inf, told
    for operation, past in with_past(uses, lambda each: each):
        for each in past:
            latest = max(latest, each.ended if each.good else latest)
            if each.said.code == "unauthorized" and each.ended + clock < refused:
                refused, refusal = each.ended + clock, each
        if not operation.good:
            continue
        verdict.judged += 1
        if ended is not None and operation.began > ended.ended:
            verdict.breaks(f"session {key.id} was ended, and worked later", ended, operation)
        elif not doubtful and whole and operation.began > latest + life + clock:
            verdict.breaks(f"session {key.id} was not used for its life, and worked later", told, operation)
        elif not doubtful and operation.began > refused and latest < refusal.began - clock - history.header.visible_ms:
            verdict.breaks(f"session {key.id} was refused as ended, and worked later", refusal, operation)


# Device logins.

States = list[tuple[Operation, str]]


def _devices(
    history: History, operations: Sequence[Operation], emails: dict[str, str | None], verdict: Verdict
) -> None:
    started: dict[str, tuple[Operation, Login]] = {}
    shown: defaultdict[str | None, list[str]] = defaultdict(list)
    for operation in operations:
        login = operation.said.login
        if login is not None and login.device is not None:
            started[login.device] = (operation, login)
            shown[login.user].append(login.device)
    # A code that people type may be given again later.
    devices = {user: logins[0] for user, logins in shown.items() if len(logins) == 1}
    states: defaultdict[str, States] = defaultdict(list)
    polls: defaultdict[str, list[Operation]] = defaultdict(list)
    decided: dict[str, Operation] = {}
    for operation in operations:
        typed = operation.kind in ("getDeviceApproval", "decideDevice")
        id = devices.get(operation.asked.id) if typed else operation.asked.id
        if id is None or id not in started or (not typed and operation.kind not in ONCE):
            continue
        if not typed:
            polls[id].append(operation)
        if (told := _state(operation)) is not None:
            states[id].append((operation, told))
        if operation.kind == "decideDevice" and operation.good:
            _decision(operation, decided.setdefault(id, operation), emails, verdict)
    for id, (start, login) in started.items():
        _moves(states[id], start, login, 2 * history.header.clock_ms, verdict)
        _pace(polls[id], login, 2 * history.header.clock_ms, verdict)


def _state(operation: Operation) -> str | None:
    """The state of a device login that an answer tells."""
    login, answer = operation.said.login, operation.said
    if login is not None:
        return login.status
    return "redeemed" if answer.keys else TOLD.get(answer.code or "")


def _decision(operation: Operation, earlier: Operation, emails: dict[str, str | None], verdict: Verdict) -> None:
    """A login is decided once, by one account, and its decision is answered with the state that it leads to."""
    shown, asked = operation.said.login, operation.asked
    wanted = {"approve": ("approved", "redeemed"), "deny": ("denied",)}.get(asked.decision or "", ())
    if shown is not None and wanted and shown.status not in wanted:
        verdict.breaks(f"a login is {shown.status} after the decision to {asked.decision} it", operation)
    one, other = (emails.get(each.asked.caller or "") for each in (earlier, operation))
    if one is not None and other is not None and one != other:
        verdict.breaks("two accounts decided one login", earlier, operation)


def _moves(states: States, start: Operation, login: Login, clock_ms: float, verdict: Verdict) -> None:
    newest: dict[str, Operation] = {}
    last = start.ended + clock_ms + 1_000 * (login.lives or inf)
    for (operation, status), past in with_past(states, first):
        for earlier, state in past:
            newest[state] = earlier
        verdict.judged += 1
        for state, earlier in newest.items():
            if status != state and status not in LOGIN_STATES.get(state, ()):
                verdict.breaks(f"a device login was {state} and later {status}", earlier, operation)
        open = status in ("pending", "approved") or (status == "redeemed" and "redeemed" not in newest)
        if open and operation.began > last and operation.kind != "getDeviceApproval":
            verdict.breaks(f"a device login is {status} after its end", start, operation)


def _pace(polls: Sequence[Operation], login: Login, clock_ms: float, verdict: Verdict) -> None:
    """A poll is too fast only within the pause after one that was not, and each time the pause grows by as much, up to a
    minute."""
    slow = [each for each in polls if each.said.code == "slow_down" and each.said.retry is not None]
    in_time = sorted((each for each in polls if each.said.code != "slow_down"), key=lambda each: each.began)
    begins = [each.began for each in in_time]
    latest = [*accumulate((inf if each.doubtful else each.ended for each in in_time), max)]
    longest = max(SLOWEST_SECONDS, login.pace or 0)
    pauses: list[int] = []
    known = set[int]()
    for operation, past in with_past(slow, lambda each: each):
        pauses += [each.said.retry or 0 for each in past]
        told, before = operation.said.retry or 0, max(pauses, default=login.pace or 0)
        steps, rest = divmod(told - (login.pace or 0), SLOWER_SECONDS)
        if told > longest or (told < longest and (rest or not steps)) or (told <= before and told < longest):
            verdict.breaks(f"the pause of a login is {told} s after one of {before} s", operation)
        elif told in known and told < longest:
            verdict.breaks(f"the pause of a login is {told} s twice", operation)
        known.add(told)
        pause, at = (told - SLOWER_SECONDS if told < longest else longest), bisect_left(begins, operation.ended)
        if not at or latest[at - 1] < operation.began - 1_000 * pause - clock_ms:
            verdict.breaks("a poll of a login was too fast, and none came in time so short before it", operation)
