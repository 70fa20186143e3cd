"""Any text can be searched for: generated queries against the stores themselves, none of which may fail.

`make fuzz-search` sends 100,000 of them, and the suite a share.
"""

import os
import random
import unicodedata
from contextlib import nullcontext

from actors.catalog.store import CatalogStore, Import, Kind, Search
from service.snapshots.catalog import SEARCH_CHARACTERS
from storage.connection.pool import Database
from storage.postgres.catalog import PostgresCatalog
from tests.doubles.catalog import MemoryCatalog
from tests.doubles.tables import Memory
from tests.slow import shortened
from tests.snapshots.entries import IMPORTED_MS, bot, guide_fields, loaded_from, usecase

SEARCHES = int(os.environ.get("CATALOG_TEST_SEARCHES") or shortened(3_000))
BOUND_SECONDS = 30.0

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


async def _searched(store: CatalogStore, seed: int, count: int) -> list[str]:
    """The queries that fail, with their errors."""
    named = bot("a", name="Fence", category="Fences"), bot("b", name="It's fenced at x_y/e.x, a-b & 1e9")
    await store.replace(Import({Kind.BOTS: named, Kind.USECASES: [usecase("u", guide=guide_fields())]}, IMPORTED_MS))
    snapshot = await loaded_from(store)
    writer, failures, relaxed = Writer(seed), [], 0
    for number in range(count):
        q = writer.query()
        assert len(q) <= SEARCH_CHARACTERS
        kind = Kind.BOTS if number % 2 else Kind.USECASES
        category = "Fences" if number % 4 == 1 else None
        search = Search(kind, q, 20, category, snapshot.lists[kind].words)
        try:
            relaxed += (await store.search(search, room=nullcontext(), seconds=BOUND_SECONDS)).relaxed
        except Exception as error:
            failures.append(f"{q!r}: {error!r}")
    assert relaxed >= count // 200, "queries that are relaxed belong to all kinds of them"
    return failures


async def test_no_generated_query_fails_in_postgres(database: Database) -> None:
    failures = await _searched(PostgresCatalog(database), seed=1, count=SEARCHES)
    assert not failures, f"{len(failures)} of {SEARCHES}: {failures[:5]}"


async def test_no_generated_query_fails_in_memory() -> None:
    assert not await _searched(MemoryCatalog(Memory()), seed=2, count=SEARCHES)


def test_generated_queries_are_of_all_kinds() -> None:
    writer = Writer(1)
    queries = [writer.query() for _ in range(SEARCHES)]
    signs = {sign for q in queries for sign in q}
    assert {unicodedata.category(sign) for sign in signs} >= {"Cc", "Cf", "Cs", "Lo", "Mn", "Nd", "Pd", "So", "Zs"}
    assert sum(q.count("-") > 32 for q in queries) > SEARCHES // 100
