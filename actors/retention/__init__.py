"""How long rows live: the rules of retention, and the store that deletes what is over."""
