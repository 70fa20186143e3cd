"""The OpenAPI document: its recorded examples, its words, and what linters and generators say about it."""
