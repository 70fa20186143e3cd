-- Only payments of our own checkout sessions count, one for each booking; what the processor reports about payments.

alter table bookings
    add column sessions text,
    add column cancelled_ms bigint,
    add column disputed boolean not null default false,
    add column payment_shared boolean not null default false;
comment on column bookings.sessions is
    'Checkout sessions at the processor, separated by spaces. Null: booked by a version that did not store them.';
comment on column bookings.disputed is 'While the payment is disputed, the booking keeps its weeks and is not shown.';
comment on column bookings.payment_shared is
    'Before payments were unique, an earlier booking was already paid with this payment. Set by the migration alone.';

update bookings set payment_shared = true
where exists (
    select from bookings as earlier
    where earlier.payment_id = bookings.payment_id
        and (coalesce(earlier.paid_ms, 0), earlier.id) < (coalesce(bookings.paid_ms, 0), bookings.id)
);
create unique index bookings_payment on bookings (payment_id) where not payment_shared;

create table payment_reports (
    id text primary key,
    payment_id text not null,
    state text not null check (state in ('refunded', 'refund_failed', 'disputed', 'won', 'lost')),
    reported_ms bigint not null
);
create index payment_reports_of_payment on payment_reports (payment_id);
comment on table payment_reports is
    'Disputes by their id, and refunds whose payment was unknown by the payment''s, also of payments that are not ours.';
