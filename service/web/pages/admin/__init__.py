"""Pages of administrators: reviews, bookings, slots, accounts, revenue, audit."""
