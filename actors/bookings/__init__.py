"""The booking ledger: slots, sponsors, campaigns, bookings, and their payments."""
