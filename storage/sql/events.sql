-- Keys of events, and what is delivered by day.

-- name: record
-- Take the turn; keep the keys that the day does not have yet; add them to their bookings' counts. Bookings come sorted, each
-- with its keys, sorted too, in one piece of 16 bytes a key, and their kinds in one of a byte a key: rows are kept in the
-- order of the primary key. One row: whether the turn was taken, and the keys that were added, in one piece.
with turn as (
    insert into journal (owner, seq) values ($1, $2)
    on conflict (owner) do update set seq = excluded.seq, written_at = now() where journal.seq < excluded.seq
    returning seq
), added as (
    insert into events (booking_id, day, key, kind)
    select booking_id, $3, substring(keys from at * 16 + 1 for 16), get_byte(kinds, at)
    from unnest($4::text[], $5::bytea[], $6::bytea[]) as offered (booking_id, keys, kinds), generate_series(0, length(kinds) - 1) as at
    where exists (select from turn)
    on conflict do nothing
    returning booking_id, key, kind
), counted as (
    insert into delivery_days as counts (booking_id, day, impressions, clicks)
    select booking_id, $3, count(*) filter (where kind = 0), count(*) filter (where kind = 1)
    from added group by booking_id order by booking_id collate "C"
    on conflict (booking_id, day) do update
        set impressions = counts.impressions + excluded.impressions, clicks = counts.clicks + excluded.clicks
)
select exists (select from turn) as taken, (select string_agg(key, '') from added) as added

-- name: record_new
-- The same where the day has none of the keys, else a unique violation: what may meet no conflict costs a third less.
with turn as (
    insert into journal (owner, seq) values ($1, $2)
    on conflict (owner) do update set seq = excluded.seq, written_at = now() where journal.seq < excluded.seq
    returning seq
), added as (
    insert into events (booking_id, day, key, kind)
    select booking_id, $3, substring(keys from at * 16 + 1 for 16), get_byte(kinds, at)
    from unnest($4::text[], $5::bytea[], $6::bytea[]) as offered (booking_id, keys, kinds), generate_series(0, length(kinds) - 1) as at
    where exists (select from turn)
    returning booking_id, kind
), counted as (
    insert into delivery_days as counts (booking_id, day, impressions, clicks)
    select booking_id, $3, count(*) filter (where kind = 0), count(*) filter (where kind = 1)
    from added group by booking_id order by booking_id collate "C"
    on conflict (booking_id, day) do update
        set impressions = counts.impressions + excluded.impressions, clicks = counts.clicks + excluded.clicks
)
select exists (select from turn) as taken

-- name: windows
-- When the placements of bookings are shown: null where a booking is not paid for, not approved, or lost its weeks.
select bookings.id, weeks,
    case when bookings.status = 'paid' and campaigns.status = 'approved'
        and weeks = (select count(*) from slot_weeks where booking_id = bookings.id) then week_start_ms end as start_ms
from bookings join campaigns on campaigns.id = bookings.campaign_id
where bookings.id = any ($1::text[])

-- name: is_there
-- Whether a day has its partition, by a snapshot of this moment: what looks names up may remember one that is gone.
select exists (select from pg_inherits join pg_class on pg_class.oid = inhrelid where inhparent = 'events'::regclass and relname = $1)

-- name: partitions
-- The days that have a partition.
select substring(relname from '[0-9]+$')::int as day
from pg_inherits join pg_class on pg_class.oid = inhrelid
where inhparent = 'events'::regclass and relname ~ '^events_[0-9]+$' order by day
