"""The FastAPI program's asyncpg pool. PGHOST, PGUSER and PGDATABASE name the database."""

import os
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any

import asyncpg
from fastapi import Depends, Request

CONNECTIONS = int(os.environ.get("PEER_CONNECTIONS", "10"))
"""asyncpg's default. With 5 the program is slower, with 20 it is no faster."""


async def no_reset(_: Any) -> None:
    """Skips asyncpg's reset when a connection is returned, because no request changes its session. Saves a round trip."""


def open_pool() -> AbstractAsyncContextManager[Any]:
    settings = {"jit": "off", "timezone": "UTC", "application_name": "peer"}
    pool: AbstractAsyncContextManager[Any] = asyncpg.create_pool(
        min_size=CONNECTIONS, max_size=CONNECTIONS, ssl=False, reset=no_reset, server_settings=settings
    )
    return pool


def pool_of(request: Request) -> Any:
    return request.app.state.pool


Pool = Annotated[Any, Depends(pool_of)]
