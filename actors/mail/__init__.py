"""Mail: messages wait in the outbox, are rendered, sent with retries, and given up once they expire."""
