"""Runs a node: assembly, storage and first rows, listeners of operators, signals, and backups on schedule."""
