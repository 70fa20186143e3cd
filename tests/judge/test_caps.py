"""Promises 3 and 4: charges stay within caps, refusals are due, and figures lie between the certain and the possible."""

from typing import Any

from tests.judge import caps, remaining
from tests.judge.records import Key, Limit, Operation, Usage
from tests.judge.small import Case, history, holds, op, partial

TO_MIDNIGHT = 43_200
KNOWN = op("getUsage", -1, caller="key-1", tenant="t")
MINTED = op("mintKey", -1, keys=(Key("key-1", tenant="t", claim="x"),))


def spend(at: float, left: int | None = None, cap: int = 3, **facts: Any) -> Operation:
    """A charged request that leaves so many of the cap of a day; without that, one without an answer."""
    told: dict[str, Any] = {"status": None} if left is None else {"limits": (Limit("day", cap, left),)}
    return op(facts.pop("kind", "listBots"), at, **{"caller": "key-1", "metered": True, **told, **facts})


def life(at: float, left: int) -> Operation:
    return spend(at, limits=(Limit("day", 500, left), Limit("lifetime", 3, left)), status=200)


def full(at: float, **facts: Any) -> Operation:
    """A refusal by the cap of a day."""
    return spend(at, **{"status": 429, "code": "rate_limited", "retry": 40_000, **facts})


def usage(at: float, used: int, **facts: Any) -> Operation:
    return op("getUsage", at, caller="key-1", tenant="t", usage=Usage("anonymous", used, 1_000, used, 500), **facts)


def spent(*lefts: int) -> list[Operation]:
    return [MINTED, *(spend(number, left) for number, left in enumerate(lefts))]


KEPT: dict[str, Case] = {
    "used up": [*spent(2, 1, 0), full(5)],
    "used up by one without an answer": [*spent(2, 1), spend(3), full(5)],
    "used up by one that failed": [*spent(2, 1), spend(3, status=503, limits=(Limit("day", 3, 0),)), full(5)],
    "used up by one that is under way": [*spent(2, 1), spend(4, 0, took=9), full(5)],
    "a day on each side of midnight": [*spent(2, 1, 0), *(spend(TO_MIDNIGHT + n, 3 - n) for n in (1, 2, 3))],
    "around midnight": [MINTED, *(spend(TO_MIDNIGHT - 0.5 + n / 10, left) for n, left in enumerate((2, 1, 0, 2, 1)))],
    "two keys": [*spent(2, 1, 0), *(spend(n, 3 - n, caller="key-2") for n in (1, 2, 3))],
    "a limit per minute": [*spent(2), full(1, retry=30)],
    "another limit of a day": [*spent(2), full(1, limits=(Limit("day", 3, 1),)), full(2, kind="exportAccount")],
    "accounts of one mailbox": [*spent(2), full(5, shared=True)],
    "others were not recorded": partial(*spent(2), full(5)),
    "a key of unknown use": history([spend(0, 2, 50), full(5)], fresh=False),
    "a life": [MINTED, life(0, 2), life(1, 1), life(2, 0), spend(3, status=403, code="quota_exhausted", limits=())],
    "a claimed key goes on": [
        *(MINTED, life(0, 2), life(1, 1), life(2, 0), op("completeClaim", 3, id="x", tenant="t")),
        *(spend(4 + n, 499 - n, 500) for n in range(3)),
    ],
    "used up by a caller of an unknown account": [
        KNOWN,
        spend(0, 2),
        spend(1, 1),
        spend(2, 2, caller="key-9"),
        full(5),
    ],
    "used up on a day whose answers were lost": [
        *spent(2),
        *(spend(TO_MIDNIGHT + n) for n in (1, 2, 3)),
        full(TO_MIDNIGHT + 9),
    ],
    "a higher tier": [*spent(2, 1, 0), spend(5, 6, 10), spend(6, 5, 10)],
}

BEYOND: dict[str, tuple[Case, str]] = {
    "one too many": (spent(2, 1, 0, 0), "beyond its cap of 3"),
    "one too many in a partial history": (partial(*spent(2, 1, 0, 0)), "beyond its cap of 3"),
    "one too many in a life": ([MINTED, *(life(n, 0) for n in range(4))], "in its lifetime"),
    "by two keys of an account": (
        [
            *(op("getUsage", -1, caller=f"key-{n}", tenant="t") for n in (1, 2)),
            *(spend(n, 0, caller=f"key-{1 + n % 2}") for n in range(4)),
        ],
        "t was charged 4 requests",
    ),
    "refused too early": ([*spent(2, 1), full(5)], "at most 2 of 3 were charged"),
    "refused before the others began": ([full(-0.5), *spent(2, 1, 0)], "at most 0 of 3 were charged"),
    "refused on the next day": ([*spent(2, 1, 0), full(TO_MIDNIGHT + 9)], "at most 0 of 3"),
    "refused, whoever else was charged": (
        [KNOWN, spend(0, 2), spend(1, 2, caller="key-9"), full(5)],
        "at most 2 of 3 were charged",
    ),
    "refused for life": (
        [MINTED, life(0, 2), spend(1, status=403, code="quota_exhausted", limits=())],
        "(lifetime) was reached",
    ),
}


def test_charges_stay_within_caps_and_refusals_are_due() -> None:
    holds(caps.check, KEPT, BEYOND)


TRUE: dict[str, Case] = {
    "one after another": [*spent(2, 1, 0), usage(9, 3)],
    "one without an answer counts": [*spent(2), spend(2), spend(3, 0), usage(9, 3)],
    "one without an answer does not count": [*spent(2), spend(2), spend(3, 1), usage(9, 2)],
    "one that failed is returned later": [
        *spent(2),
        *(spend(2, status=503, limits=(Limit("day", 3, 1),)), usage(3, 2), usage(9, 1)),
    ],
    "at once": [MINTED, spend(0, 0, took=5), spend(0, 2, took=5), spend(0, 1, took=5), usage(1, 0, took=3)],
    "around midnight": [MINTED, spend(TO_MIDNIGHT - 2, 2), spend(TO_MIDNIGHT - 0.5, 2), usage(TO_MIDNIGHT - 0.2, 2)],
    "used before the history": partial(spend(0, 2, 50), spend(1, 1, 50)),
    "charges of a key that a claim without an answer may have brought": [
        *(MINTED, op("mintKey", -1, keys=(Key("key-2", tenant="u", claim="y"),))),
        *(op("completeClaim", 0, id="x", tenant="v"), op("completeClaim", 0, id="y", status=None)),
        *(spend(1, 2, caller="key-2"), spend(2, 1)),
    ],
    "an account of others": [MINTED, op("completeClaim", 0, id="x", status=None), spend(1, 3, 10_000)],
}

FALSE: dict[str, tuple[Case, str]] = {
    "too much left": ([*spent(2, 1), spend(3, 1)], "but 3 were charged before"),
    "too little left": ([*spent(2), spend(3, 0)], "but at most 2 were possible"),
    "usage too low": (partial(*spent(2, 1), usage(9, 1)), "but 2 were charged before"),
    "usage too high": ([*spent(2, 1), usage(9, 3)], "but at most 2 were possible"),
    "usage of a refused request": ([*spent(2, 1, 0), full(5), usage(9, 4)], "but at most 3 were possible"),
    "a use is counted on two days": (
        [*spent(2, 1), spend(TO_MIDNIGHT + 9, 0)],
        "but at most 1 were possible",
    ),
}


def test_figures_lie_between_the_certain_and_the_possible() -> None:
    holds(remaining.check, TRUE, FALSE)
