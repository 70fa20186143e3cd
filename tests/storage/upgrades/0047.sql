insert into payment_reports (id, payment_id, state, reported_ms, refunded_cents, made_ms)
values ('re_made', 'pay_made', 'refund_failed', 1763000000021, 100, 1763000000020);
