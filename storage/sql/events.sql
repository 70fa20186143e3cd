-- Keys of events, and what is delivered by day.

-- name: record
-- Take the turn; keep the keys that the day does not have yet, in the order of the primary key; add them to their
-- bookings' counts. One row: whether the turn was taken, and the keys that were added.
with turn as (
    insert into journal (owner, seq) values ($1, $2)
    on conflict (owner) do update set seq = excluded.seq, written_at = now() where journal.seq < excluded.seq
    returning seq
), added as (
    insert into events (booking_id, day, key, kind)
    select booking_id, $3, key, kind from unnest($4::text[], $5::bytea[], $6::smallint[]) as offered (booking_id, key, kind)
    where exists (select from turn)
    order by booking_id collate "C", key
    on conflict do nothing
    returning booking_id, key, kind
), counted as (
    insert into delivery_days as counts (booking_id, day, impressions, clicks)
    select booking_id, $3, count(*) filter (where kind = 0), count(*) filter (where kind = 1)
    from added group by booking_id order by booking_id collate "C"
    on conflict (booking_id, day) do update
        set impressions = counts.impressions + excluded.impressions, clicks = counts.clicks + excluded.clicks
)
select exists (select from turn) as taken, array(select key from added) as added

-- name: windows
-- When the placements of bookings are shown: null where a booking is not paid for, not approved, or lost its weeks.
select bookings.id, weeks,
    case when bookings.status = 'paid' and campaigns.status = 'approved'
        and weeks = (select count(*) from slot_weeks where booking_id = bookings.id) then week_start_ms end as start_ms
from bookings join campaigns on campaigns.id = bookings.campaign_id
where bookings.id = any ($1::text[])

-- name: partitions
-- The days that have a partition.
select substring(relname from '[0-9]+$')::int as day
from pg_inherits join pg_class on pg_class.oid = inhrelid
where inhparent = 'events'::regclass and relname ~ '^events_[0-9]+$' order by day
