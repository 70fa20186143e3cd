"""Signals: what tells a process to end in order, to end now, or to renew itself.

Knows nothing of what ends.
"""

import logging
import os
import signal
from collections.abc import Callable

import trio

log = logging.getLogger(__name__)


def _nothing() -> None:
    """There is nobody else to be told."""


def not_renewed() -> None:
    """What SIGHUP does to a process that serves by itself."""
    log.warning("SIGHUP does nothing here: restart the service, or let server.workers be 2 or more, which renews them")


async def heed_signals(
    stop: trio.Event,
    on_hangup: Callable[[], None],
    on_second: Callable[[], None] = _nothing,
    *,
    terminal: int = 0,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """The first SIGTERM or SIGINT sets `stop`; the second calls `on_second` and raises `KeyboardInterrupt`, which cuts
    requests off, while actors still drain. SIGHUP calls `on_hangup`.

    But where it says that the terminal of the descriptor `terminal` is gone, it is a stop: nobody is left to give one.
    """
    had_terminal = os.isatty(terminal)
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        task_status.started()
        async for number in signals:
            if number == signal.SIGHUP and not (had_terminal and not os.isatty(terminal)):
                on_hangup()
            elif not stop.is_set():
                log.info("stopping on %s", signal.Signals(number).name)
                stop.set()
            elif number != signal.SIGHUP:
                on_second()
                raise KeyboardInterrupt
