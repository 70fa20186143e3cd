"""Operations of administrators on the catalog: create, replace, retire and restore single entries."""

from collections.abc import Mapping
from functools import partial

from actors.catalog.messages import (
    EXISTS,
    UNCONDITIONAL,
    Condition,
    Conflict,
    Draft,
    Entry,
    EntryId,
    EntryRetired,
    EntrySaved,
    Kind,
)
from actors.catalog.state import WORDS, unknown_entry
from actors.values import Code, Refused, invalid_field
from service.api.context import Services
from service.api.messages import NO_STORE, Answer
from service.api.operation import Call, Operation, admin_read, admin_write
from service.http.header_lists import members
from service.schemas.catalog import (
    DOCUMENT_BYTES,
    BotAnswer,
    BotBody,
    BotEntry,
    UseCaseAnswer,
    UseCaseBody,
    UseCaseEntry,
    document_of,
    is_slug,
)
from service.schemas.fields import NEWEST_MS
from service.schemas.internal import RetiredEntries, RetiredEntry
from service.snapshots.etags import digest_in, etag_of

BODY_BYTES = 6 * DOCUMENT_BYTES
"""An escape such as `\\u00fc` takes three times the bytes of its letter, and one of a control character six times."""

FIELD = {Kind.USECASES: b"useCase", Kind.BOTS: b"bot"}
ENTRIES: Mapping[Kind, type[UseCaseEntry] | type[BotEntry]] = {Kind.USECASES: UseCaseEntry, Kind.BOTS: BotEntry}
NO_SLUG = (
    "A slug has at most 100 characters: lower-case letters and digits, in groups with single hyphens between them, such as "
    "`chasing-late-invoices`."
)
ANY = "*"
MAX_RETIRED = 50
"""The removed entries of a kind that administrators see in a list."""


async def _put(services: Services, call: Call, kind: Kind) -> Answer | Refused:
    slug = call.path_values["slug"]
    if not is_slug(slug):
        return Refused(Code.NOT_FOUND, NO_SLUG)
    entry_id, body = EntryId(kind, slug), call.body
    if body.slug not in (None, slug):
        return invalid_field("slug", "mismatch", "must be that of the path, or absent")
    condition = condition_of(call)
    if isinstance(condition, Refused):
        return condition
    draft = draft_of(entry_id, body)
    if draft is None:
        return too_large()
    outcome = await services.editor.put(entry_id, draft, call.caller.agent, added_ms=body.addedAt, condition=condition)
    return _answer(outcome, kind)


def too_large() -> Refused:
    return Refused(Code.PAYLOAD_TOO_LARGE, f"The entry is larger than {DOCUMENT_BYTES // 1024} KiB.")


def draft_of(entry_id: EntryId, body: UseCaseBody | BotBody) -> Draft | None:
    """The draft of an entry from a body. None if its document would be too large."""
    fields = dict(body) | {"slug": entry_id.slug}

    def draft(added_ms: int) -> bytes:
        return document_of(ENTRIES[entry_id.kind].model_construct(**fields | {"addedAt": added_ms}))

    try:
        draft(NEWEST_MS)
    except ValueError:
        return None
    return draft


async def _retire(services: Services, call: Call, kind: Kind) -> Answer | Refused:
    condition = condition_of(call)
    if isinstance(condition, Refused):
        return condition
    slug = call.path_values["slug"]
    if not is_slug(slug):
        return unknown_entry(kind)
    return _answer(await services.editor.retire(EntryId(kind, slug), call.caller.agent, condition=condition), kind)


async def _read(services: Services, call: Call, kind: Kind) -> Answer | Refused:
    slug = call.path_values["slug"]
    if not is_slug(slug):
        return unknown_entry(kind)
    stored = await services.editor.stored(EntryId(kind, slug))
    if stored.entry is not None:
        return _shown(kind, stored.entry)
    return unknown_entry(kind) if stored.retired is None else _shown_retired(kind, stored.retired)


async def preview(services: Services, call: Call, kind: Kind) -> Answer | Refused:
    """The entry of a body as `PUT` would store it now. Nothing is stored."""
    entry_id, body = EntryId(kind, call.path_values["slug"]), call.body
    if not is_slug(entry_id.slug):
        return Refused(Code.NOT_FOUND, NO_SLUG)
    draft = draft_of(entry_id, body)
    if draft is None:
        return too_large()
    now_ms = services.clock.now_ms()
    added_ms = now_ms if body.addedAt is None else body.addedAt
    return _shown(kind, Entry(entry_id.slug, added_ms, draft(added_ms), now_ms))


async def list_retired(services: Services, call: Call) -> Answer:
    """The entries of each kind that were removed last, from memory."""
    changes = services.catalog.snapshot.changes
    removals = [each for kind in Kind for each in changes.removals(kind, MAX_RETIRED)]
    items = [RetiredEntry(kind=each.kind, slug=each.slug, retiredAt=at_ms) for each, at_ms in removals]
    return Answer.of(RetiredEntries(items=items))


