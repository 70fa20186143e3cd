"""Backups of the embedded database: one archive, and a directory of scheduled ones."""
