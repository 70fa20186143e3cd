"""Opens the listener for operators as configured. A node without a parent and the parent of several workers serve on it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from actors.clock import SystemClock
from service.config.model import Config
from service.http.listeners import open_listeners
from service.http.server import Server
from service.observability.operators_app import MAX_CONNECTIONS
from service.running.limits import serving_limits
from service.running.service_manager import PassedSockets


@asynccontextmanager
async def open_operators_listener(config: Config, passed: PassedSockets) -> AsyncIterator[Server | None]:
    """Listen on `server.ops_bind`; None if it is empty. Raises `ListenError`."""
    if not config.server.ops_bind:
        yield None
        return
    addresses = passed.addresses("server.ops_bind", config.server.ops_bind)
    limits = replace(serving_limits(config), connections=MAX_CONNECTIONS, connections_per_address=MAX_CONNECTIONS)
    async with open_listeners(addresses, limits, SystemClock(), config.server.engine) as server:
        yield server
