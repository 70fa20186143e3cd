"""The actor kernel: mailboxes, batches, supervision and periodic tasks. Knows no concern."""
