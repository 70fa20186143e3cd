"""The stores in memory, each the twin of one over Postgres and held to the same contract."""
