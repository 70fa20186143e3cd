insert into payment_reports values ('pay_part', 'pay_part', 'refunded', 1763000000020, 100);
