-- Requests and shares of refunds, and the schedule of paid bookings. Its rows and indexes follow in the next migration, so that
-- this one holds its lock for a moment only.
-- works with: 14

alter table bookings
    add column refund_requested_ms bigint,
    add column refund_reason text,
    add column refund_note text,
    add column refund_requests integer not null default 0,
    add column refund_cents bigint check (refund_cents > 0),
    add column next_step_ms bigint;
-- A booking that an older program sells begins at its next step, too.
alter table bookings alter column next_step_ms set default 0;
comment on column bookings.refund_requested_ms is 'Set while a request of the sponsor for a refund waits for an administrator.';
comment on column bookings.refund_note is 'Why an administrator declined the last request.';
comment on column bookings.refund_cents is 'The amount of the refund that was ordered last; null: all of it.';
comment on column bookings.next_step_ms is
    'When the schedule of the paid booking goes on: a week begins, a day or the weeks end. Null: it is over.';
