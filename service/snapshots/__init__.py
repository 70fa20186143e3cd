"""Immutable snapshots of the catalog and of placements in memory, and the tasks that keep them current."""
