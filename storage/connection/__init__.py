"""The connection to Postgres: the pool, the border to asyncio, named SQL, notifications and the journal."""
