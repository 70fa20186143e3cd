"""Benchmarks: the service against plain programs that do the same over the same Postgres. See README.md."""
