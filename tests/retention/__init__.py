"""How long rows live: a simulated year, the documented lives, exports and the erasure of accounts."""
