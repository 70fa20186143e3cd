"""Reads that run to their end even when their caller has been cancelled."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

from actors.kernel.mailbox import Reply
from actors.values import StorageUnavailable

T = TypeVar("T")


class DetachedReads:
    """Runs each read in a task of its own, so that its caller can be cancelled at once."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery

    async def run(self, read: Callable[[], Awaitable[T]]) -> T:
        """Return or raise what `read` does. If the caller is cancelled, its shielded part goes on in the background."""
        reply: Reply[T] = Reply()
        scope = trio.CancelScope()
        self._nursery.start_soon(_run, read, reply, scope)
        try:
            return await reply.wait()
        finally:
            scope.cancel()


async def _run(read: Callable[[], Awaitable[T]], reply: Reply[T], scope: trio.CancelScope) -> None:
    try:
        with scope:
            reply.answer(await read())
    except Exception as error:
        reply.fail(error)
    finally:
        reply.fail(StorageUnavailable("the database is closing"))
