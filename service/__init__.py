"""HTTP service and composition root: the only code that uses Quart, h2 and pydantic."""
