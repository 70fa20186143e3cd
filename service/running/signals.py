"""Handles the signals for a graceful stop, an immediate stop, and a reload."""

import logging
import os
import signal
from collections.abc import Callable

import trio

RETIRE_SIGNAL = signal.SIGUSR1
"""A parent sends it to a worker whose successor is ready."""

ABORT_SIGNAL = signal.SIGINT
"""A parent sends it to a worker that has to abort its requests. A worker ignores a second SIGTERM, which a process supervisor
may send to all processes of a service."""

HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, RETIRE_SIGNAL)

log = logging.getLogger(__name__)


def warn_no_reload() -> None:
    """Handle SIGHUP in a process without workers."""
    log.warning("SIGHUP does nothing here: restart the service, or set server.workers to 2 or more to enable reloads")


async def abandon_start(stop: trio.Event, begun: trio.Event, start: trio.CancelScope) -> None:
    """Cancel a start that `stop` interrupts. A service that has `begun` stops by itself."""
    await stop.wait()
    if not begun.is_set():
        log.info("stopped before it was ready")
        start.cancel()


async def handle_signals(
    stop: trio.Event,
    on_hangup: Callable[[], None],
    on_second: Callable[[], None] = lambda: None,
    on_retire: Callable[[], None] | None = None,
    *,
    terminal: int = 0,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """The first SIGTERM or SIGINT sets `stop`. The second calls `on_second` and raises `KeyboardInterrupt`, which aborts
    requests, while actors still drain. SIGHUP calls `on_hangup`.

    With `on_retire`, this is a worker: `RETIRE_SIGNAL` calls it and sets `stop`, and only `ABORT_SIGNAL` counts as a
    second signal.

    If SIGHUP arrives because the terminal at descriptor `terminal` closed, it is treated as SIGTERM.
    """
    had_terminal = os.isatty(terminal)
    with trio.open_signal_receiver(*HANDLED) as signals:
        task_status.started()
        async for number in signals:
            if number == RETIRE_SIGNAL:
                if on_retire is None:
                    log.warning(
                        "%s does nothing here", RETIRE_SIGNAL.name
                    )  # no worker, perhaps after it rotated its log
                else:
                    on_retire()
                    stop.set()
            elif number == signal.SIGHUP and not (had_terminal and not os.isatty(terminal)):
                on_hangup()
            elif not stop.is_set():
                log.info("stopping on %s", signal.Signals(number).name)
                stop.set()
            elif number == ABORT_SIGNAL or (number == signal.SIGTERM and on_retire is None):
                log.warning("aborting requests on %s", signal.Signals(number).name)
                on_second()
                raise KeyboardInterrupt
