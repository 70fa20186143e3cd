"""Entries for the tests of the catalog."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from actors.catalog.messages import Change, ChangeType, Entry, EntryId, Kind
from actors.catalog.store import CatalogStore, Import, Revision
from service.schemas.catalog import BotEntry, UseCaseEntry, document_of
from service.snapshots.catalog_entries import CatalogSnapshot, SnapshotBuilder

IMPORTED_MS = 5_000
"""When the entries of tests are imported."""


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
    model = BotEntry.model_validate(bot_fields(slug, **fields))
    return Entry(model.slug, model.addedAt, document_of(model))


def usecase(slug: str, **fields: Any) -> Entry:
    model = UseCaseEntry.model_validate(usecase_fields(slug, **fields))
    return Entry(model.slug, model.addedAt, document_of(model))


def snapshot_of(
    kind: Kind, entries: Iterable[Entry], previous: CatalogSnapshot | None = None, revision: int = 1
) -> CatalogSnapshot:
    """The snapshot whose list of a kind has these entries: after `previous`, whose others are removed. An entry that says
    nothing else was updated at `IMPORTED_MS`."""
    previous = previous or CatalogSnapshot()
    builder = SnapshotBuilder(previous)
    now, number = {entry.slug: entry for entry in entries}, builder.after
    before = [slug for _, slug in previous.lists[kind].positions(0, len(previous.lists[kind]))]
    for slug in [slug for slug in before if slug not in now]:
        number += 1
        builder.take([Change(EntryId(kind, slug), number, ChangeType.REMOVED, IMPORTED_MS)])
    for slug, entry in now.items():
        at_ms = entry.updated_ms or IMPORTED_MS
        served = replace(entry, updated_ms=at_ms).served
        known = previous.item(kind, slug)
        if known is None or known.body != served:
            number += 1
            change = ChangeType.ADDED if known is None else ChangeType.UPDATED
            builder.take([Change(EntryId(kind, slug), number, change, at_ms, entry.added_ms, served)])
    return builder.finished(Revision(revision, number))


async def loaded_from(store: CatalogStore) -> CatalogSnapshot:
    """The snapshot of a store's catalog."""
    builder = SnapshotBuilder(CatalogSnapshot())
    return builder.finished(await store.changes(0, builder.take))


def of_bots(*entries: Entry, **options: Any) -> Import:
    return Import({Kind.BOTS: entries}, IMPORTED_MS, **options)


def of_usecases(*entries: Entry, **options: Any) -> Import:
    return Import({Kind.USECASES: entries}, IMPORTED_MS, **options)
