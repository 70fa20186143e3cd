"""The configuration: its model by section, loading it, and what would make a deployment unsafe."""
