"""The sample catalog, the demo, and the import of catalog files."""
