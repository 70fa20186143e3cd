"""The event tables: recording and counting events, on one Postgres or distributed over Citus."""
