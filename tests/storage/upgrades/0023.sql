update bookings set next_step_ms = 1763000000012;
