-- Events on distributed tables. Each statement that writes touches one shard, and none calls what the engine would not take
-- there: no function but immutable ones in `do update`, no common table expression that writes.

-- name: take
-- Lock the deduper's row in the shard where `place` lies and move it to this turn. No row: this turn, or a later one, was
-- committed there before.
insert into event_turns (place, owner, seq) values ($1, $2, $3)
on conflict (place, owner) do update set seq = excluded.seq, written_at = excluded.written_at
    where event_turns.seq < excluded.seq
returning seq

-- name: keep
-- Keep the keys that the day does not have yet, packed as for one Postgres; says which they are.
insert into events (booking_id, day, key, kind)
select booking_id, $1, substring(keys from at * 16 + 1 for 16), get_byte(kinds, at)
from unnest($2::text[], $3::bytea[], $4::bytea[]) as offered (booking_id, keys, kinds), generate_series(0, length(kinds) - 1) as at
on conflict do nothing
returning key

-- name: count
-- Add to the counts of bookings, which come sorted.
insert into delivery_days (booking_id, day, impressions, clicks)
select booking_id, $1, impressions, clicks
from unnest($2::text[], $3::bigint[], $4::bigint[]) as added (booking_id, impressions, clicks)
on conflict (booking_id, day) do update
    set impressions = delivery_days.impressions + excluded.impressions, clicks = delivery_days.clicks + excluded.clicks

-- name: forget
-- Drop the rows of dedupers that ended long ago.
delete from event_turns where written_at < now() - interval '1 day'

-- name: engine
-- Whether the extension is there.
select to_regproc('citus_version') is not null

-- name: version
-- What the extension says of itself: its name, its version, and more.
select citus_version()

-- name: shards
-- The ranges of hashes that the shards hold, and on which worker they lie.
select shardid as id, shardminvalue::int as first, shardmaxvalue::int as last, min(groupid) as worker
from pg_dist_shard join pg_dist_placement using (shardid)
where logicalrelid = 'events'::regclass group by 1, 2, 3 order by 2

-- name: shards_of
-- In which shard the engine would look for each of some texts, in order.
select get_shard_id_for_distribution_column('events', probe) as id
from unnest($1::text[]) with ordinality as probes (probe, place) order by place
