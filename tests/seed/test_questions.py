"""Forty plain questions to the sample catalog, at least 39 of which find an entry that fits among the first five."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from actors.catalog.store import Kind
from service.config.synonyms import synonyms_in
from service.seed.catalog_file import parse
from service.seed.samples import FILE as SAMPLES
from service.snapshots.search_index import SearchIndex

FILE = Path(__file__).parent / "questions.toml"
SYNONYMS = SAMPLES.parent / "synonyms.txt"
LEAST, FIRST = 39, 5


class Question(BaseModel, extra="forbid"):
    """A search of a list, and the slugs of the entries that answer it."""

    text: str
    list: Kind
    fits: tuple[str, ...]


class _File(BaseModel, extra="forbid"):
    questions: tuple[Question, ...]


def questions() -> Sequence[Question]:
    return _File.model_validate(tomllib.loads(FILE.read_text(encoding="utf-8"))).questions


def test_at_least_39_of_40_plain_questions_find_a_fitting_entry_among_the_first_five() -> None:
    index = SearchIndex(synonyms_in(str(SYNONYMS)))
    with SAMPLES.open("rb") as stream:
        entries = parse(stream).entries
    for kind in Kind:
        index.apply(kind, entries[kind], ())
    asked, missed = questions(), []
    assert len(asked) == 40
    for question in asked:
        assert {entry.slug for entry in entries[question.list]} >= set(question.fits), question
        first = index.search(question.list, question.text, 20).slugs[:FIRST]
        if not set(first) & set(question.fits):
            missed.append(f"{question.text!r} finds {', '.join(first) or 'nothing'}, not {', '.join(question.fits)}")
    assert len(asked) - len(missed) >= LEAST, "\n".join(missed)
