-- Event keys and delivery counts. The statements that record are functions of the schema: see its migrations.

-- name: record_new
-- Record a batch whose keys are all new, as one transaction. False if its id is in the journal.
select record_new_events($1, $2, $3, $4, $5, $6, $7)

-- name: record_new_by_site
-- The same, with the counts of the batch by website.
select case when record_new_events($1, $2, $3, $4, $5, $6, $7) then count_event_sites($1, $4, $8, $9, $10, $11) else false end

-- name: record
-- Record the keys of a batch that are new, as one transaction, with the website of each key if they are counted. Returns the
-- positions of the others, also if the batch's id is in the journal.
select record_event_batch($1, $2, $3, $4, $5, $6, $7, $8)

-- name: is_journalled
-- Whether the journal of a place has this number of an owner.
select exists (select from event_journal where place = $1 and owner = $2 and seq = $3)

-- name: add_filtered
-- Add to what was filtered of bookings by day: one parallel array for each reason. Bookings that were never paid are left out,
-- and so are days on which a booking can have no counts: those before its weeks, and more than $8 days after them.
insert into event_filtered as counts (booking_id, day, duplicate, crawler, prefetch, capped, inactive)
select bookings.id, day, duplicate, crawler, prefetch, capped, inactive
from unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
    as added (booking_id, day, duplicate, crawler, prefetch, capped, inactive)
    join bookings on bookings.id = booking_id
where paid_ms is not null and day >= week_start_ms / 86400000
    and day < (week_start_ms + weeks * 604800000::bigint) / 86400000 + $8::integer
order by booking_id, day
on conflict (booking_id, day) do update
    set duplicate = counts.duplicate + excluded.duplicate, crawler = counts.crawler + excluded.crawler,
        prefetch = counts.prefetch + excluded.prefetch, capped = counts.capped + excluded.capped,
        inactive = counts.inactive + excluded.inactive

-- name: numbers
-- The numbers of bookings that have one.
select id, number from event_bookings where id = any ($1::text[])

-- name: number
-- Give numbers to bookings, which are sorted.
insert into event_bookings (id) select unnest($1::text[]) on conflict do nothing

-- name: windows
-- When the placements of bookings are shown. Null if a booking is unpaid, disputed, not approved, has lost its weeks, or its
-- account is suspended.
select bookings.id, weeks,
    case when bookings.status = 'paid' and not disputed and campaigns.status = 'approved'
        and not exists (select from accounts where accounts.tenant_id = bookings.tenant_id and suspended_ms is not null)
        and weeks = (select count(*) from slot_weeks where booking_id = bookings.id) then week_start_ms end as start_ms
from bookings join campaigns on campaigns.id = bookings.campaign_id
where bookings.id = any ($1::text[])

-- name: has_partition
-- Whether a day of a table has its partition, read from the current snapshot. Name lookups may use a cache that still has
-- a dropped one.
select exists (
    select from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = $1::text::regclass and relname ~ ('_' || $2::int || '$')
)

-- name: partitions
-- The days of a table that have a partition.
select substring(relname from '[0-9]+$')::int as day
from pg_inherits join pg_class on pg_class.oid = inhrelid
where inhparent = $1::text::regclass and relname ~ '_[0-9]+$' order by day
