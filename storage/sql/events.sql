-- Event keys and delivery counts. The statements that record are functions of the schema: see its migrations.

-- name: record_new
-- Record a batch whose keys are all new, as one transaction. False if its id is in the journal.
select record_new_events($1, $2, $3, $4, $5, $6, $7)

-- name: record_new_by_site
-- The same, with the counts of the batch by website.
select case when record_new_events($1, $2, $3, $4, $5, $6, $7) then count_event_sites($1, $4, $8, $9, $10, $11) else false end

-- name: count_sites
-- Add to the counts by website, in the transaction that records: place, day, bookings, websites, impressions, clicks.
select count_event_sites($1, $2, $3, $4, $5, $6)

-- name: record
-- Record the keys of a batch that are new. Returns them concatenated, or null if the batch's id is in the journal.
select record_events($1, $2, $3, $4, $5, $6, $7)

-- name: is_journalled
-- Whether the journal of a place has this number of an owner.
select exists (select from event_journal where place = $1 and owner = $2 and seq = $3)

-- name: since
-- The first day whose events are in `event_keys`. Those of earlier days are in `events`.
select since from event_switch

-- name: numbers
-- The numbers of bookings that have one.
select id, number from event_bookings where id = any ($1::text[])

-- name: number
-- Give numbers to bookings, which are sorted.
insert into event_bookings (id) select unnest($1::text[]) on conflict do nothing

-- name: record_before_switch
-- Record the batch id, insert the keys that are new on this day, and add them to the counts of their bookings. Bookings
-- are sorted. Each comes with its sorted keys in one bytea of 16 bytes per key, and their kinds in one of a byte per
-- key, so that rows are inserted in primary-key order. Returns one row: whether the batch id was new, and the added
-- keys, concatenated.
with batch as (
    insert into journal (owner, seq) values ($1, $2)
    on conflict (owner) do update set seq = excluded.seq, written_at = now() where journal.seq < excluded.seq
    returning seq
), added as (
    insert into events (booking_id, day, key, kind)
    select booking_id, $3, substring(keys from at * 16 + 1 for 16), get_byte(kinds, at)
    from unnest($4::text[], $5::bytea[], $6::bytea[]) as offered (booking_id, keys, kinds), generate_series(0, length(kinds) - 1) as at
    where exists (select from batch)
    on conflict do nothing
    returning booking_id, key, kind
), counted as (
    insert into delivery_days as counts (booking_id, day, impressions, clicks)
    select booking_id, $3, count(*) filter (where kind = 0), count(*) filter (where kind = 1)
    from added group by booking_id order by booking_id collate "C"
    on conflict (booking_id, day) do update
        set impressions = counts.impressions + excluded.impressions, clicks = counts.clicks + excluded.clicks
)
select exists (select from batch) as recorded, (select string_agg(key, '') from added) as added

-- name: windows
-- When the placements of bookings are shown. Null if a booking is unpaid, disputed, not approved, or has lost its weeks.
select bookings.id, weeks,
    case when bookings.status = 'paid' and not disputed and campaigns.status = 'approved'
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
