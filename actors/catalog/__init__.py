"""What a catalog store must provide. The catalog is no actor: it is an immutable snapshot, in `service/catalog.py`."""
