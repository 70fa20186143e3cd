-- The booking ledger: find the rows a batch names, lock them in one order on all nodes, and write them. Locks are `no
-- key update`, so that a foreign key to a locked row does not wait.

-- name: lock_names
-- Take one lock for each name until the transaction ends, before any row. A payment that no booking has been paid with,
-- and an account without a sponsor, have no row to lock.
select pg_advisory_xact_lock(hashtextextended(name, 0))
from (select name from unnest($1::text[]) as named (name) order by name) as sorted

-- name: audited
-- The targets of audit records. Runs first, so that the campaign of a record that is found can be locked.
select id, target_id from audit where id = any ($1::text[])

-- name: booking_places
-- The immutable references of bookings, which name the rows to lock before them.
select id, tenant_id, campaign_id, slot_id, week_start_ms from bookings where id = any ($1::text[])

-- name: paid_with
-- The bookings that were paid with these payments, with the same columns.
select id, tenant_id, campaign_id, slot_id, week_start_ms from bookings
where payment_id = any ($1::text[]) and not payment_shared

-- name: reports
-- What the processor has reported about payments.
select id, payment_id, state, reported_ms, refunded_cents from payment_reports where payment_id = any ($1::text[])

-- name: digest
-- Lock the row of the digest of reviews.
select mailed_ms from review_digest for no key update

-- name: waiting
-- How many campaigns wait for review, and the newest submission.
select count(*) as count, max(coalesce(submitted_ms, created_ms)) as newest_ms
from campaigns where (status = 'pending' or (status in ('approved', 'paused') and pending is not null)) and not demo

-- name: waiting_first
-- The campaigns that wait longest for review.
select campaigns.*, sponsors.name as sponsor_name from campaigns left join sponsors using (tenant_id)
where (campaigns.status = 'pending' or (campaigns.status in ('approved', 'paused') and campaigns.pending is not null)) and not campaigns.demo
order by campaigns.submitted_ms nulls first, campaigns.id limit $1

-- name: mailed
-- Record that the digest was mailed.
update review_digest set mailed_ms = $1

-- name: campaign_counts
-- The campaigns of accounts, and how many of them, or of their edits, wait for review.
select tenant_id, count(*) as total,
    count(*) filter (where status = 'pending' or (status in ('approved', 'paused') and pending is not null)) as pending
from campaigns where tenant_id = any ($1::text[]) group by tenant_id

-- name: campaign_owners
-- The owners of campaigns, which never change.
select id, tenant_id from campaigns where id = any ($1::text[])

-- name: lock_sponsors
-- Lock sponsors by tenant.
select tenant_id, id, name, website, created_ms, demo
from sponsors where tenant_id = any ($1::text[]) order by tenant_id for no key update

-- name: suspended
-- Those of some tenants whose account is suspended.
select tenant_id from accounts where tenant_id = any ($1::text[]) and suspended_ms is not null

-- name: recall
-- The bookings made under idempotency keys, with their references. Runs after the locks on their sponsors.
select known.tenant_id, known.operation, known.key, known.fingerprint, known.booking_id, known.created_ms,
    bookings.campaign_id, bookings.slot_id, bookings.week_start_ms
from unnest($1::text[], $2::text[], $3::text[]) as wanted (tenant_id, operation, key)
join booking_keys as known using (tenant_id, operation, key)
join bookings on bookings.id = known.booking_id

-- name: lock_campaigns
-- Lock campaigns by id.
select id, tenant_id, name, headline, body, cta, target_url, logo_text, status, created_ms, review_note, shown_as,
    demo, pending, submitted_ms
from campaigns where id = any ($1::text[]) order by id for no key update

-- name: lock_slots
-- Lock slots by id. The lock of a slot also covers its weeks.
select id, name, side, week_price_cents, created_ms, active, weeks, coming_soon, offer_ends_ms, package_kind, description,
    retired_ms, demo
from slots where id = any ($1::text[]) order by id for no key update

-- name: held_weeks
-- All weeks of the bookings that hold any week of these slots from $2 on: a booking that gives way frees all of them.
select slot_id, week_ms, booking_id from slot_weeks where booking_id in (
    select booking_id from slot_weeks where slot_id = any ($1::text[]) and week_ms >= $2
)

