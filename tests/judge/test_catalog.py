"""Promise 8, the catalog: an entry has one version at a time, and changes tell of each."""

from typing import Any

from tests.judge.catalog import IMPORT, REMOVED, check
from tests.judge.finding import Verdict
from tests.judge.records import Campaign, History, Operation, Record
from tests.judge.small import NOON, Case, holds, op, partial


def record(version: str, digest: str) -> Record:
    """A version of a bot such as `a1`: its slug, and when it became so, in seconds after noon."""
    return Record(f"bots/{version[0]}", NOON + int(float(version[1:]) * 1_000), digest)


def changes(at: float, *changed: str, **facts: Any) -> Operation:
    """A page of changes: versions, those with a `-` before them removed."""
    rows = [record(each.lstrip("-"), REMOVED if each[0] == "-" else "updated") for each in changed]
    return op("listChanges", at, records=tuple(rows), **facts)


def reads(at: float, version: str, content: str = "x", kind: str = "getBot", **facts: Any) -> Operation:
    """A read of a version with a content. Without a time, there is no such entry."""
    known = {"records": (record(version, content),)} if version[1:] else {"status": 404}
    return op(kind, at, id=version[0], **{**known, **facts})


def puts(at: float, version: str, content: str, **facts: Any) -> Operation:
    return reads(at, version, content, "putBot", **facts)


def retires(at: float, version: str, **facts: Any) -> Operation:
    return reads(at, version, REMOVED, "retireBot", **facts)


def stored(at: float, version: str, content: str = "x") -> Operation:
    return reads(at, version, content, "getStoredBot")


def imports(at: float, *brought: str, **facts: Any) -> Operation:
    """An import of contents, such as `ax`: a slug and its content."""
    return op(IMPORT, at, writes=tuple(Record(f"bots/{each[0]}", 0, each[1:]) for each in brought), **facts)


def accepts(at: float, entry: str) -> Operation:
    told = (Campaign("sub_1", "accepted"),)
    return op("reviewSubmission", at, id="sub_1", decision="accept", campaigns=told, entry=entry)


def another(operation: Operation) -> Operation:
    return operation._replace(client="another")


CLEAN: dict[str, Case] = {
    "an entry that nobody knows was removed": partial(puts(0, "a1", "x"), reads(60, "a")),
    "an answer that was not read": [puts(0, "a1", "x"), changes(20, "a1"), changes(60, code="unread")],
    "an accepted entry": [accepts(0, "bots/a"), changes(1), changes(60, "a1")],
    "an accepted entry on the second page": [
        *(accepts(0, "bots/a"), changes(60, "b-9", more=True, gives="x"), changes(61, "a0", cursor="x")),
    ],
    "changes that were not read from the beginning": [accepts(0, "bots/a"), changes(60, "b-2", cursor="x")],
    "entries that changed again": [
        *(changes(0, "a1", "b2", "c3"), changes(60, "b2", "a4", "c5"), changes(120, "b2", "c5", "a6")),
    ],
    "changes after a cursor": [
        *(changes(0, "a1", gives="x"), changes(60, "b2", cursor="x"), changes(120, "b2", "c3", cursor="x")),
    ],
    "a change that came while others were read": [
        *(
            changes(0, "a1", gives="x"),
            changes(1, cursor="x"),
            another(changes(60, "a1", "b2")),
            changes(61, cursor="x"),
        ),
    ],
    "an entry that moved behind what its follower has read": [
        changes(0, "b1", more=True, gives="x"),
        another(changes(1, "a0.5", "b1", "c1")),
        changes(20, "c1", cursor="x"),
        another(changes(60, "b1", "c1", "a19")),
    ],
    "a node that is behind": [
        changes(0, "a1", "b2"),
        changes(0.5, "a1"),
        puts(0, "a1", "x"),
        puts(1, "a2", "y"),
        reads(2, "a1"),
    ],
    "a page of changes": [changes(0, "a1", "b2", "c3"), changes(60, "a1", more=True)],
    "an edit, a removal and a return": [
        *(puts(5, "a5", "x"), reads(20, "a5"), puts(21, "a21", "y"), retires(22, "a22"), reads(40, "a")),
        *(puts(41, "a41", "x"), reads(60, "a41"), changes(61, "a41")),
    ],
    "an entry that comes and goes between reads of one version each": [
        *(
            puts(5, "a5", "x"),
            reads(6, "a"),
            stored(7, "a5"),
            retires(8, "a8"),
            reads(19, "a"),
            stored(20, "a8", REMOVED),
        ),
    ],
    "the same again": [puts(5, "a5", "x"), puts(6, "a5", "x"), imports(7, "ax"), stored(8, "a5")],
    "an import that is repeated": [imports(5, "ax", id="i", status=None), imports(6, "ax", id="i"), stored(7, "a5.5")],
    "a content that comes back": [
        *(imports(5, "ax"), stored(6, "a5"), puts(7, "a", "", status=None), imports(20, "ax"), stored(21, "a20")),
    ],
    "an import that removes others": [
        *(imports(5, "ax", "bx"), stored(6, "a5"), imports(7, "bx", removes=("bots",)), stored(8, "a7", REMOVED)),
    ],
    "a change without an answer": [puts(5, "a", "", status=503), reads(20, "a5", "z"), changes(60, "a5")],
    "an entry of an accepted submission": [accepts(5, "bots/a"), stored(6, "a5", "z")],
    "entries from before": [stored(0, "a-50"), stored(1, "b-40", REMOVED)],
    "an import that nobody has recorded": partial(op("getUsage", 0), stored(60, "a50")),
}

