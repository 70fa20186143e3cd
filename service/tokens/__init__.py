"""Signed texts that clients carry and cannot change: list cursors and links to one booking."""
