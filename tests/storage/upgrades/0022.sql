update bookings set refund_requested_ms = 1763000000011, refund_reason = 'A mistake', refund_note = 'Shown', refund_requests = 1,
    refund_cents = 5000;
