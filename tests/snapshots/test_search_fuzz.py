"""Any text can be searched for: generated queries against the index, none of which may fail.

`make fuzz-search` sends 100,000 of them, and the suite a share.
"""

import os
import random
import time
import unicodedata

from actors.catalog.messages import Kind
from service.snapshots.catalog import SEARCH_CHARACTERS
from service.snapshots.search_index import SearchIndex
from tests.slow import shortened
from tests.snapshots.entries import bot, guide_fields, usecase

SEARCHES = int(os.environ.get("CATALOG_TEST_SEARCHES") or shortened(3_000))
BOUND_SECONDS = 0.5
"""The CPU of one search of few entries, which takes a millisecond, with a margin for a busy machine."""

SIGNS = (
    "-",
    "--",
    "- ",
    '"',
    '""',
    "!",
    "|",
    "&",
    "(",
    ")",
    "<->",
    "<2>",
    ":*",
    ":A",
    "'",
    "\\",
    "/",
    ".",
    "_",
    "@",
    "%",
)
WORDS = ("fence", "the", "or", "OR", "and", "not", "a-b", "it's", "x_y", "ann@example.com", "http://e.x/p?q=1", "1e9")
SPACES = (
    " ",
    "  ",
    "\t",
    "\n",
    "\0",
    "\x0b",
    "\x85",
    "\xa0",
    "\u1680",
    "\u180e",
    "\u2028",
    "\u200b",
    "\u3000",
    "\ufeff",
)
ODD = (
    "\x01",
    "\x1f",
    "\x7f",
    "\ud800",
    "\udfff",
    "\ufffe",
    "\uffff",
    "\U0010ffff",
    "\u0301",
    "\u202e",
    "\u00ad",
    "\ufdfa",
)
SCRIPTS = (
    *((0x00C0, 0x24F), (0x370, 0x3FF), (0x400, 0x52F), (0x531, 0x58F), (0x591, 0x5F4), (0x600, 0x6FF), (0x900, 0x97F)),
    *((0xE01, 0xE5B), (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1E00, 0x1EFF), (0x2010, 0x206F), (0x2190, 0x22FF)),
    *((0x3041, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xFB00, 0xFDFF), (0x10330, 0x1034A), (0x1D400, 0x1D7FF)),
    *((0x1F300, 0x1FAFF), (0x20000, 0x2A6DF), (0xE0001, 0xE007F)),
)


class Writer:
    """Queries from one seed: pieces of all kinds, and runs of one piece."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def query(self) -> str:
        pieces = [self._piece() for _ in range(self._random.choice((1, 2, 5, 20, 100)))]
        return "".join(pieces)[: self._random.choice((SEARCH_CHARACTERS, SEARCH_CHARACTERS, 60, 33))]

    def _piece(self) -> str:
        kind = self._random.randrange(10)
        if kind < 3:
            return self._random.choice(SIGNS)
        if kind < 5:
            word = self._random.choice(WORDS)
            return (self._misspelled(word) if kind == 4 else word) + self._random.choice(("", " "))
        if kind < 7:
            return self._random.choice(SPACES)
        if kind == 7:
            return self._random.choice(ODD)
        if kind == 8:
            return chr(self._random.randint(*self._random.choice(SCRIPTS)))
        # A run of a few pieces, repeated up to the end.
        return "".join(self._random.choice(SIGNS + SPACES) for _ in range(self._random.randint(1, 3))) * 200

    def _misspelled(self, word: str) -> str:
        """A word with a letter left out, doubled or swapped with its neighbour, or cut short."""
        place = self._random.randrange(len(word))
        before, letter, after = word[:place], word[place], word[place + 1 :]
        return self._random.choice(
            (before + after, before + letter * 2 + after, before + after[:1] + letter + after[1:], before)
        )


def test_no_generated_query_fails_or_takes_long() -> None:
    index, writer, failures, relaxed, longest = SearchIndex(), Writer(1), list[str](), 0, 0.0
    named = bot("a", name="Fence", category="Fences"), bot("b", name="It's fenced at x_y/e.x, a-b & 1e9")
    index.apply(Kind.BOTS, named, ())
    index.apply(Kind.USECASES, [usecase("u", guide=guide_fields())], ())
    for number in range(SEARCHES):
        q = writer.query()
        assert len(q) <= SEARCH_CHARACTERS
        kind, category = (Kind.BOTS, "Fences" if number % 4 == 1 else None) if number % 2 else (Kind.USECASES, None)
        started = time.thread_time()
        try:
            relaxed += index.search(kind, q, 20, category).relaxed
        except Exception as error:
            failures.append(f"{q!r}: {error!r}")
        longest = max(longest, time.thread_time() - started)
    assert not failures, f"{len(failures)} of {SEARCHES}: {failures[:5]}"
    assert relaxed >= SEARCHES // 200, "queries that are relaxed belong to all kinds of them"
    assert longest < BOUND_SECONDS


def test_generated_queries_are_of_all_kinds() -> None:
    writer = Writer(1)
    queries = [writer.query() for _ in range(SEARCHES)]
    signs = {sign for q in queries for sign in q}
    assert {unicodedata.category(sign) for sign in signs} >= {"Cc", "Cf", "Cs", "Lo", "Mn", "Nd", "Pd", "So", "Zs"}
    assert sum(q.count("-") > 32 for q in queries) > SEARCHES // 100
