"""The web layer: the Quart-Trio application, the fast path, request middleware, pages and static files."""
