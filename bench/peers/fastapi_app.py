"""A plain FastAPI program on asyncpg with the service's high-volume operations, in three idioms.

Run `uvicorn bench.peers.fastapi_app:models`, `:raw` or `:grouped`. The modules of the operations describe the idioms.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from fastapi import FastAPI

from bench.peers import fastapi_catalog, fastapi_events, fastapi_sponsorship
from bench.peers.fastapi_grouped import Grouping, add_grouped
from bench.peers.pool import open_pool


def program(operations: Sequence[Callable[[FastAPI], None]]) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_pool() as app.state.pool:
            app.state.windows = await fastapi_events.load_windows(app.state.pool)
            app.state.grouping = Grouping(app.state.pool)
            task = asyncio.create_task(app.state.grouping.run())
            yield
            task.cancel()

    app = FastAPI(lifespan=lifespan)
    for add in operations:
        add(app)
    return app


models = program([fastapi_catalog.add_models, fastapi_sponsorship.add_models, fastapi_events.add_models])
raw = program([fastapi_catalog.add_raw, fastapi_sponsorship.add_raw, fastapi_events.add_raw])
grouped = program([fastapi_catalog.add_raw, fastapi_sponsorship.add_raw, add_grouped])
