"""Promise 8, the catalog: an entry has one version at a time, which only a newer one replaces, and changes tell of. Pure."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby, pairwise
from math import inf
from operator import attrgetter

from tests.judge.finding import Verdict, is_whole, itself, time_of, with_past
from tests.judge.records import History, Operation

SHOWN = {"getUseCase": "usecases", "getBot": "bots"}
"""Operations that show an entry from the memory of a node, with its list."""
WORDS = {"usecases": "UseCase", "bots": "Bot"}
"""The ends of the names of operations, by list."""
STORED = {f"{verb}{word}": list_ for verb in ("getStored", "put", "retire") for list_, word in WORDS.items()}
"""Operations that show an entry from the database."""
LISTS = {**SHOWN, **STORED}
CHANGES, IMPORT = "listChanges", "importCatalog"
REMOVED = "removed"
ANY = ""
"""Stands for each entry, and for each content."""


def check(history: History, verdict: Verdict) -> Verdict:
    """Judge the entries and their changes, and add to the verdict of the others that only grow."""
    visible_ms = history.header.visible_ms
    answers = [each for each in history.operations if each.read and (each.kind in LISTS or each.kind == CHANGES)]
    answers.sort(key=attrgetter("ended"))
    verdict.judged += len(answers)
    versions = _versions(answers, visible_ms, verdict)
    of_entries = {id: [*rows] for id, rows in groupby(versions, attrgetter("id"))}
    _never_older(answers, visible_ms, verdict)
    if history.header.single:
        _never_older([each for each in answers if each.kind not in STORED], 0, verdict, by_node=True)
    writes = Writes(history.operations) if is_whole(history) else None
    _there(history, of_entries, writes, verdict)
    changes = [each for each in answers if each.kind == CHANGES]
    _begin_alike(changes, visible_ms, verdict)
    accepted = [each for each in history.operations if each.said.entry is not None and each.asked.decision == "accept"]
    unseen = [
        Version(each.said.entry or "", 0, None, each, inf) for each in accepted if each.said.entry not in of_entries
    ]
    _followed(changes, [*versions, *unseen], visible_ms, verdict)
    if writes is not None and history.operations:
        _written(history, of_entries, writes, verdict)
    return verdict


def _since(operation: Operation, visible_ms: float) -> float:
    """The earliest moment of which an answer may tell."""
    return operation.began - (0 if operation.kind in STORED else visible_ms)


# Versions.


@dataclass(slots=True)
class Version:
    """An entry from the time `at` on: its content, unless changes alone tell of it, the first answer that shows it, and the
    last moment of which an answer says that it is the newest."""

    id: str
    at: int
    content: str | None
    first: Operation
    last: float


def _versions(answers: Iterable[Operation], visible_ms: float, verdict: Verdict) -> Sequence[Version]:
    """The versions by entry and time. One time has one content."""
    found: dict[tuple[str, int], Version] = {}
    for operation in answers:
        since = _since(operation, visible_ms)
        for id, at, digest in operation.said.records:
            content = None if operation.kind == CHANGES and digest != REMOVED else digest
            known = found.setdefault((id, at), Version(id, at, content, operation, since))
            known.last = max(known.last, since)
            if known.content is not None and content not in (None, known.content):
                verdict.breaks(f"{id} has two contents of {time_of(at)}", known.first, operation)
            known.content = known.content or content
    return [found[key] for key in sorted(found)]


def _never_older(answers: Iterable[Operation], visible_ms: float, verdict: Verdict, *, by_node: bool = False) -> None:
    """No answer shows an entry as it was before what another one had shown: of any node, or of the same one."""
    first: defaultdict[tuple[str, str], dict[int, Operation]] = defaultdict(dict)
    for operation in answers:
        for id, at, _ in operation.said.records:
            first[operation.node if by_node else "", id].setdefault(at, operation)
    newer: dict[tuple[str, str], tuple[list[int], list[Operation]]] = {}
    for key, of_times in first.items():
        times = sorted(of_times)
        newer[key] = times, [*accumulate((of_times[at] for at in reversed(times)), _earlier)][::-1]
    for operation in answers:
        for id, at, _ in operation.said.records:
            times, earliest = newer[operation.node if by_node else "", id]
            place = bisect_right(times, at)
            if place < len(times) and earliest[place].ended < _since(operation, visible_ms):
                where = " on one node" if by_node else ""
                verdict.breaks(f"{id} is older than before{where}", earliest[place], operation)


def _earlier(one: Operation, other: Operation) -> Operation:
    return min(one, other, key=attrgetter("ended"))


def _there(
    history: History, of_entries: Mapping[str, Sequence[Version]], writes: "Writes | None", verdict: Verdict
) -> None:
    """An entry that two answers show in one version is there at every moment between them, and in a whole history until a
    request may have removed it."""
    seen = {id: sorted(versions, key=_seen) for id, versions in of_entries.items()}
    for operation in history.operations:
        if operation.status != 404 or operation.kind not in SHOWN or operation.asked.id is None:
            continue
        verdict.judged += 1
        id = f"{SHOWN[operation.kind]}/{operation.asked.id}"
        before = bisect_left(seen.get(id, ()), _since(operation, history.header.visible_ms), key=_seen)
        newest = seen[id][before - 1] if before else None
        if newest is None or newest.content == REMOVED:
            continue
        stays = writes is not None and not writes.may_remove(id, newest.first.began, operation.ended)
        if stays or newest.last > operation.ended:
            verdict.breaks(f"{id} is not there", newest.first, operation)


def _seen(version: Version) -> float:
    return version.first.ended


# Writes.


class Writes:
    """The requests that may have written: when they began and ended, by what they may have written to and its content."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._began: defaultdict[tuple[str, str | None], list[float]] = defaultdict(list)
        self._ended: defaultdict[tuple[str, str | None], list[float]] = defaultdict(list)
        attempts: dict[object, tuple[float, float, Sequence[tuple[str, str]]]] = {}
        for operation in operations:
            targets = tuple(_targets(operation))
            if not targets:
                continue
            began, ended = operation.began, inf if operation.doubtful else operation.ended
            # All attempts at an import write once.
            key = operation.asked.id if operation.kind == IMPORT and operation.asked.id else len(attempts)
            first, last, _ = attempts.get(key, (began, ended, ()))
            attempts[key] = min(began, first), max(ended, last), targets
        for began, ended, written in attempts.values():
            for target, content in written:
                for what in (content, None):
                    self._began[target, what].append(began)
                    self._ended[target, what].append(ended)
        for times in (*self._began.values(), *self._ended.values()):
            times.sort()

    def may_remove(self, id: str, since: float, until: float) -> bool:
        """Whether a request may have removed an entry between two moments."""
        return any(self.count(id, content, until, since) for content in (REMOVED, ANY))

    def count(self, id: str, content: str | None, until: float, since: float = -inf) -> int:
        """The number of those that may have written a content, or any one, to an entry between two moments."""
        return sum(
            bisect_right(self._began.get((target, content), ()), until)
            - bisect_left(self._ended.get((target, content), ()), since)
            for target in (id, id.partition("/")[0], ANY)
        )


