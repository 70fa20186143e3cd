"""`service.asgi:app` with an actor that fails each time it starts, once the file of `FAIL_AT` exists."""

import os
from pathlib import Path

import trio

from actors.nodes.heartbeat import Heartbeat
from service.asgi import app
from service.running import assembly

__all__ = ["app"]


class FailingHeartbeat(Heartbeat):
    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        while not Path(os.environ["FAIL_AT"]).exists():  # noqa: ASYNC110, ASYNC240
            await trio.sleep(0.05)
        raise RuntimeError("a bug of this test")


vars(assembly)["Heartbeat"] = FailingHeartbeat
