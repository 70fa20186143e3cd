-- Events in distributed tables. Each writing statement touches one shard and uses only what Citus allows there:
-- immutable functions in `do update`, and no writing common table expressions.

-- name: record_batch
-- Lock the deduper's row in the shard of `place` and advance it to this batch. No row means that this batch or a later
-- one has already committed in this shard.
insert into event_turns (place, owner, seq) values ($1, $2, $3)
on conflict (place, owner) do update set seq = excluded.seq, written_at = excluded.written_at
    where event_turns.seq < excluded.seq
returning seq

-- name: insert
-- Insert the keys that are new on this day, packed as on one Postgres, and return them.
insert into events (booking_id, day, key, kind)
select booking_id, $1, substring(keys from at * 16 + 1 for 16), get_byte(kinds, at)
from unnest($2::text[], $3::bytea[], $4::bytea[]) as offered (booking_id, keys, kinds), generate_series(0, length(kinds) - 1) as at
on conflict do nothing
returning key

-- name: count
-- Add to the counts of bookings, which are sorted.
insert into delivery_days (booking_id, day, impressions, clicks)
select booking_id, $1, impressions, clicks
from unnest($2::text[], $3::bigint[], $4::bigint[]) as added (booking_id, impressions, clicks)
on conflict (booking_id, day) do update
    set impressions = delivery_days.impressions + excluded.impressions, clicks = delivery_days.clicks + excluded.clicks

-- name: prune
-- Delete the rows of dedupers that ended long ago.
delete from event_turns where written_at < now() - interval '1 day'

-- name: engine
-- Whether the Citus extension exists.
select to_regproc('citus_version') is not null

-- name: version
-- The version text of the Citus extension.
select citus_version()

-- name: shards
-- The hash ranges of the shards, and the worker of each.
select shardid as id, shardminvalue::int as first, shardmaxvalue::int as last, min(groupid) as worker
from pg_dist_shard join pg_dist_placement using (shardid)
where logicalrelid = 'events'::regclass group by 1, 2, 3 order by 2

-- name: shards_of
-- The shard that Citus assigns to each of some texts, in order.
select get_shard_id_for_distribution_column('events', probe) as id
from unnest($1::text[]) with ordinality as probes (probe, place) order by place
