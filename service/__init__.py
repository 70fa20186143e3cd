"""HTTP service and composition root: the only code that uses Quart, Hypercorn and pydantic."""
