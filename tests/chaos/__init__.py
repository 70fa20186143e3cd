"""Chaos: clients use real nodes on a real Postgres while a seeded plan kills, freezes, cuts off and fills them.

Afterwards every answer is compared with what the service still answers and with the rows in Postgres. To run it by hand:
`python -m tests.chaos --minutes 10 --seed 7`.
"""
