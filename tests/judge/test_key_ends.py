"""Promise 7: a key ends at once on the node that ended it, with its successors, and no later than its rotation asked."""

from typing import Any

from tests.judge import key_ends
from tests.judge.finding import Verdict
from tests.judge.records import History, Key, Limit, Operation
from tests.judge.small import NOON, Case, holds, op, partial

MADE = op("createScopedKey", 0, keys=(Key("key-1", "k1"),))


def uses(at: float, caller: str = "key-1", *, node: str = "n", **facts: Any) -> Operation:
    told = {"limits": (Limit("day", 9, 8),), **facts}
    return op("getBot", at, caller=caller, metered=True, **told)._replace(node=node)


def rotates(at: float, old: int = 1, ends: float = 9, **facts: Any) -> Operation:
    """A key rotates itself: the next one is shown, and the old one works until so many seconds after noon."""
    new = Key(f"key-{old + 1}", f"k{old + 1}", replaces=f"k{old}", old_ends=NOON + int(ends * 1_000))
    return op("rotateScopedKey", at, id=f"k{old}", caller=f"key-{old}", keys=(new,), **facts)


def revokes(at: float, *ids: str, **facts: Any) -> Operation:
    return op("revokeScopedKey", at, id=ids[0], revoked=ids, **facts)


def check(history: History) -> Verdict:
    return key_ends.check(history, Verdict(judged=1))


CLEAN: dict[str, Case] = {
    "until it is revoked": [MADE, uses(1), revokes(2, "k1"), uses(3, status=401, limits=())],
    "revoked on another node": [MADE, revokes(2, "k1"), uses(11, node="m")],
    "used while it is revoked": [MADE, revokes(2, "k1", took=3), uses(4)],
    "revoked without an answer": [MADE, op("revokeScopedKey", 2, id="k1", status=None), uses(3)],
    "in its grace": [MADE, rotates(1, grace=8), uses(9.5), uses(11, node="m"), uses(50, "key-2")],
    "rotated once it was revoked": [MADE, revokes(2, "k1", took=3), rotates(3), uses(50, "key-2")],
    "rotated by a session": [MADE, rotates(1)._replace(asked=rotates(1).asked._replace(caller="session-1")),
                             revokes(2, "k1"), uses(50, "key-2")],
}  # fmt: skip

BROKEN: dict[str, tuple[Case, str]] = {
    "revoked on its node": (partial(MADE, revokes(2, "k1"), uses(3)), "was revoked and ended on its node"),
    "after its grace": ([MADE, rotates(1), uses(11)], "was replaced and ended on its node"),
    "after its grace elsewhere": ([MADE, rotates(1), uses(12, node="m")], "was replaced and ended everywhere"),
    "a grace that is longer": ([MADE, rotates(1, ends=11, grace=8)], "was to work for 8 s after its rotation"),
    "a successor": ([MADE, rotates(1), revokes(2, "k1"), uses(13, "key-2")], "became of one that was revoked"),
    "a successor of a successor": (
        [MADE, rotates(1), rotates(1.5, 2), revokes(2, "k1"), uses(13, "key-3")],
        "the key of key-3 became of one that was revoked",
    ),
}


def test_a_key_ends_where_and_when_it_was_ended() -> None:
    holds(check, CLEAN, BROKEN)
