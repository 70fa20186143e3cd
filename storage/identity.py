"""The identity of a database: the fingerprint of the server secret, and the billing mode."""

from typing import TypeVar

from storage.connection.pool import Connection, Store
from storage.rows.statements import statements

SQL = statements("identity")

T = TypeVar("T", bytes, str)


class Identity(Store):
    """The one row of the table `identity`."""

    async def fingerprint(self) -> bytes | None:
        """The stored fingerprint; None before the first start."""
        stored: bytes | None = await self._database.fetchval(SQL.fingerprint)
        return stored

    async def claim(self, fingerprint: bytes) -> bytes:
        """Store `fingerprint` if none is stored yet. Returns the stored one."""
        return await self._claim(SQL.insert_first, SQL.fingerprint, fingerprint)

    async def claim_billing_mode(self, mode: str) -> str:
        """Store the billing mode if none is stored yet. Returns the stored one. The fingerprint must be stored before."""
        return await self._claim(SQL.insert_mode, SQL.mode, mode)

    async def _claim(self, insert: str, read: str, value: T) -> T:
        async def work(connection: Connection) -> T:
            await connection.execute(insert, value)
            stored: T = await connection.fetchval(read)
            return stored

        return await self._database.transact(work)

    async def billing_mode(self) -> str | None:
        """The stored billing mode; None before the first start."""
        stored: str | None = await self._database.fetchval(SQL.mode)
        return stored

    async def set_billing_mode(self, mode: str, now_ms: int, *, keep_bookings: bool) -> int:
        """Store another billing mode, unless bookings of the old one still hold weeks and `keep_bookings` is false.
        Returns the number of these bookings."""

        async def work(connection: Connection) -> int:
            await connection.fetchval(SQL.lock_mode)
            holding: int = await connection.fetchval(SQL.holding, mode, now_ms)
            if not holding or keep_bookings:
                await connection.execute(SQL.set_mode, mode)
            return holding

        return await self._database.transact(work)
