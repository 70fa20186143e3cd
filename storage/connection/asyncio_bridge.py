"""Imports trio-asyncio, and on Python 3.14 gives back what its release 0.16 needs: python-trio/trio-asyncio#160.

Import `trio_asyncio` from here alone. Python 3.14 has two of its classes no more, or under another name, and tasks refuse to
run on a loop that asyncio does not know to be running. Must not know what crosses the border.
"""

import asyncio
import sys
import warnings

__all__ = ["trio_asyncio"]

CHANGED = (3, 14)
"""The first Python that needs the bridge."""


def _restore_names() -> None:
    """Give asyncio the names of Python 3.13 that trio-asyncio derives its own classes from and never calls."""
    events = asyncio.events
    vars(events).setdefault("BaseDefaultEventLoopPolicy", vars(events).get("_BaseDefaultEventLoopPolicy"))
    vars(asyncio).setdefault("AbstractChildWatcher", object)


def _mark_running_loops() -> None:
    """Let asyncio know, while it runs a callback, that the callback's loop is running. Its own loops say so themselves."""
    run, running, set_running = asyncio.Handle._run, asyncio._get_running_loop, asyncio._set_running_loop

    def run_on_its_loop(handle: asyncio.Handle) -> None:
        before = running()
        set_running(handle._loop)  # type: ignore[attr-defined]  # not in the stubs
        try:
            run(handle)
        finally:
            set_running(before)

    setattr(asyncio.Handle, "_run", run_on_its_loop)  # noqa: B010 - the type of a method is fixed


if sys.version_info >= CHANGED:
    _restore_names()
    _mark_running_loops()

with warnings.catch_warnings():
    # It names policies and child watchers, which are deprecated since Python 3.12 and 3.14.
    warnings.simplefilter("ignore", DeprecationWarning)
    import trio_asyncio
