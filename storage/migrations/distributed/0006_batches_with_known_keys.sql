-- Batches with known keys on workers: the function of the days before the distribution, and one for those after it. Its plans
-- depend on values, because Citus cannot plan the insert of `record_events` without them.
-- works with: 10005

alter table undistributed.event_journal add column if not exists known integer[], add column if not exists known_seq bigint;
alter function record_event_batch set schema undistributed;
alter function undistributed.record_event_batch set search_path = undistributed, public;

create function record_event_batch(
    at_place smallint, by_owner text, as_seq bigint, on_day integer, of_bookings integer[], of_clicks boolean[], of_keys bytea[],
    of_sites integer[]
) returns integer[] language plpgsql as $$
declare
    added bytea;
    known_positions integer[];
begin
    if is_undistributed(on_day) then
        return undistributed.record_event_batch(at_place, by_owner, as_seq, on_day, of_bookings, of_clicks, of_keys, of_sites);
    end if;
    added := record_events(at_place, by_owner, as_seq, on_day, of_bookings, of_clicks, of_keys);
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
