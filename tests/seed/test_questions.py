"""Plain questions to the sample catalog, most of which find an entry that fits among the first few."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest
from pydantic import BaseModel

from actors.catalog.messages import Entry, Kind
from service.config.synonyms import synonyms_in
from service.seed.catalog_file import parse
from service.seed.samples import FILE as SAMPLES
from service.snapshots.search_index import SearchIndex

HERE = Path(__file__).parent
OTHER_SCRIPTS = HERE / "entries_in_other_scripts.jsonl"
SYNONYMS = SAMPLES.parent / "synonyms.txt"


class Question(BaseModel, extra="forbid"):
    """A search of a list, and the slugs of the entries that answer it."""

    text: str
    list: Kind
    fits: tuple[str, ...]


class _File(BaseModel, extra="forbid"):
    questions: tuple[Question, ...]


def questions(name: str) -> Sequence[Question]:
    return _File.model_validate(tomllib.loads((HERE / name).read_text(encoding="utf-8"))).questions


def entries_of(file: Path) -> Mapping[Kind, Sequence[Entry]]:
    with file.open("rb") as stream:
        parsed = parse(stream)
    assert not parsed.report()
    return parsed.entries


@cache
def index() -> SearchIndex:
    """The sample catalog and the entries in other scripts."""
    made = SearchIndex(synonyms_in(str(SYNONYMS)))
    for file in (SAMPLES, OTHER_SCRIPTS):
        for kind, entries in entries_of(file).items():
            made.apply(kind, entries, ())
    return made


@pytest.mark.parametrize(
    ("name", "number", "least", "first"),
    [
        ("questions.toml", 40, 39, 5),
        ("questions_of_newcomers.toml", 80, 72, 3),
    ],
)
def test_most_plain_questions_find_a_fitting_entry_among_the_first(
    name: str, number: int, least: int, first: int
) -> None:
    asked, missed = questions(name), []
    assert len(asked) == number
    for question in asked:
        slugs = index().search(question.list, question.text, 20).slugs[:first]
        if not set(slugs) & set(question.fits):
            missed.append(f"{question.text!r} finds {', '.join(slugs) or 'nothing'}, not {', '.join(question.fits)}")
    assert len(asked) - len(missed) >= least, "\n".join(missed)


def test_the_entries_that_fit_exist() -> None:
    slugs = {
        (kind, entry.slug)
        for file in (SAMPLES, OTHER_SCRIPTS)
        for kind, entries in entries_of(file).items()
        for entry in entries
    }
    for name in ("questions.toml", "questions_of_newcomers.toml"):
        for question in questions(name):
            assert {(question.list, slug) for slug in question.fits} <= slugs, question
