"""Entries for the tests of the catalog."""

from typing import Any

from actors.catalog.store import Entry, Import, Kind
from service.schemas.catalog import Bot, UseCase, document_of


def bot_fields(slug: str, **fields: Any) -> dict[str, Any]:
    """A valid bot template, as an import file has it."""
    return {
        "slug": slug,
        "name": "Plain Helper",
        "who": "A clerk",
        "handle": "@sample-clerk",
        "job": "Does one thing.",
        "templateUrl": "https://example.com/templates/1",
        "addedAt": 1_000,
    } | fields


def usecase_fields(slug: str, **fields: Any) -> dict[str, Any]:
    """A valid use case, as an import file has it."""
    return {
        "slug": slug,
        "title": "Plain work done",
        "who": "A gardener",
        "handle": "@sample-gardener",
        "roi": "An hour a week",
        "sourceUrl": "https://example.org/sources/1",
        "addedAt": 1_000,
    } | fields


def guide_fields(**fields: Any) -> dict[str, Any]:
    return {
        "title": "How to do it",
        "category": "Gardening",
        "opportunity": "There is time.",
        "audience": "Growers",
        "platforms": ["Email"],
        "botSlugs": [],
        "steps": ["Begin.", "End."],
        "prompt": "Help me.",
    } | fields


def bot(slug: str, **fields: Any) -> Entry:
    model = Bot.model_validate(bot_fields(slug, **fields))
    return Entry(model.slug, model.addedAt, document_of(model))


def usecase(slug: str, **fields: Any) -> Entry:
    model = UseCase.model_validate(usecase_fields(slug, **fields))
    return Entry(model.slug, model.addedAt, document_of(model))


def of_bots(*entries: Entry, **options: Any) -> Import:
    return Import({Kind.BOTS: entries}, **options)


def of_usecases(*entries: Entry, **options: Any) -> Import:
    return Import({Kind.USECASES: entries}, **options)
