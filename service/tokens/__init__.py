"""Signed tokens that clients hold and cannot change: list cursors and links to one booking."""
