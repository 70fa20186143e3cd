"""Sample data, demo and catalog files."""
