"""The HTTP edge and the composition root: the only code that knows Quart, Hypercorn and pydantic."""