def _targets(operation: Operation) -> Iterator[tuple[str, str]]:
    """The entries that a request may have written, one, those of a list or any; and the content."""
    asked, kind = operation.asked, operation.kind
    if not operation.good and not operation.doubtful:
        return
    if kind == IMPORT:
        yield from ((each.id, each.digest) for each in asked.writes)
        yield from ((each, REMOVED) for each in asked.removes)
    elif kind == "reviewSubmission" and asked.decision == "accept":
        yield operation.said.entry or ANY, ANY
    elif kind in STORED and not kind.startswith("get"):
        records = [(each.id, each.digest) for each in operation.said.records]
        id = f"{STORED[kind]}/{asked.id}" if asked.id else ANY
        yield from records or [(id, REMOVED if kind.startswith("retire") else ANY)]


def _written(history: History, of_entries: Mapping[str, Sequence[Version]], writes: Writes, verdict: Verdict) -> None:
    """Each version that is new in a whole history has a request of its own that may have written it. One whose content was
    there already has another one, whose content came between."""
    start = min(each.began for each in history.operations) + history.header.clock_ms
    for id, versions in of_entries.items():
        written: Counter[str] = Counter()
        for each in sorted(versions, key=_seen):
            if each.content is None or each.at <= start:
                continue
            written[each.content] += 1
            until, gone = each.first.ended, each.content == REMOVED
            wanted = (each.content,) if gone else (each.content, ANY)
            if written[each.content] > sum(writes.count(id, what, until) for what in wanted):
                verdict.breaks(f"{id} is {'removed' if gone else 'written'} by no request", each.first)
        for one, other in pairwise(versions):
            if one.content is not None and one.content == other.content and other.at > start:
                until, since = other.first.ended, one.last
                if writes.count(id, None, until, since) == writes.count(id, one.content, until, since):
                    verdict.breaks(f"{id} has a new version with the content of the one before", one.first, other.first)


