"""Work that comes to its own end when whoever waits for it has left."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import trio

from actors.mailbox import Reply
from actors.values import StorageUnavailable

T = TypeVar("T")


class Errands:
    """Tasks that live beside those that ask for them."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """What `work` returns or raises. A caller that is cancelled leaves at once, and what `work` has shielded goes on."""
        reply: Reply[T] = Reply()
        scope = trio.CancelScope()
        self._nursery.start_soon(_carry, work, reply, scope)
        try:
            return await reply.wait()
        finally:
            scope.cancel()


async def _carry(work: Callable[[], Awaitable[T]], reply: Reply[T], scope: trio.CancelScope) -> None:
    try:
        with scope:
            reply.answer(await work())
    except Exception as error:
        reply.fail(error)
    finally:
        reply.fail(StorageUnavailable("the database is closing"))


@asynccontextmanager
async def open_errands() -> AsyncIterator[Errands]:
    """Errands for the life of the block, which waits for those that are shielded. An error of the block leaves as it is,
    and not within a group."""
    failed: Exception | None = None
    async with trio.open_nursery() as nursery:
        try:
            yield Errands(nursery)
        except Exception as error:
            failed = error
        nursery.cancel_scope.cancel()
    if failed is not None:
        raise failed
