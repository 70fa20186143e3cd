-- What a distributed database says of itself, read at its coordinator.

-- name: engine
-- Whether the Citus extension exists.
select to_regproc('citus_version') is not null

-- name: version
-- The version text of the Citus extension.
select citus_version()

-- name: is_distributed
-- Whether all event tables are distributed.
select bool_and(exists (select from pg_dist_partition where logicalrelid = to_regclass(name)))
from unnest(array['event_keys', 'event_counts', 'event_journal', 'event_site_counts']) as name

-- name: since
-- The first day whose events are distributed.
select since from event_distribution

-- name: places
-- The worker of each place, and its address.
select place, placement.groupid as worker, nodename as host, nodeport as port
from generate_series(0, 255) as place
join pg_dist_placement as placement on shardid = get_shard_id_for_distribution_column('event_keys', place::smallint)
join pg_dist_node as node on node.groupid = placement.groupid and noderole = 'primary'
order by place

-- name: lacks
-- A function for recording events that this server does not have, or that the role may not call. Null if there is none.
select min(name) from unnest(array[
    'record_new_events', 'record_events', 'record_event_batch', 'require_local_places', 'count_event_sites'
]) as name
where not coalesce((
    select bool_and(has_function_privilege(oid, 'execute')) from pg_proc
    where proname = name and pronamespace = 'public'::regnamespace
), false)

-- name: prepared_seconds
-- The age of the oldest prepared transaction of this server, in seconds.
select coalesce(extract(epoch from now() - min(prepared)), 0)::float8 from pg_prepared_xacts
