"""Chaos: clients use real nodes on a real Postgres while a seeded plan kills, freezes, cuts off and fills them.

Afterwards the judge reads the history of all answers, and Postgres is asked for what no answer shows. To run it by hand:
`python -m tests.chaos --minutes 10 --seed 7`.
"""
