"""Actors own the state that changes and commit their messages in batches. They know Trio, and nothing of HTTP or SQL."""
