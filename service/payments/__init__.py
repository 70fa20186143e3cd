"""Taking and refunding money: the port, its test implementation, and Stripe."""