# The changes: the newest of each entry alone, so that an entry moves to the end with each change.


def _begin_alike(reads: Sequence[Operation], visible_ms: float, verdict: Verdict) -> None:
    """From the same cursor, a later page begins with what an earlier one had and was not changed since, in its order."""
    earlier: dict[str, Operation] = {}
    for operation, waited in with_past(reads, itself, visible_ms):
        earlier |= {past.asked.cursor or "": past for past in waited}
        if (operation.asked.cursor or "") in earlier:
            _begins_with(earlier[operation.asked.cursor or ""], operation, verdict)


def _begins_with(earlier: Operation, later: Operation, verdict: Verdict) -> None:
    now = {each.id: each for each in later.said.records}
    shown = [each for each in later.said.records if each in set(earlier.said.records)]
    kept = [each for each in earlier.said.records if now.get(each.id) == each]
    if shown != kept or list(later.said.records[: len(shown)]) != shown:
        verdict.breaks("the changes after one cursor are in another order than before", earlier, later)
    lost = [each.id for each in earlier.said.records if each.id not in now]
    if lost and not later.said.more:
        verdict.breaks(f"the changes after one cursor have lost {lost[0]}", earlier, later)


@dataclass(slots=True)
class Follower:
    """A client that follows the changes from the first page: the cursors that it reached, the newest change that it has of
    each entry, and of how many versions it is known whether it has them."""

    reached: set[str | None] = field(default_factory=lambda: {None})
    newest: dict[str, int] = field(default_factory=dict)
    checked: int = 0


def _followed(reads: Sequence[Operation], versions: Iterable[Version], visible_ms: float, verdict: Verdict) -> None:
    """A client that follows the changes from the first page to the last one has that of each version which other answers
    show, once every node shows it and for as long as it is the newest. One that is replaced moves to the end meanwhile."""
    rows, at = sorted(versions, key=_seen), 0
    standing: dict[str, Version] = {}
    followers: defaultdict[str, Follower] = defaultdict(Follower)
    for operation in sorted(reads, key=attrgetter("began")):
        while at < len(rows) and _seen(rows[at]) + visible_ms < operation.began:
            standing[rows[at].id] = max(rows[at], standing.get(rows[at].id, rows[at]), key=attrgetter("at"))
            at += 1
        if operation.asked.cursor is None:
            followers[operation.client] = Follower()
        follower, answer = followers[operation.client], operation.said
        if operation.asked.cursor not in follower.reached:
            continue
        follower.reached.add(answer.cursor)
        for record in answer.records:
            follower.newest[record.id] = max(record.at, follower.newest.get(record.id, record.at))
        if answer.more:
            continue
        # The first last page follows a read of all entries.
        due = rows[follower.checked : at] if follower.checked else standing.values()
        for each in due:
            if each.last > operation.ended and follower.newest.get(each.id, -1) < each.at:
                what = f" at {time_of(each.at)}" if each.at else ", which was accepted"
                verdict.breaks(
                    f"{operation.client} has read all changes, and not that of {each.id}{what}", each.first, operation
                )
        follower.checked = at
