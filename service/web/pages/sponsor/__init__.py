"""Pages of a sponsor: bookings, ads, reports, invoices, webhooks."""
