"""The pages: one module per area, and the table of all pages."""
