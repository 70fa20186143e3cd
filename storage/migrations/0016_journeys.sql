-- Edits of running campaigns, requests and shares of refunds, the schedule of paid bookings, and which mails people get.
-- works with: 14

alter table campaigns
    add column pending json,
    add column submitted_ms bigint;
comment on column campaigns.pending is 'The edit that waits for review while the approved content is shown.';
comment on column campaigns.submitted_ms is 'When it, or its edit, last began to wait for review.';
create index campaigns_edited on campaigns (created_ms desc, id desc) where pending is not null;
create index campaigns_waiting on campaigns (submitted_ms) where status = 'pending' or pending is not null;

alter table bookings
    add column refund_requested_ms bigint,
    add column refund_reason text,
    add column refund_note text,
    add column refund_requests integer not null default 0,
    add column refund_cents bigint check (refund_cents > 0),
    add column next_step_ms bigint;
comment on column bookings.refund_requested_ms is 'Set while a request of the sponsor for a refund waits for an administrator.';
comment on column bookings.refund_note is 'Why an administrator declined the last request.';
comment on column bookings.refund_cents is 'The amount of the refund that was ordered last; null: all of it.';
comment on column bookings.next_step_ms is
    'When the schedule of the paid booking goes on: a week begins, a day or the weeks end. Null: it is over.';
-- Bookings that ended before this migration are not told or refunded afterwards. Their rows stay as they are, so that the
-- migration is short. Bookings that an older program sells begin at their next step, too.
alter table bookings alter column next_step_ms set default 0;
update bookings set next_step_ms = 0 where week_start_ms + weeks * 604800000::bigint > extract(epoch from now()) * 1000;
create index bookings_next_step on bookings (next_step_ms) where status = 'paid' and next_step_ms is not null;
create index bookings_refund_requested on bookings (refund_requested_ms) where refund_requested_ms is not null;

create table mail_choices (
    -- The last release deletes accounts and does not know this table.
    email text primary key references accounts (email) on delete cascade,
    reviews boolean not null,
    bookings boolean not null,
    reports boolean not null
);
comment on table mail_choices is 'The topics that people want mails about. An account without a row gets all mails.';

create table review_digest (
    id boolean primary key default true check (id),
    mailed_ms bigint not null
);
comment on table review_digest is 'One row: when administrators were last mailed about campaigns that wait for review.';
insert into review_digest (mailed_ms) values (0);
