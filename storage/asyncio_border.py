"""The border between Trio and asyncio, and the only module that crosses it.

asyncpg runs on an asyncio loop inside Trio. A crossing is shielded from cancellation: cancelling an asyncpg call can end
the loop, and a cancelled commit may have succeeded. What bounds a crossing instead is the server's `statement_timeout`
and, behind it, a `Deadline`. Must not know what a pool is or what its transactions do.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import asyncpg
import trio
import trio_asyncio

from actors.values import StorageUnavailable

T = TypeVar("T")

STATEMENTS = 256
"""Prepared statements that a connection keeps: more than the service has."""


def open_loop() -> AbstractAsyncContextManager[asyncio.AbstractEventLoop]:
    """An asyncio loop for the life of the block; tasks started inside the block may cross to it."""
    return trio_asyncio.open_loop()  # type: ignore[no-any-return]  # the library is not typed


async def cross(run: Callable[[], Awaitable[T]]) -> T:
    """Call an asyncio-flavoured function from Trio and wait for its end, even when cancelled."""
    with trio.CancelScope(shield=True):
        result: T = await trio_asyncio.aio_as_trio(run)()
    return result


async def connect(arguments: Mapping[str, Any], seconds: float, settings: Mapping[str, str]) -> Any:
    """Open a connection (asyncio side) with these server settings. Raises `StorageUnavailable` on any failure."""
    try:
        return await asyncpg.connect(
            **arguments,
            timeout=seconds,
            statement_cache_size=STATEMENTS,
            # By default the driver drops statements after 5 minutes, and closes all dropped ones before the next new one.
            max_cached_statement_lifetime=0,
            server_settings=dict(settings),
        )
    except ValueError:
        # From None and without the message: it may quote the part of the URL that holds the password.
        raise StorageUnavailable(
            "its URL cannot be parsed; percent-encode /, :, @, ? and # in the user name and the password"
        ) from None
    except Exception as error:
        raise StorageUnavailable(f"{type(error).__name__}: {error}") from error


class Deadline:
    """Terminate a connection that is still busy after `seconds`. Its calls then fail by themselves, without a
    cancellation.

    The server's own timeout fires first, so a connection that reaches this deadline has probably lost its server.
    `on_silence` is called so that the owner can drop other connections to it.
    """

    def __init__(self, connection: Any, seconds: float, on_silence: Callable[[], None] = lambda: None) -> None:
        self._connection, self._on_silence = connection, on_silence
        self._timer = asyncio.get_running_loop().call_later(seconds, self._pass)

    def _pass(self) -> None:
        self._connection.terminate()
        self._on_silence()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
