"""Sample catalog, demo sponsors, and the import of catalog files."""
