-- Refunds of a part that are reported before their payment.
-- works with: 14

alter table payment_reports add column refunded_cents bigint check (refunded_cents > 0);
comment on column payment_reports.refunded_cents is 'What was refunded so far, if that is only a part of the payment.';
