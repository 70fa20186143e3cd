"""What owns changing state: actors that commit their messages in batches. Knows Trio, nothing of HTTP or SQL."""
