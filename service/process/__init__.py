"""Processes: the parent, its workers, the sockets they share, and exit codes."""
