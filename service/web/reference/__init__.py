"""The readable reference of the API: a start page, a page for each group and operation, and a search."""
