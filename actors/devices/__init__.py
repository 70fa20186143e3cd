"""Device login (RFC 8628): a program asks, a person approves in a browser, and the program's next poll returns a key."""