-- name: lock_bookings
-- Lock bookings by id, and of these tenants the open ones and those created at $3 or later.
select id, tenant_id, campaign_id, slot_id, slot_name, week_start_ms, weeks, amount_cents, currency, status, mode,
    created_ms, hold_ms, package_kind, package_description, youtube_status, youtube_url, youtube_notes, paid_ms,
    paid_cents, payment_id,
    refunded_cents, refund_due_ms, payment_issue, demo, sessions, cancelled_ms, disputed, refund_requested_ms,
    refund_reason, refund_note, refund_requests, refund_cents, next_step_ms
from bookings
where id = any ($1::text[]) or (tenant_id = any ($2::text[]) and status in ('reserved', 'checkout'))
    or (tenant_id = any ($2::text[]) and created_ms >= $3)
order by id for no key update

-- name: new_sponsors
-- Which of these tenants are sponsors by now. Runs after all locks.
select tenant_id from sponsors where tenant_id = any ($1::text[])

-- name: handled
-- Which of these payment events were handled before. Runs after the locks on their bookings.
select id from payment_events where id = any ($1::text[])

-- name: delivered
-- Impressions and clicks of bookings so far.
select booking_id, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks
from deliveries where booking_id = any ($1::text[]) group by booking_id

-- name: delivered_days
-- Impressions and clicks of bookings by day.
select booking_id, day, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks
from deliveries where booking_id = any ($1::text[]) group by booking_id, day order by booking_id, day

-- name: insert_sponsors
-- Insert sponsors. If another node inserted one first, the unique violation makes the batch run again.
insert into sponsors (tenant_id, id, name, website, created_ms, demo)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::boolean[])
    as made (tenant_id, id, name, website, created_ms, demo)
order by tenant_id

-- name: update_sponsors
-- Update the columns of locked sponsors that can change.
update sponsors set name = changed.name, website = changed.website
from unnest($1::text[], $2::text[], $3::text[]) as changed (tenant_id, name, website)
where sponsors.tenant_id = changed.tenant_id

-- name: insert_slots
-- Insert slots. If another node inserted one first, the unique violation makes the batch run again.
insert into slots (id, name, side, week_price_cents, created_ms, active, weeks, coming_soon, offer_ends_ms, package_kind,
    description, retired_ms, demo)
select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::boolean[], $7::int[],
    $8::boolean[], $9::bigint[], $10::text[], $11::text[], $12::bigint[], $13::boolean[]) as made (id, name, side,
    week_price_cents, created_ms, active, weeks, coming_soon, offer_ends_ms, package_kind, description, retired_ms, demo)
order by id

-- name: update_slots
-- Update the columns of locked slots that can change.
update slots set
    name = changed.name, side = changed.side, week_price_cents = changed.week_price_cents, active = changed.active,
    weeks = changed.weeks, coming_soon = changed.coming_soon, offer_ends_ms = changed.offer_ends_ms,
    package_kind = changed.package_kind, description = changed.description, retired_ms = changed.retired_ms
from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::boolean[], $6::int[], $7::boolean[], $8::bigint[],
    $9::text[], $10::text[], $11::bigint[]) as changed (id, name, side, week_price_cents, active, weeks, coming_soon,
    offer_ends_ms, package_kind, description, retired_ms)
where slots.id = changed.id

-- name: save_campaigns
-- Insert campaigns, or update the columns that can change.
insert into campaigns (id, tenant_id, name, headline, body, cta, target_url, logo_text, status, created_ms, review_note,
    shown_as, demo, submitted_ms, pending)
select id, tenant_id, name, headline, body, cta, target_url, logo_text, status, created_ms, review_note, shown_as, demo,
    submitted_ms, pending::json
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::bigint[], $11::text[], $12::text[], $13::boolean[], $14::bigint[], $15::text[]) as changed (id,
    tenant_id, name, headline, body, cta, target_url, logo_text, status, created_ms, review_note, shown_as, demo,
    submitted_ms, pending)
order by id
on conflict (id) do update set
    name = excluded.name, headline = excluded.headline, body = excluded.body, cta = excluded.cta,
    target_url = excluded.target_url, logo_text = excluded.logo_text, status = excluded.status,
    review_note = excluded.review_note, shown_as = excluded.shown_as, submitted_ms = excluded.submitted_ms,
    pending = excluded.pending

