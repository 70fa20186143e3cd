"""Websites report events to two real nodes while processes are killed, Postgres fails and the network breaks.

Afterwards every answer is held against what Postgres has. `python -m tests.soak --seconds 600 --seed 7` runs it by hand.
"""
