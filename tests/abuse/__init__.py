"""Attacks on a running node while a probe watches it, and many slightly wrong requests.

`python -m tests.abuse` runs the campaign. `tests/acceptance/test_abuse.py` runs a small one.
"""
