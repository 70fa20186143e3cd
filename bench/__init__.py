"""Benchmarks: the service against plain programs that do the same work on the same Postgres. See README.md."""
