"""Submissions on a node, and its callers: authors who propose entries, reviewers, and an editor who changes them."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from actors.catalog.messages import Draft, EntryId, Kind
from actors.catalog.submissions import SubmissionSaved, SubmissionStatus, SubmissionView
from actors.kernel.actor import Actor
from actors.values import Agent, Refused
from tests.doubles.submissions import MemorySubmissions
from tests.simulation.clients import Client, Holding
from tests.simulation.editors import bring, mirror
from tests.simulation.faults import plain_reads
from tests.simulation.sides import NodeSide, answering

if TYPE_CHECKING:
    from tests.simulation.node import Node
    from tests.simulation.world import World

R = TypeVar("R")

SLUGS = ("one", "two", "three", "four")
"""So few that proposals, reviews and edits are often about the same entry."""
AUTHORS = ("author-1@example.org", "author-2+a@example.org", "author-2+b@example.org")
"""Two accounts are of one mailbox."""
REVIEWER, EDITOR = Agent("session", "ses_reviewer"), Agent("session", "ses_editor")
ADMINISTRATOR = "admin-0@example.org"


@dataclass(frozen=True, slots=True)
class Proposed:
    """An entry that an account proposes. All requests with one idempotency `key` of a body make one submission."""

    owner: str
    slug: str
    name: str
    edit: bool
    key: str


@dataclass(frozen=True, slots=True)
class Reviewed:
    submission_id: str
    accept: bool
    seen: str


def document(slug: str, name: str, added_ms: int = 0) -> str:
    return json.dumps({"slug": slug, "name": name, "addedAt": added_ms}, separators=(",", ":"))


def open_submissions(world: "World") -> None:
    world.memory.administrators[ADMINISTRATOR] = world.base_ms


@plain_reads("submission", "submissions", "for_review")
class LinkedSubmissions(MemorySubmissions):
    """Submissions in memory. Look-ups fail plainly."""


class SubmissionSide(NodeSide):
    """Submissions in one life of a node."""

    def __init__(self, node: "Node") -> None:
        self.node = node
        self.submissions, self.editor = node.services.submissions, node.services.editor

    @property
    def actors(self) -> list[Actor[Any, Any]]:
        return [self.submissions]

    async def propose(self, about: Proposed) -> SubmissionSaved | Refused:
        entry_id = EntryId(Kind.BOTS, about.slug)
        entry, agent = document(about.slug, about.name), Agent("key", f"key_{about.owner}")
        propose = partial(self.submissions.propose, about.owner, entry_id, about.name, entry, agent, edit=about.edit)
        return await self._intent("propose", about, lambda: propose(idempotency_key=about.key))

    async def waiting(self) -> list[SubmissionView]:
        read = partial(self.submissions.for_review, SubmissionStatus.PENDING, None, 20, oldest=True)
        return list(await answering(self.node, read))

    async def review(self, about: Reviewed) -> SubmissionSaved | Refused:
        review = partial(self.submissions.review, about.submission_id, REVIEWER, accept=about.accept)
        return await self._intent("review", about, lambda: review(note="So be it.", seen=about.seen))

    async def put(self, slug: str, name: str) -> Any:
        put = partial(self.editor.put, EntryId(Kind.BOTS, slug), lambda ms: document(slug, name, ms).encode(), EDITOR)
        return await self._intent("put entry", slug, put)

    async def retire(self, slug: str) -> Any:
        return await self._intent("retire entry", slug, partial(self.editor.retire, EntryId(Kind.BOTS, slug), EDITOR))

    async def _intent(self, kind: str, about: Any, ask: Callable[[], Awaitable[R]]) -> R:
        return await answering(self.node, lambda: self.node.intent(kind, about, ask))


# Callers.


def _on(work: Callable[[SubmissionSide], Awaitable[R]]) -> Callable[["Node"], Awaitable[R]]:
    return lambda node: work(node.submission_side)


async def _account(me: Client) -> Holding | None:
    known = me.world.board.sponsor_keys.setdefault(me.name, [])
    if not known:
        holding = await me.issue(AUTHORS[int(me.name[-1]) % len(AUTHORS)])
        known += [holding] if holding is not None else []
    return known[0] if known else None


async def author(me: Client) -> None:
    """Propose entries and edits: once, on all nodes at once, several at once, again, or otherwise under the same key."""
    account = await _account(me)
    if account is None:
        return
    number = me.world.board.numbered()
    about = Proposed(account.tenant_id, me.random.choice(SLUGS), f"Name {number}", me.chance(0.6), f"key-{number}")
    send = partial(me.ask, "propose", _on(lambda side: side.propose(about)))
    if me.chance(0.3):
        await me.at_once(*[partial(send, node) for node in me.world.nodes])
    if me.chance(0.3):
        node = me.node()
        others = [Proposed(about.owner, f"new-{number}-{each}", "New", False, f"key-{number}-{each}") for each in "abc"]
        await me.at_once(*[partial(me.ask, "propose", _on(partial(_propose, other)), node) for other in others])
    if me.chance(0.15):
        other = Proposed(about.owner, about.slug, f"Another {number}", about.edit, about.key)
        await me.ask("propose", _on(partial(_propose, other)))
    for _ in range(3):
        if isinstance(await send(), SubmissionSaved | Refused):
            break
        await me.think(0.1)


async def _propose(about: Proposed, side: SubmissionSide) -> SubmissionSaved | Refused:
    return await side.propose(about)


async def reviewer(me: Client) -> None:
    """Read what waits, think, and decide: at times on two nodes at once, both ways, and again."""
    views = await me.ask("read submissions", _on(lambda side: side.waiting()))
    if not isinstance(views, list) or not views:
        return
    view = me.random.choice(views)
    seen = view.submission.version(view.current)
    about = Reviewed(view.submission.id, me.chance(0.7), seen)
    if me.chance(0.4):
        await me.think(0.4)
    if me.chance(0.3):
        other = Reviewed(about.submission_id, me.chance(0.5), seen)
        calls = [(about, me.world.nodes[0]), (other, me.world.nodes[1])]
        await me.at_once(*[partial(me.ask, "review", _on(partial(_review, each)), node) for each, node in calls])
    for _ in range(3):
        answer = await me.ask("review", _on(partial(_review, about)))
        if isinstance(answer, SubmissionSaved | Refused) and me.chance(0.7):
            break
        await me.think(0.1)


async def _review(about: Reviewed, side: SubmissionSide) -> SubmissionSaved | Refused:
    return await side.review(about)


async def editor(me: Client) -> None:
    """Change and retire entries."""
    slug = me.random.choice(SLUGS)
    if me.chance(0.3):
        await me.ask("retire entry", _on(lambda side: side.retire(slug)))
    else:
        name = f"Edited {me.world.board.numbered()}"
        await me.ask("put entry", _on(lambda side: side.put(slug, name)))
    await me.think(0.4)


async def importer(me: Client) -> None:
    """Import a file of a few entries."""
    await me.think(1.0)
    await bring(me, [EntryId(Kind.BOTS, slug) for slug in SLUGS], _draft)


def _draft(entry_id: EntryId, name: str) -> Draft:
    return lambda added_ms: document(entry_id.slug, name, added_ms).encode()


async def reader(me: Client) -> None:
    """Read an entry on all nodes at once."""
    entry_id = EntryId(Kind.BOTS, me.random.choice(SLUGS))
    await me.at_once(
        *[partial(me.ask, "entry", lambda node: node.desk.read(entry_id), node) for node in me.world.nodes]
    )


CROWD = ((author, 4), (reviewer, 2), (editor, 1), (importer, 1), (reader, 1), (mirror, 1))
