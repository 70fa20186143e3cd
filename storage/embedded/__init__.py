"""The embedded Postgres: its files, its processes, its restarts."""