-- name: save_bookings
-- Insert bookings, or update the columns that can change.
insert into bookings (id, tenant_id, campaign_id, slot_id, slot_name, week_start_ms, weeks, amount_cents, currency, status,
    mode, created_ms, hold_ms, package_kind, package_description, youtube_status, youtube_url, youtube_notes, paid_ms,
    paid_cents, payment_id, refunded_cents, refund_due_ms, payment_issue, demo, sessions, cancelled_ms, disputed,
    refund_requested_ms, refund_reason, refund_note, refund_requests, refund_cents, next_step_ms)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::int[], $8::bigint[],
    $9::text[], $10::text[], $11::text[], $12::bigint[], $13::bigint[], $14::text[], $15::text[], $16::text[],
    $17::text[], $18::text[], $19::bigint[], $20::bigint[], $21::text[], $22::bigint[], $23::bigint[], $24::text[],
    $25::boolean[], $26::text[], $27::bigint[], $28::boolean[], $29::bigint[], $30::text[], $31::text[], $32::int[],
    $33::bigint[], $34::bigint[]) as changed (id, tenant_id, campaign_id, slot_id, slot_name, week_start_ms, weeks,
    amount_cents, currency, status, mode, created_ms, hold_ms, package_kind, package_description, youtube_status,
    youtube_url, youtube_notes, paid_ms, paid_cents, payment_id, refunded_cents, refund_due_ms, payment_issue, demo,
    sessions, cancelled_ms, disputed, refund_requested_ms, refund_reason, refund_note, refund_requests, refund_cents,
    next_step_ms)
order by id
on conflict (id) do update set
    status = excluded.status, hold_ms = excluded.hold_ms, youtube_status = excluded.youtube_status,
    youtube_url = excluded.youtube_url, youtube_notes = excluded.youtube_notes, paid_ms = excluded.paid_ms,
    paid_cents = excluded.paid_cents, payment_id = excluded.payment_id, refunded_cents = excluded.refunded_cents,
    refund_due_ms = excluded.refund_due_ms, payment_issue = excluded.payment_issue, sessions = excluded.sessions,
    cancelled_ms = excluded.cancelled_ms, disputed = excluded.disputed,
    refund_requested_ms = excluded.refund_requested_ms, refund_reason = excluded.refund_reason,
    refund_note = excluded.refund_note, refund_requests = excluded.refund_requests,
    refund_cents = excluded.refund_cents, next_step_ms = excluded.next_step_ms

-- name: free_weeks
-- Free weeks that the booking still holds.
delete from slot_weeks using unnest($1::text[], $2::bigint[], $3::text[]) as freed (slot_id, week_ms, booking_id)
where slot_weeks.slot_id = freed.slot_id and slot_weeks.week_ms = freed.week_ms
    and slot_weeks.booking_id = freed.booking_id

-- name: reserve_weeks
-- Take weeks. If one is already taken, the unique violation makes the batch run again.
insert into slot_weeks (slot_id, week_ms, booking_id)
select * from unnest($1::text[], $2::bigint[], $3::text[]) as taken (slot_id, week_ms, booking_id)
order by slot_id, week_ms

-- name: insert_keys
-- Insert idempotency keys with their bookings.
insert into booking_keys (tenant_id, operation, key, fingerprint, booking_id, created_ms)
select * from unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::bigint[])
    as made (tenant_id, operation, key, fingerprint, booking_id, created_ms)
order by tenant_id, operation, key

-- name: insert_events
-- Insert handled payment events.
insert into payment_events (id, booking_id, handled_ms)
select id, booking_id, $3 from unnest($1::text[], $2::text[]) as made (id, booking_id) order by id

-- name: save_reports
-- Insert reports about payments, or overwrite them.
insert into payment_reports (id, payment_id, state, reported_ms, refunded_cents)
select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
    as made (id, payment_id, state, reported_ms, refunded_cents)
order by id
on conflict (id) do update set
    payment_id = excluded.payment_id, state = excluded.state, reported_ms = excluded.reported_ms,
    refunded_cents = excluded.refunded_cents

-- name: advance
-- Advance the revision, and notify all nodes on commit. Runs last, because all nodes update this row.
update sponsorship_revision set revision = revision + 1 returning revision, pg_notify('catalog', 'sponsorship')
