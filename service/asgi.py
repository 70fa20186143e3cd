"""`service.asgi:app`: a node without listeners, for `hypercorn --worker-class trio service.asgi:app`.

The environment configures it. It runs from the startup to the shutdown of the lifespan.
"""

import logging
import multiprocessing
import os
import signal
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

import trio

from service.cli.data_directory import data_dir_of
from service.config.deployment import local_url, refuse_unsafe, refuse_untraced
from service.config.loading import load
from service.config.model import Config
from service.config.user_errors import ConfigError, UserError
from service.http.asgi import App, Receive, Scope, Send
from service.observability.collectors import backup_metrics
from service.observability.logs import set_up
from service.process.exit_status import outcome_of
from service.running.foundation import open_files_for, open_to_serve
from service.running.node import open_app, prepared
from service.version import PROGRAM, VERSION

WRONG_LOOP = "service.asgi:app runs on Trio: use hypercorn --worker-class trio"

log = logging.getLogger(__name__)


class ServerDied(UserError):
    """The process that started this one has ended without stopping it."""


class Application:
    """The ASGI application. Requests are served while the lifespan runs."""

    def __init__(self) -> None:
        self._app: App | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is None:
            raise RuntimeError("service.asgi:app needs a server that supports the lifespan protocol of ASGI")
        else:
            await self._app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Run the node. Its failure ends the process, because a server would log it and serve on."""
        await receive()
        try:
            await self._run(receive, send)
        except Exception as error:
            failure = error
        else:
            await send({"type": "lifespan.shutdown.complete"})
            return
        lines: list[str] = []
        code = outcome_of(partial(_fail_with, failure), lines.append)
        for line in lines:
            log.critical("the service ends: %s", line)
        _end_hypercorn(code)
        if self._app is not None:
            raise SystemExit(code)
        await send({"type": "lifespan.startup.failed", "message": "".join(lines)})

    async def _run(self, receive: Receive, send: Send) -> None:
        if _workers_module() not in ("", "hypercorn.trio.run"):
            raise ConfigError(WRONG_LOOP)
        config = load(None, os.environ)
        _set_up_log(config)
        refuse_unsafe(config)
        refuse_untraced(config)
        data_dir = data_dir_of(config)
        log.info("starting %s %s as an ASGI application, data directory %s", PROGRAM, VERSION, data_dir)
        async with trio.open_nursery() as nursery:
            if (parent := _parent_of_worker()) is not None:
                nursery.start_soon(_ignore_sigterm)
                nursery.start_soon(_end_with, parent)
            await self._serve(config, data_dir, receive, send)
            nursery.cancel_scope.cancel()

    async def _serve(self, config: Config, data_dir: Path, receive: Receive, send: Send) -> None:
        url = local_url(config)
        open_files_for(config)
        async with (
            open_to_serve(config, data_dir) as opened,
            prepared(config, data_dir, opened) as backups,
            open_app(config, data_dir, opened, url) as (node, self._app),
        ):
            if backups is not None:
                node.metrics.observe(partial(backup_metrics, backups))
            await send({"type": "lifespan.startup.complete"})
            await receive()
            node.services.health.stopping = True
            log.info("the server has stopped; draining actors")


def _set_up_log(config: Config) -> None:
    """Log in our format, but for Hypercorn's own lines, which it writes itself."""
    set_up(config.log.level, config.log.format)
    [handler] = logging.getLogger().handlers
    handler.addFilter(lambda record: not record.name.startswith("hypercorn."))


def _fail_with(failure: Exception) -> int:
    raise failure


def _workers_module() -> str:
    """The module of Hypercorn whose workers the command `hypercorn` runs, if this is one of them."""
    module = str(getattr(getattr(multiprocessing.current_process(), "_target", None), "__module__", ""))
    return module if module.startswith("hypercorn.") else ""


def _parent_of_worker() -> BaseProcess | None:
    """The parent process of the command `hypercorn`, if this is one of its workers."""
    return multiprocessing.parent_process() if _workers_module() else None


def _end_hypercorn(code: int) -> None:
    """End this worker, and the parent process with it, which would exit with 0 whatever the worker's code. Hypercorn's pull
    request 372 mends that. Other workers notice the end of their parent."""
    parent = _parent_of_worker()
    if parent is not None:
        if parent.is_alive():
            os.kill(parent.pid or 0, signal.SIGABRT)
        os._exit(code)


async def _ignore_sigterm() -> None:
    """Ignore SIGTERM in a worker. Its parent stops it by the lifespan, then sends SIGTERM to workers that still drain; a
    process supervisor may send it to all processes."""
    with trio.open_signal_receiver(signal.SIGTERM) as signals:
        async for _ in signals:
            pass


async def _end_with(parent: BaseProcess) -> None:
    """Raise `ServerDied` if the parent process of a worker is killed, because nobody else would stop the worker."""
    await trio.lowlevel.wait_readable(parent.sentinel)
    raise ServerDied("the parent process of Hypercorn has ended")


app = Application()
