"""Clients that others wrote, or that their tools generate, against a real node: `make clients`."""
