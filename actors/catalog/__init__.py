"""The port of the catalog store. The catalog is no actor but an immutable snapshot: `service/snapshots/catalog.py`."""
