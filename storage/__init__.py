"""How state is kept: the only code that knows asyncpg, trio-asyncio and SQL. Sees actors' values and protocols."""
