"""Placement events: deduplicated, committed, and counted in one transaction."""
