"""The exit codes of all processes."""

SUCCESS, BUG, USAGE, INTERRUPTED = 0, 1, 2, 130
