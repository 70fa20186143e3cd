"""Stores state in Postgres or in memory: the only code that knows asyncpg, trio-asyncio and SQL."""
