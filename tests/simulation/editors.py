"""Administrators who edit the catalog, readers of it, and mirrors that follow its changes."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from actors.catalog.actor import CatalogEditor
from actors.catalog.messages import UNCONDITIONAL, Answer, Condition, Draft, Entry, EntryId, Kind, Message, version_of
from actors.catalog.store import Import, ImportCounts
from actors.kernel.actor import Actor
from actors.kernel.supervision import Member
from actors.values import Agent, AuditRecord, BatchId, StorageUnavailable, TransientStorageError
from service.seed.samples import retried
from service.snapshots.change_log import ChangePage
from tests.doubles.catalog import MemoryCatalog, PromptCatalog
from tests.simulation.clients import Client
from tests.simulation.faults import Link, plain_reads
from tests.simulation.rules import LIFE_SECONDS
from tests.simulation.sides import Counted, NodeSide, answering

if TYPE_CHECKING:
    from tests.simulation.node import Node
    from tests.simulation.world import World

CLERK = Agent("key", "key_clerk", "clerk@example.org")
SLUGS = "abcd"
PAGE = 3
CURRENT_SECONDS = 3.0
"""How long after the last fault every node shows the newest catalog."""


@plain_reads("revision", "changes", "stored")
class LinkedCatalog(MemoryCatalog):
    """The catalog, whose reads may fail. Imports are watched as transactions are."""

    def _replace(self, batch: Import) -> ImportCounts:
        link = self._memory
        assert isinstance(link, Link)
        imports = link.node.world.shelf.imports
        batch_id = BatchId(f"{link.node.name}/imports", len(imports))
        imports.append(batch)
        return link.node.world.watched(batch_id, partial(self._write, batch))()

    def _write(self, batch: Import) -> ImportCounts:
        return super()._replace(batch)


class CountedCatalog(Counted, PromptCatalog):
    """The catalog of a node. Tells how old it became while faults kept the node from its database."""

    async def _round(self) -> float:
        try:
            return await super()._round()
        except TransientStorageError:
            assert isinstance(self._store, LinkedCatalog)
            link = self._store._memory
            assert isinstance(link, Link)
            shelf = link.node.world.shelf
            shelf.kept_seconds = max(shelf.kept_seconds, self.age_seconds or 0.0)
            raise


@dataclass(frozen=True, slots=True)
class Edit:
    """A request to put an entry with a text, or to retire it if there is none."""

    id: EntryId
    text: str | None
    condition: Condition


@dataclass(frozen=True, slots=True)
class Seen:
    """What a node showed: an entry, or None, and the revision of its snapshot."""

    document: bytes | None
    revision: int


class RecordedEditor(CatalogEditor):
    """The editor. Records the messages of its batches."""

    batches: dict[tuple[str, int], Sequence[Message]]

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        self.batches[batch_id.owner, batch_id.seq] = messages
        return await super().commit(batch_id, messages)


class Desk(NodeSide):
    """The catalog of a node: its snapshot, and its editor."""

    def __init__(self, node: "Node") -> None:
        self._node = node
        assert isinstance(node.services.catalog, CountedCatalog)
        self.catalog = node.services.catalog
        self.catalog.node = node
        self._store = self.catalog._store
        assert isinstance(node.services.editor, RecordedEditor)
        self.editor = node.services.editor
        self.editor.batches = node.world.shelf.batches

    @property
    def actors(self) -> list[Actor[Any, Any]]:
        return [self.editor]

    @property
    def members(self) -> list[Member]:
        return [self.catalog, self.editor]

    def notice(self, topic: str) -> None:
        if topic == "catalog":
            self.catalog.refresh_soon()

    def listen_again(self) -> None:
        self.catalog.refresh_soon()

    async def edit(self, about: Edit) -> Any:
        async def change() -> Any:
            if about.text is None:
                return await self.editor.retire(about.id, CLERK, condition=about.condition)
            return await self.editor.put(about.id, draft(about.id, about.text), CLERK, condition=about.condition)

        return await answering(self._node, lambda: self._node.intent("edit entry", about, change))

    async def read(self, entry_id: EntryId) -> Seen:
        snapshot = self.catalog.snapshot
        item = snapshot.item(*entry_id)
        seen = Seen(None if item is None else item.body, snapshot.revision)
        self._node.world.shelf.judge_read(self._node, entry_id, seen)
        self._node.world.history.note(self._node.name, "entry", entry_id, seen)
        return seen

    async def import_(self, batch: Import) -> ImportCounts:
        """Import a file on the machine of the node, as the command does."""

        async def replace() -> ImportCounts:
            try:
                return await retried(partial(self._store.replace, batch))
            except TransientStorageError as error:  # also of the last attempt
                raise StorageUnavailable(str(error)) from None

        return await answering(self._node, lambda: self._node.intent("import", batch, replace))

    async def changes(self, after: int) -> ChangePage:
        page = self.catalog.snapshot.changes.page(after, PAGE)
        self._node.world.history.note(self._node.name, "changes", after, page)
        return page


def draft(entry_id: EntryId, text: str) -> Draft:
    """Documents are not read, so a short one does."""
    return lambda added_ms: (
        b'{"slug":"%b","text":"%b","addedAt":%d}' % (entry_id.slug.encode(), text.encode(), added_ms)
    )


def named(client: Client) -> EntryId:
    return EntryId(client.random.choice(list(Kind)), client.random.choice(SLUGS))


async def editor(client: Client) -> None:
    """Reads an entry and changes it, mostly the version that it has read; repeats a change that was lost."""
    entry_id, condition = named(client), UNCONDITIONAL
    seen = await client.ask("entry", lambda node: node.desk.read(entry_id))
    if isinstance(seen, Seen) and client.chance(0.7):
        condition = Condition(absent=True) if seen.document is None else Condition([version_of(seen.document)])
    text = None if client.chance(0.35) else f"text {client.random.randrange(4)}"
    about = Edit(entry_id, text, condition)
    for _ in range(2 if client.chance(0.3) else 1):
        await client.ask("edit", lambda node: node.desk.edit(about))


async def importer(client: Client) -> None:
    """Imports a file of some entries of one kind or both."""
    await bring(client, [EntryId(kind, slug) for kind in Kind for slug in SLUGS], draft)


async def late_importer(client: Client) -> None:
    """Imports a file once all others are done, and waits until every node shows it."""
    await trio.sleep_until(client.world.seconds + 1.0)
    await bring(client, [EntryId(kind, slug) for kind in Kind for slug in SLUGS], draft)
    await trio.sleep(LIFE_SECONDS)


async def bring(client: Client, names: Sequence[EntryId], draft_of: Callable[[EntryId, str], Draft]) -> None:
    """Import some of these entries: half of them as a node shows them, the others with another text. At times the file is
    tried before, and at times other entries of its kinds are removed."""
    node, kinds = client.node(), client.random.choice(([Kind.USECASES], [Kind.BOTS], list(Kind)))
    rows: dict[Kind, list[Entry]] = {kind: [] for kind in kinds}
    for entry_id in [name for name in names if name.kind in kinds and client.chance(0.5)]:
        seen = await client.ask("entry", partial(_shown, entry_id), node)
        known = seen.document if isinstance(seen, Seen) else None
        added_ms = node.clock.now_ms() if known is None else int(json.loads(known)["addedAt"])
        new = draft_of(entry_id, f"import {client.world.board.numbered()}")(added_ms)
        old = new if known is None else known[: known.rindex(b',"updatedAt"')] + b"}"
        rows[entry_id.kind].append(Entry(entry_id.slug, added_ms, old if client.chance(0.5) else new))
    for dry_run in (True, False) if client.chance(0.3) else (False,):
        audit_id, now_ms = f"aud_import_{client.world.board.numbered()}", node.clock.now_ms()
        audit = AuditRecord.by(CLERK, audit_id, now_ms, "catalog.imported", ("catalog", "entries.jsonl"), "", "{}")
        batch = Import(rows, now_ms, client.chance(0.2), dry_run, audit=audit)
        await client.ask("import", partial(_import, batch), node)


async def _import(batch: Import, node: "Node") -> ImportCounts:
    return await node.desk.import_(batch)


async def reader(client: Client) -> None:
    entry_id = named(client)
    await client.ask("entry", lambda node: node.desk.read(entry_id))


@dataclass(slots=True, eq=False)
class Mirror:
    """What a mirror has, and the number after which it goes on."""

    entries: dict[EntryId, bytes] = field(default_factory=dict)
    after: int = 0
    steps: int = 0


async def mirror(client: Client) -> None:
    """Reads a page of changes and the entries that it names, each from any node. A node may be behind: a page counts once
    each entry was read as new as its change."""
    mine = client.world.shelf.mirrors.setdefault(client.name, Mirror())
    after = mine.after
    page = await client.ask("changes", lambda node: node.desk.changes(after))
    if not isinstance(page, ChangePage):
        return
    found = await _read(client, [json.loads(row) for row in page.rows])
    if found is None:
        client.world.count("mirror asked again")
        return
    for entry_id, document in found.items():
        if document is None:
            mine.entries.pop(entry_id, None)
        else:
            mine.entries[entry_id] = document
    mine.after = page.last
    mine.steps += 1


async def _shown(entry_id: EntryId, node: "Node") -> Seen:
    return await node.desk.read(entry_id)


async def _read(client: Client, rows: Sequence[Any]) -> dict[EntryId, bytes | None] | None:
    """The entries of these changes, None for a removed one. None if a node is behind one of them."""
    found: dict[EntryId, bytes | None] = {}
    for row in rows:
        entry_id = EntryId(Kind(row["kind"]), row["slug"])
        if row["change"] == "removed":
            found[entry_id] = None
            continue
        seen = await client.ask("entry", partial(_shown, entry_id))
        if not isinstance(seen, Seen) or seen.document is None or json.loads(seen.document)["updatedAt"] < row["at"]:
            return None
        found[entry_id] = seen.document
    return found


async def current(world: "World") -> None:
    """Wait until every node shows the newest catalog, and mirrors have read it."""
    await trio.sleep(CURRENT_SECONDS)
    for client in world.clients:
        if client.name in world.shelf.mirrors:
            for _ in range(10):
                await mirror(client)


CROWD = ((editor, 5), (reader, 2), (mirror, 2), (importer, 1))
