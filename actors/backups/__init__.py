"""Scheduled backups: when one is due, and which files to keep."""
