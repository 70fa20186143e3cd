"""Logs, metrics, readiness and the record of refused requests."""
