-- Demo rows of the sponsorship area, beside real ones.

-- name: lock_replacements
-- Allow one replacement at a time, over all nodes.
select pg_advisory_xact_lock($1)

-- name: untouched
-- Whether the sponsorship area was never used. Removing a demo counts as use, since it advances the revision.
select not exists (select from sponsorship_revision where revision > 0) and not exists (select from slots)
    and not exists (select from sponsors) and not exists (select from bookings)

-- name: accounts
-- The accounts that exist for these emails.
select email, tenant_id from accounts where email = any ($1::text[]) order by email

-- name: lock_sponsors
-- Lock demo sponsors and those of these tenants.
select tenant_id as id, demo from sponsors where demo or tenant_id = any ($1::text[]) order by tenant_id for update

-- name: lock_campaigns
-- Lock demo campaigns and those with these ids.
select id, demo from campaigns where demo or id = any ($1::text[]) order by id for update

-- name: lock_slots
-- Lock demo slots and those with these ids.
select id, demo from slots where demo or id = any ($1::text[]) order by id for update

-- name: lock_bookings
-- Lock demo bookings and those with these ids.
select id, demo from bookings where demo or id = any ($1::text[]) order by id for update

-- name: used_sponsors
-- Those of these tenants that have a real campaign or booking.
select tenant_id from campaigns where not demo and tenant_id = any ($1::text[])
union select tenant_id from bookings where not demo and tenant_id = any ($1::text[])

-- name: used_campaigns
-- Those of these campaigns that have a real booking.
select distinct campaign_id from bookings where not demo and campaign_id = any ($1::text[])

-- name: used_slots
-- Those of these slots that have a real booking.
select distinct slot_id from bookings where not demo and slot_id = any ($1::text[])

-- name: real_weeks
-- The weeks of these slots that real bookings hold.
select slot_weeks.slot_id, week_ms from slot_weeks join bookings on bookings.id = booking_id
where not demo and slot_weeks.slot_id = any ($1::text[])

-- name: remove_weeks
-- Free the weeks of bookings.
delete from slot_weeks where booking_id = any ($1::text[])

-- name: remove_keys
-- Delete the idempotency keys of bookings.
delete from booking_keys where booking_id = any ($1::text[])

-- name: remove_events
-- Delete the payment events of bookings, so that a booking with the same id can be paid again.
delete from payment_events where booking_id = any ($1::text[])

-- name: remove_counts
-- Block event counting until the replacement commits, and delete the counts of bookings. Counting locks no other row of the demo.
-- Event keys stay, so a visitor counted today is not counted again today.
select remove_event_counts($1::text[])

-- name: remove_site_counts
-- Delete the counts of bookings by website.
select remove_event_site_counts($1::text[])

-- name: remove_filtered
-- Delete what was filtered of bookings.
select remove_event_filtered($1::text[])

-- name: remove_bookings
-- Delete bookings.
delete from bookings where id = any ($1::text[])

-- name: remove_campaigns
-- Delete campaigns.
delete from campaigns where id = any ($1::text[])

-- name: remove_sponsors
-- Delete sponsors by tenant.
delete from sponsors where tenant_id = any ($1::text[])

-- name: remove_slots
-- Delete slots.
delete from slots where id = any ($1::text[])

-- name: retire_slots
-- Retire slots.
update slots set active = false, retired_ms = coalesce(retired_ms, $2) where id = any ($1::text[])

-- name: insert_days
-- Insert delivery counts.
select count_days($1, $2, $3, $4)
