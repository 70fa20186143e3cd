"""The booking ledger: slots, sponsors, campaigns, bookings and the money that moves for them."""
