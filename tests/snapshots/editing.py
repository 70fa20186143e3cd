"""Messages of the catalog editor for tests, and what they lead to."""

from itertools import count
from typing import Any

from actors.catalog.messages import UNCONDITIONAL, Condition, EntryId, Kind, PutEntry, RetireEntry
from actors.values import Agent, AuditRecord
from service.schemas.catalog import BotEntry, UseCaseEntry, document_of
from tests.snapshots.entries import bot_fields, usecase_fields

CLERK = Agent("key", "key_clerk", "clerk@example.com")

_numbers = count(1)


def entry_id(name: str) -> EntryId:
    """`bots/a`"""
    kind, _, slug = name.partition("/")
    return EntryId(Kind(kind), slug)


def drafted(name: EntryId, added_ms: int, **fields: Any) -> bytes:
    if name.kind is Kind.BOTS:
        return document_of(BotEntry.model_validate(bot_fields(name.slug, **fields) | {"addedAt": added_ms}))
    return document_of(UseCaseEntry.model_validate(usecase_fields(name.slug, **fields) | {"addedAt": added_ms}))


def put(name: str, added_ms: int | None = None, condition: Condition = UNCONDITIONAL, **fields: Any) -> PutEntry:
    named = entry_id(name)
    return PutEntry(named, lambda added_ms: drafted(named, added_ms, **fields), added_ms, condition, _audit(named))


def retire(name: str, condition: Condition = UNCONDITIONAL) -> RetireEntry:
    return RetireEntry(entry_id(name), condition, _audit(entry_id(name)))


def _audit(name: EntryId) -> AuditRecord:
    return AuditRecord.by(CLERK, f"aud_{next(_numbers)}", 0, "entry.edited", ("bot", name.slug), "", "{}")
