"""What a catalog store must provide. The catalog is no actor but an immutable snapshot: `service/snapshots/catalog.py`."""
