"""The search of the catalog store over Postgres: all words first, and most of them if no entry has all.

A word reaches Postgres as a text of its query language, in which a backslash and a quote are written twice.
"""

from collections.abc import Sequence

import trio

from actors.catalog.queries import is_plain, searchable
from actors.catalog.store import Found, Search
from actors.catalog.words import IN_TITLE, Term, near_the_best, steps_of, terms_of
from storage.connection.error_translation import OutOfTime
from storage.connection.pool import Connection
from storage.rows.statements import statements

SQL = statements("catalog")

CANDIDATES = 2_000
"""The maximum number of matches of one search that are ranked by their whole text."""
RELAXED_CANDIDATES = 500
"""The same for entries that have most words, each of which is ranked by each word."""


async def search_catalog(search: Search, seconds: float, connection: Connection) -> Found | None:
    """Run a search on a connection, in a transaction that changes nothing. None if `seconds` end before anything is found. If
    they end while the demand is being relaxed, the best result so far is returned."""
    until = trio.current_time() + seconds
    await connection.execute(f"begin; {_time_limit(until)}")
    found = await _search(search, connection, until)
    await connection.execute("rollback")
    return found


async def _search(search: Search, connection: Connection, until: float) -> Found | None:
    text = searchable(search.q)
    category = search.category or ""
    try:
        rows = await connection.fetch(SQL.search, search.kind.value, text, search.limit, CANDIDATES, category)
    except OutOfTime:
        return None
    if rows or not search.words or not is_plain(text):
        return Found(tuple(row["slug"] for row in rows))
    best = Found(())
    try:
        stems = [row["lexeme"] for row in await connection.fetch(SQL.stems, text)]
        terms = terms_of(stems, search.words)
        for step in steps_of(terms, search.words):
            await connection.execute(_time_limit(until))
            ranked = await _ranked(search, terms, step, connection)
            best = Found(near_the_best(ranked), relaxed=bool(ranked))
            if len(ranked) >= search.limit:
                break
    except OutOfTime:
        return best._replace(cut=True) if best.slugs else None
    return best


async def _ranked(
    search: Search, terms: Sequence[Term], step: Sequence[Sequence[Term]], connection: Connection
) -> Sequence[tuple[str, float]]:
    """The slugs and scores of the best entries that have all terms of one choice of a step."""
    demanded = " | ".join("(" + " & ".join(map(_either, choice)) + ")" for choice in step)
    either, weights = [_either(term) for term in terms], [term.weight for term in terms]
    most, category = RELAXED_CANDIDATES, search.category or ""
    rows = await connection.fetch(
        SQL.search_most, search.kind.value, demanded, search.limit, either, weights, category, most, IN_TITLE
    )
    return [(row["slug"], row["score"]) for row in rows]


def _either(term: Term) -> str:
    """A query for any of a term's words."""
    return "(" + " | ".join(map(_quoted, term.words)) + ")"


def _quoted(word: str) -> str:
    doubled = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"


def _time_limit(until: float) -> str:
    left_ms = max(1, int(1_000 * (until - trio.current_time())))
    return f"set local statement_timeout = {left_ms}"
