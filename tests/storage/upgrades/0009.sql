update bookings set sessions = 'cs_1 cs_2', cancelled_ms = 1763000000018, disputed = true;
insert into payment_reports values ('dp_1', 'pay_1', 'disputed', 1763000000019);