BROKEN: dict[str, tuple[Case, str]] = {
    "an entry that is gone for ever": ([puts(0, "a1", "x"), reads(60, "a")], "bots/a is not there"),
    "an accepted entry that is nowhere": (
        [accepts(0, "bots/a"), changes(60, "b1", more=True, gives="x"), changes(61, "c2", cursor="x")],
        "not that of bots/a, which was accepted",
    ),
    "an entry that is older": ([changes(0, "a2"), changes(60, "a1")], "bots/a is older than before"),
    "an entry that shows what was replaced": ([puts(0, "a2", "y"), reads(60, "a1")], "bots/a is older than before"),
    "an entry that stays though it was retired": (
        [reads(0, "a0.1"), retires(1, "a1"), reads(60, "a0.1")],
        "bots/a is older than before",
    ),
    "an edit that is older than what it replaces": ([stored(1, "a2"), puts(2, "a1.5", "y")], "is older than before"),
    "a node that goes back": ([changes(0, "a2"), reads(1, "a1")], "bots/a is older than before on one node"),
    "two contents at one time": (
        [stored(0, "a1"), reads(1, "a1", "y")],
        "bots/a has two contents of 2026-11-18T12:00:01",
    ),
    "a removal that removes nothing": ([retires(1, "a1"), stored(2, "a1")], "bots/a has two contents of"),
    "an entry that is not there": (
        [stored(0, "a0"), reads(20, "a"), stored(21, "a0")],
        "bots/a is not there",
    ),
    "changes in another order": ([changes(0, "a1", "b2"), changes(60, "b2", "a1")], "in another order"),
    "a change before old ones": ([changes(0, "a1", "b2"), changes(60, "c3", "a1", "b2")], "in another order"),
    "a change that a cursor skips": (
        [
            changes(0, "a1", gives="x"),
            changes(1, "c3", cursor="x", gives="y"),
            another(changes(2, "a1", "b2", "c3")),
            changes(60, cursor="y"),
            stored(61, "b2"),
        ],
        "has read all changes, and not that of bots/b at",
    ),
    "a page that leaves out a change": (
        [
            another(changes(0, "a1", "b2", "c3")),
            changes(60, "a1", more=True, gives="x"),
            changes(61, "c3", cursor="x"),
            another(changes(90, "a1", "b2", "c3")),
        ],
        "has read all changes, and not that of bots/b at",
    ),
    "an edit of which no change tells": (
        [puts(5, "b5", "x"), changes(60, "a4"), stored(61, "b5")],
        "has read all changes, and not that of bots/b at",
    ),
    "a lost entry": (partial(changes(0, "a1", "b2"), changes(60, "b2")), "have lost bots/a"),
    "a trial that imports": (
        [imports(5, "ax"), op(IMPORT, 7), stored(8, "a7", "y")],
        "is written by no",
    ),
    "an import that is done again": (
        [imports(4, "ax", took=20), stored(6, "a6"), puts(7, "a7", "y"), stored(9, "a8", "x")],
        "bots/a is written by no request",
    ),
    "an attempt that is done again": (
        [imports(4, "ax", id="i"), imports(7, "ax", id="i"), stored(6, "a6"), puts(6.5, "a6.5", "y"), stored(9, "a8")],
        "bots/a is written by no request",
    ),
    "an import that removes entries of the other list": (
        [imports(5, "ax"), stored(6, "a5"), imports(7, removes=("usecases",)), stored(8, "a7", REMOVED)],
        "bots/a is removed by no request",
    ),
    "an unchanged entry that is written again": (
        [imports(5, "ax"), stored(6, "a5"), imports(7, "ax"), stored(8, "a7")],
        "bots/a has a new version with the content of the one before",
    ),
}


def test_an_entry_has_one_version_at_a_time_and_changes_tell_of_each() -> None:
    holds(judged, CLEAN, BROKEN)


def judged(history: History) -> Verdict:
    """The verdict of a history that begins ten seconds before noon."""
    return check(history._replace(operations=(*history.operations, op("getUsage", -10))), Verdict())
