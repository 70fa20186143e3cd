"""Webhooks out over HTTP: which addresses may be reached, signatures, and the transport."""
