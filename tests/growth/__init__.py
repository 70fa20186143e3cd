"""A large service: its rows, and what each read and each change costs on it."""
