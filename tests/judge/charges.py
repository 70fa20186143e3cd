"""The charges of a history, by those who share a quota and by window: days, months and the lifetime of a key. Pure.

A charge is certain if its answer tells what is left of the caps and is no failure. It is possible if there was no answer, or
a failure that may have been charged before it is refunded.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.judge.accounts import Accounts
from tests.judge.finding import DAY_MS, Moments, day_of, month_of
from tests.judge.records import History, Operation

Window = tuple[str, int]
"""`day` and its number, `month` and its number, or `lifetime` and 0."""
UNKNOWN = ""
"""All callers whose account no answer tells, also after a claim without an answer: each of their charges may be any
account's."""


@dataclass(slots=True)
class Sure:
    """Charges that were certainly in a window: their ends, and the operations by their ends; and the caps that were told."""

    ends: list[float] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    most: int = 0
    least: int | None = None

    def cap_is(self, cap: int) -> None:
        self.most = max(self.most, cap)
        self.least = cap if self.least is None else min(self.least, cap)

    def before(self, moment: float) -> int:
        return bisect_left(self.ends, moment)


def is_charged(operation: Operation) -> bool:
    """Whether a request was certainly charged, and not refunded."""
    limited = operation.status >= 500 or operation.status == 429
    return operation.asked.metered and not limited and len(operation.said.limits) > 0


def may_be_charged(operation: Operation) -> bool:
    """Whether a request was charged, or may have been."""
    return operation.asked.metered and (operation.doubtful or len(operation.said.limits) > 0)


class Ledger:
    """All charges. The certain ones are counted for an account, but for each of its callers alone that came by a claim, which
    takes a key's charges with it. The possible ones are counted for all accounts that claims join."""

    def __init__(self, history: History) -> None:
        self.accounts, self.moments = Accounts(history), Moments(history.header.clock_ms)
        self._fresh = history.header.fresh
        self._start = min((each.began for each in history.operations), default=0.0) - history.header.clock_ms
        self._months: dict[int, int] = {}
        self._tenants = self.accounts.tenants
        self._group: dict[str, str] = {}
        self._minted: dict[str, bool] = {}
        self._alone: dict[str, bool] = {}
        self._unsure = set[str]()
        self._join()
        self.sure: defaultdict[tuple[str, Window], Sure] = defaultdict(Sure)
        self._caps: dict[tuple[str, str], int] = {}
        self._possible: defaultdict[tuple[str, Window], list[float]] = defaultdict(list)
        self._doubtful: defaultdict[str, list[float]] = defaultdict(list)
        self.between = 0
        """Certain charges around midnight, of which nobody knows the day."""
        for operation in sorted(history.operations, key=lambda each: each.ended):
            if may_be_charged(operation):
                self._charge(operation, operation.asked.caller or "")
        for times in (*self._possible.values(), *self._doubtful.values()):
            times.sort()

    def _join(self) -> None:
        """Give all callers of accounts that share a caller one group."""
        parent: dict[str, str] = {}

        def root(name: str) -> str:
            while (above := parent.setdefault(name, name)) != name:
                parent[name] = parent.get(above, above)
                name = above
            return name

        for caller, tenants in self._tenants.items():
            for tenant in tenants:
                parent[root(tenant)] = root(caller)
        for caller, tenants in self._tenants.items():
            group = self._group[caller] = root(caller)
            self._minted[group] = self._minted.get(group, True) and tenants <= self.accounts.minted
            self._alone[group] = self._alone.get(group, True) and caller not in self.accounts.claimed
        self._unsure = {self.group(caller) for caller in self.accounts.unsure}

    def _charge(self, operation: Operation, caller: str) -> None:
        unknown = caller not in self._tenants or caller in self.accounts.unsure
        group = UNKNOWN if unknown else self.group(caller)
        if not is_charged(operation):
            self._doubtful[group].append(operation.began)
            return
        answer, unit = operation.said, self.unit(caller)
        for name in ("day", "month", "lifetime"):
            windows = self.windows(operation, name)
            self.between += name == "day" and len(windows) > 1
            for window in windows:
                self._possible[group, window].append(operation.began)
            if len(windows) == 1 and any(each.window == name for each in answer.limits):
                sure = self.sure[unit, windows[0]]
                sure.ends.append(operation.ended)
                sure.operations.append(operation)
        for limit in answer.limits:
            self.note_cap(operation, limit.window, limit.cap)

    def note_cap(self, operation: Operation, name: str, cap: int) -> None:
        unit = self.unit(operation.asked.caller or "")
        for window in self.windows(operation, name):
            self.sure[unit, window].cap_is(cap)
        self._caps[unit, name] = min(cap, self._caps.get((unit, name), cap))

    def cap(self, caller: str, window: Window) -> int | None:
        """The least cap that a window may have: that of its answers, or else of others, like those of the day before."""
        unit = self.unit(caller)
        own = self.sure.get((unit, window))
        return self._caps.get((unit, window[0])) if own is None or own.least is None else own.least

    def group(self, caller: str) -> str:
        return self._group.get(caller, caller)

    def unit(self, caller: str) -> str:
        tenants = self._tenants.get(caller, set())
        return caller if len(tenants) != 1 or caller in self.accounts.claimed else next(iter(tenants))

    def windows(self, operation: Operation, name: str) -> list[Window]:
        """The windows of a name in which a node may have placed an operation."""
        if name == "lifetime":
            return [(name, 0)]
        first, last = self.moments.days(operation)
        if name == "day":
            return [(name, day) for day in range(first, last + 1)]
        return [(name, month) for month in dict.fromkeys((self._month(first), self._month(last)))]

    def _month(self, day: int) -> int:
        if day not in self._months:
            self._months[day] = month_of(day)
        return self._months[day]

    def possible(self, caller: str, window: Window, moment: float) -> int | None:
        """The most charges in a window that may have been made until a moment, those of callers whose account no answer tells
        included; None if there may be others, from before the history, or if the caller is one of those."""
        group = self.group(caller)
        minted = self._minted.get(group, False)
        if caller not in self._tenants or group in self._unsure:
            return None
        if not (self._fresh or minted or self._begins_later(window)):
            return None
        groups = (group,) if minted and self._alone[group] else (group, UNKNOWN)
        return sum(
            bisect_right(self._possible.get((each, window), ()), moment)
            + bisect_right(self._doubtful.get(each, ()), moment)
            for each in groups
        )

    def _begins_later(self, window: Window) -> bool:
        """Whether a window began after the history, so that all of its charges are in it."""
        name, number = window
        first = day_of(self._start)
        if name == "day":
            return number * DAY_MS > self._start
        return name == "month" and number > self._month(first)


def figures(ledger: Ledger, operation: Operation) -> Iterator[tuple[Window, int, int, bool]]:
    """The use of its caller's quota that an answer tells: window, requests used, the cap, and whether the use is exact,
    which it is not if nothing is left. Figures from around midnight are left out, because their window is not known."""
    answer = operation.said
    told = [(each.window, each.cap - each.left, each.cap, each.left > 0) for each in answer.limits]
    if answer.usage is not None and operation.kind == "getUsage":
        usage = answer.usage
        told.append(("lifetime" if usage.status == "anonymous" else "month", usage.used, usage.cap, True))
        told.append(("day", usage.day_used, usage.day_cap or 0, True))
    for name, used, cap, exact in told:
        windows = ledger.windows(operation, name)
        if len(windows) == 1:
            yield windows[0], used, cap, exact
