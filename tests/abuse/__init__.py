"""Attacks on a running node, with a probe beside them, and a great many requests that are a little wrong.

`python -m tests.abuse` runs the campaign; `tests/acceptance/test_abuse.py` runs the same in small.
"""
