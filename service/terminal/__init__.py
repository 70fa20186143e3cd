"""The code that both programs share at a terminal: the Python they need, their standard streams, tables, and the browser."""
