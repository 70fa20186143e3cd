"""Payments and refunds: the port, the test mode, and Stripe."""
