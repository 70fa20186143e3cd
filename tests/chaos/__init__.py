"""Clients of all kinds ask real nodes over a real Postgres while a seeded plan of faults kills, freezes, cuts and fills.

Afterwards every answer is held against what the service still says and what Postgres has.
`python -m tests.chaos --minutes 10 --seed 7` runs it by hand.
"""
