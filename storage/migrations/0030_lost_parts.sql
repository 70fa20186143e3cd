-- The parts of payments that disputes have taken, and payments in another currency than the booking's.
-- works with: 27

alter table bookings
    add column paid_currency text,
    add column lost_cents bigint not null default 0 check (lost_cents >= 0),
    add column excess_cents bigint not null default 0 check (excess_cents >= 0),
    add column lost_from text;
comment on column bookings.paid_currency is 'The currency of paid_cents and refunded_cents, if it is not that of the amount.';
comment on column bookings.lost_cents is 'What lost disputes have taken of the payment, as the processor says.';
comment on column bookings.excess_cents is 'What refunds and lost disputes have taken beyond the payment: refunded_cents has the rest.';
comment on column bookings.lost_from is 'The status in which a lost dispute ended the booking; null: something else did.';
