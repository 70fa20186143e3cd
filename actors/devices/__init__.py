"""Device login (RFC 8628): a program asks, a person approves in a browser, the program's poll brings it a key."""
