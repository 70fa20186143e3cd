"""Webhooks out: endpoints of accounts, and the deliveries of what happens to their bookings and campaigns."""
