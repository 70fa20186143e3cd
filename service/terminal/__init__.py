"""The code that both programs share at a terminal: the Python they need, their standard streams, and the browser."""
