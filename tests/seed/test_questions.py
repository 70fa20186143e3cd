"""Forty plain questions to the sample catalog, at least 36 of which find an entry that fits among the first five."""

import tomllib
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from pydantic import BaseModel

from actors.catalog.store import Kind, Search
from service.seed.samples import load_samples
from storage.connection.pool import Database
from storage.postgres.catalog import PostgresCatalog
from tests.fakes import HandClock
from tests.snapshots.entries import loaded_from

FILE = Path(__file__).parent / "questions.toml"
LEAST, FIRST = 36, 5


class Question(BaseModel, extra="forbid"):
    """A search of a list, and the slugs of the entries that answer it."""

    text: str
    list: Kind
    fits: tuple[str, ...]


class _File(BaseModel, extra="forbid"):
    questions: tuple[Question, ...]


def questions() -> Sequence[Question]:
    return _File.model_validate(tomllib.loads(FILE.read_text(encoding="utf-8"))).questions


async def test_at_least_36_of_40_plain_questions_find_a_fitting_entry_among_the_first_five(database: Database) -> None:
    store = PostgresCatalog(database)
    await load_samples(store, HandClock(0))
    snapshot = await loaded_from(store)
    asked, missed = questions(), []
    assert len(asked) == 40
    for question in asked:
        kind = question.list
        assert all(snapshot.item(kind, slug) for slug in question.fits), question
        search = Search(kind, question.text, 20, words=snapshot.lists[kind].words)
        first = (await store.search(search, room=nullcontext(), seconds=30.0)).slugs[:FIRST]
        if not set(first) & set(question.fits):
            missed.append(f"{question.text!r} finds {', '.join(first) or 'nothing'}, not {', '.join(question.fits)}")
    assert len(asked) - len(missed) >= LEAST, "\n".join(missed)
