"""The rules of retention, and the store that deletes rows whose time is over."""
