-- A batch that contains known keys is one statement, like any other. It writes which they were, so that another attempt, whose
-- first one has lost its result, returns the same.
-- works with: 27

-- A distributed table takes this one shard after the other, and as a query by itself, whose text Citus sends to the workers.
set local citus.multi_shard_modify_mode = 'sequential';
do $$
begin
    execute 'alter table event_journal add column known integer[], add column known_seq bigint';
end
$$;
comment on column event_journal.known is 'The positions, from 1, of the keys of batch known_seq that were known before it.';

create function record_event_batch(
    at_place smallint, by_owner text, as_seq bigint, on_day integer, of_bookings integer[], of_clicks boolean[], of_keys bytea[],
    of_sites integer[]
) returns integer[] language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    added bytea := record_events(at_place, by_owner, as_seq, on_day, of_bookings, of_clicks, of_keys);
    known_positions integer[];
begin
    if added is null then
        return (select known from event_journal where place = at_place and owner = by_owner and known_seq = as_seq);
    end if;
    if length(added) < (select sum(length(keys)) from unnest(of_keys) as keys) then
        known_positions := array(
            select position
            from (
                select substring(keys from at * 16 + 1 for 16) as key, row_number() over (order by number, at) as position
                from unnest(of_keys) with ordinality as groups (keys, number), generate_series(0, length(keys) / 16 - 1) as at
            ) as offered
            where key not in (
                select substring(added from at * 16 + 1 for 16) from generate_series(0, length(added) / 16 - 1) as at
            )
        );
        update event_journal set known = known_positions, known_seq = as_seq where place = at_place and owner = by_owner;
    end if;
    if of_sites <> '{}' then
        perform count_event_sites(at_place, on_day, array_agg(booking), array_agg(site), array_agg(impressions), array_agg(clicks))
        from (
            select booking, site, count(*) filter (where not click) as impressions, count(*) filter (where click) as clicks
            from (
                select booking, click, row_number() over (order by number, at) as position
                from unnest(of_bookings, of_clicks, of_keys) with ordinality as groups (booking, click, keys, number),
                    generate_series(0, length(keys) / 16 - 1) as at
            ) as offered
            join unnest(of_sites) with ordinality as sites (site, position) using (position)
            where position not in (select unnest(known_positions))
            group by booking, site
            order by booking, site
        ) as counted;
    end if;
    return known_positions;
end
$$;
comment on function record_event_batch is
    'Records those keys of a batch that are new, and counts them by website if it has any. Returns the positions of the known ones.';