def condition_of(call: Call) -> Condition | Refused:
    """What `If-Match` and `If-None-Match` ask for (RFC 9110, 13.1). The comparison of If-Match is strong."""
    headers = call.request.headers
    only_new = headers.get("if-none-match")
    if only_new not in (None, ANY):
        return invalid_field("If-None-Match", "any", "must be * here, which creates only")
    if_match = headers.get("if-match")
    if only_new is not None and if_match is not None:
        return invalid_field("If-Match", "both", "and If-None-Match exclude each other")
    if only_new is not None:
        return Condition(absent=True)
    if if_match is None:
        return UNCONDITIONAL
    if if_match.strip() == ANY:
        return EXISTS
    tags = members(if_match)
    if not all(tag.removeprefix("W/").startswith('"') and tag.endswith('"') and len(tag) > 1 for tag in tags):
        return invalid_field("If-Match", "etag", "must be an ETag as a response has it, with its quotes")
    # No entry has the version of an unknown tag.
    return Condition([digest_in(tag) or b"unknown" for tag in tags])


def _answer(outcome: EntrySaved | EntryRetired | Conflict | Refused, kind: Kind) -> Answer | Refused:
    match outcome:
        case EntrySaved(entry):
            return _shown(kind, entry)
        case EntryRetired(retired):
            return _shown_retired(kind, retired)
        case Conflict(current):
            return _conflict(kind, current)
        case Refused():
            return outcome


def _conflict(kind: Kind, current: Entry | None) -> Refused:
    if current is None:
        words = f"There is no such {WORDS[kind]} now: it may have been retired. To create it, send no If-Match."
    else:
        words = (
            f"This {WORDS[kind]} exists and is not the version that you name. Read it, and send its ETag as If-Match."
        )
    return Refused(Code.PRECONDITION_FAILED, words)


def _shown(kind: Kind, entry: Entry) -> Answer:
    body = b'{"%b":%b}' % (FIELD[kind], entry.served)
    return Answer(200, body, [*NO_STORE, ("etag", etag_of(entry.version))])


def _shown_retired(kind: Kind, retired: Entry) -> Answer:
    body = b'{"%b":%b,"retiredAt":%d}' % (FIELD[kind], retired.served, retired.updated_ms)
    return Answer(200, body, [*NO_STORE])


_USECASE = {
    "title": "Invoices chased",
    "who": "A bookkeeper",
    "handle": "@bookkeeper",
    "roi": "3 hours a week",
    "sourceUrl": "https://example.com/invoices",
}
_BOT = {
    "name": "Invoice chaser",
    "category": "Finance",
    "who": "A bookkeeper",
    "handle": "@bookkeeper",
    "job": "Writes reminders.",
    "templateUrl": "https://example.com/templates/invoices",
}
PUTTING = (
    "Creates the {0}, or replaces all of it; a retired one comes back. Without `addedAt` a known {0} keeps its time. Sending "
    "the same again changes nothing. With `If-Match` nothing is overwritten that you have not read; the response has the new "
    "`ETag`. Visible on all nodes within a second."
)
RETIRING = (
    "Removes the {0} from all lists: reading it returns 404. It can be restored with a `PUT` as long as "
    "`retention.retired_entries_days` says. Repeating the request has no effect."
)
READING = "Returns the {0} as it is stored, also if it was retired, for a form or to restore it."


def _rows(
    kind: Kind,
    name: str,
    body: type[UseCaseBody] | type[BotBody],
    answer: type[UseCaseAnswer] | type[BotAnswer],
    example: Mapping[str, object],
) -> tuple[Operation, ...]:
    """The operations on the entries of a kind. `name` ends their names."""
    one = WORDS[kind]
    path = f"/api/v1/admin/catalog/{kind}/{{slug}}"
    codes = (Code.NOT_FOUND,)
    return (
        admin_read(
            name=f"getStored{name}",
            path=path,
            summary=f"Get a stored {one}",
            description=READING.format(one),
            handler=partial(_read, kind=kind),
            result=answer,
            codes=codes,
            headers=("ETag",),
        ),
        admin_write(
            name=f"put{name}",
            method="PUT",
            path=path,
            summary=f"Put a {one}",
            description=PUTTING.format(one),
            handler=partial(_put, kind=kind),
            result=answer,
            body=body,
            body_bytes=BODY_BYTES,
            codes=codes,
            example=example,
            headers=("ETag",),
            conditional=True,
        ),
        admin_write(
            name=f"retire{name}",
            method="DELETE",
            path=path,
            summary=f"Retire a {one}",
            description=RETIRING.format(one),
            handler=partial(_retire, kind=kind),
            result=answer,
            codes=codes,
            conditional=True,
        ),
    )


ROWS = (
    *_rows(Kind.USECASES, "UseCase", UseCaseBody, UseCaseAnswer, _USECASE),
    *_rows(Kind.BOTS, "Bot", BotBody, BotAnswer, _BOT),
)
