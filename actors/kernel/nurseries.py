"""A nursery for background work, without exception groups."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio


@asynccontextmanager
async def background_nursery() -> AsyncIterator[trio.Nursery]:
    """A nursery that is cancelled when the block ends. An error of the block is raised as it is, not in a group.

    A cancellation from outside does not hide the error: a bug stays visible also while the process is stopping.
    """
    failed: Exception | None = None
    try:
        async with trio.open_nursery() as nursery:
            try:
                yield nursery
            except Exception as error:
                failed = error
            nursery.cancel_scope.cancel()
    finally:
        if failed is not None:
            raise failed
