"""Immutable pictures of the catalog and of placements in memory, and the members that keep them current."""
