"""The HTTP engine: bytes in, ASGI out. A leaf that imports nothing of the project but the clock."""
