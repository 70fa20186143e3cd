"""Mail: letters that wait in the outbox, written, sent with retries, and given up once they are of no use."""
