"""Pages of an account: sign-in, keys, security, settings, deletion."""
