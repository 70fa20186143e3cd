update bookings set paid_currency = 'eur', lost_cents = 50, excess_cents = 1, lost_from = 'paid' where id = 'bok_1';
