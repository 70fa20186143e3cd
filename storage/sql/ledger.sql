-- The booking ledger: find the rows a batch names, lock them in one order on all nodes, and write them. Locks are `no
-- key update`, so that a foreign key to a locked row does not wait.

-- name: lock_names
-- Take one lock for each name, and for the mailbox of each of these tenants, until the transaction ends, before any row. A
-- payment that no booking has been paid with, an account without a sponsor, and a mailbox have no row to lock.
select pg_advisory_xact_lock(hashtextextended(name, 0)) from (
    select name from unnest($1::text[]) as named (name)
    union select 'mailbox ' || mailbox_of(email) from accounts where tenant_id = any ($2::text[])
    order by name
) as sorted

-- name: siblings
-- For each of these tenants that never paid, the other accounts of its mailbox that never paid and are among them or have what
-- a limit counts: an open booking, one created at $2 or later, or a campaign that waits for review.
select own.tenant_id, other.tenant_id as sibling_id
from accounts as own join accounts as other on mailbox_of(other.email) = mailbox_of(own.email) and other.email <> own.email
where own.tenant_id = any ($1::text[])
    and not exists (select from bookings where tenant_id in (own.tenant_id, other.tenant_id) and paid_ms is not null)
    and (
        other.tenant_id = any ($1::text[])
        or exists (select from bookings where tenant_id = other.tenant_id and status in ('reserved', 'checkout'))
        or exists (select from bookings where tenant_id = other.tenant_id and created_ms >= $2)
        or exists (
            select from campaigns where tenant_id = other.tenant_id
                and (status = 'pending' or (status in ('approved', 'paused') and pending is not null))
        )
    )

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
select {payment_reports} from payment_reports where payment_id = any ($1::text[])

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
select {sponsors}
from sponsors where tenant_id = any ($1::text[]) order by tenant_id for no key update

-- name: billing_details
-- The billing details of tenants, whose sponsors are locked if they exist.
select {billing_details} from billing_details where tenant_id = any ($1::text[])

-- name: shared
-- The reports that tenants share. Their names are locked.
select {shared_reports} from shared_reports where tenant_id = any ($1::text[])

-- name: unshare
-- End links to reports.
delete from shared_reports where id = any ($1::text[])

-- name: suspended
-- Those of some tenants whose account is suspended.
select tenant_id from accounts where tenant_id = any ($1::text[]) and suspended_ms is not null

-- name: recall
-- The bookings made under idempotency keys, with their references. Runs after the locks on their sponsors.
select {known.booking_keys},
    bookings.campaign_id, bookings.slot_id, bookings.week_start_ms
from unnest($1::text[], $2::text[], $3::text[]) as wanted (tenant_id, operation, key)
join booking_keys as known using (tenant_id, operation, key)
join bookings on bookings.id = known.booking_id

-- name: lock_campaigns
-- Lock campaigns by id.
select {campaigns}
from campaigns where id = any ($1::text[]) order by id for no key update

-- name: lock_slots
-- Lock slots by id. The lock of a slot also covers its weeks.
select {slots}
from slots where id = any ($1::text[]) order by id for no key update

-- name: held_weeks
-- All weeks of the bookings that hold any week of these slots from $2 on: a booking that gives way frees all of them.
select slot_id, week_ms, booking_id from slot_weeks where booking_id in (
    select booking_id from slot_weeks where slot_id = any ($1::text[]) and week_ms >= $2
)

-- name: lock_bookings
-- Lock bookings by id, and of these tenants the open ones and those created at $3 or later.
select {bookings}
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

-- name: ran
-- The bookings of accounts that were paid and can have counts in the week before $2, with their accounts.
select tenant_id, id from bookings
where tenant_id = any ($1::text[]) and paid_ms is not null and week_start_ms < $2
    and week_start_ms >= $2 - 53 * 604800000::bigint and week_start_ms + weeks * 604800000::bigint >= $2 - 604800000

-- name: delivered_between
-- Impressions and clicks of bookings within days.
select booking_id, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks
from deliveries where booking_id = any ($1::text[]) and day between $2 and $3 group by booking_id

-- name: filtered
-- What was filtered of bookings by day, within days.
select booking_id, day, duplicate, crawler, prefetch, capped, inactive
from event_filtered where booking_id = any ($1::text[]) and day between $2 and $3 order by booking_id, day

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

-- name: insert_events
-- Insert handled payment events.
insert into payment_events (id, booking_id, handled_ms)
select id, booking_id, $3 from unnest($1::text[], $2::text[]) as made (id, booking_id) order by id

-- name: advance
-- Advance the revision, and notify all nodes on commit. Runs last, because all nodes update this row.
update sponsorship_revision set revision = revision + 1 returning revision, pg_notify('catalog', 'sponsorship')
