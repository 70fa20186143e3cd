"""A node of the service without the fast path and our HTTP engine: Quart-Trio under `hypercorn.trio.serve`.

Actors, store, handlers and Postgres are the same, so its slowdown is the gain of the fast path and the engine. Run
`python -m bench.peers.quart_node DATA_DIR`; like the service, it is configured by the environment.
"""

import gc
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import trio
from hypercorn.config import Config as HypercornConfig
from hypercorn.trio import serve

from service.api.openapi import Described
from service.api.operations import OPERATIONS
from service.config.loading import load
from service.running.foundation import storage_options
from service.running.node import open_node
from service.web.app import build_app
from storage.opening import open_storage


async def told_to_stop() -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            return


def hypercorn_config() -> HypercornConfig:
    config = HypercornConfig()
    config.bind = ["127.0.0.1:0"]
    config.accesslog = config.errorlog = None
    # Hypercorn's default of 1,000 would measure the opening of connections.
    config.keep_alive_max_requests = 1_000_000
    return config


async def run(data_dir: Path) -> None:
    config = load(None, os.environ)
    # No operation takes the fast path.
    operations = [replace(operation, hot=False) for operation in OPERATIONS]
    async with (
        open_storage(storage_options(config), data_dir) as opened,
        open_node(config, data_dir, opened, "http://127.0.0.1") as node,
        trio.open_nursery() as nursery,
    ):
        app = build_app(node.services, operations, Described.of(OPERATIONS, node.services.base_url), node.metrics)
        gc.freeze()
        gc.set_threshold(20_000, 50, 100)  # as the service does
        [url] = await nursery.start(lambda task_status: _serve(app, task_status))
        sys.stdout.write(f"running on {url}\n")
        sys.stdout.flush()


async def _serve(app: object, task_status: trio.TaskStatus[list[str]]) -> None:
    await serve(app, hypercorn_config(), shutdown_trigger=told_to_stop, task_status=task_status)  # type: ignore[arg-type]


if __name__ == "__main__":
    trio.run(run, Path(sys.argv[1]))
