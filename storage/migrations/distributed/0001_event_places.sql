-- Distributes the events by place. All else stays on the coordinator. The functions that record a batch run on the worker
-- that holds its places, and use what Citus keeps local there: a batch is one commit of one server.

-- One connection at a time moves the rows of a table, so that the next table can follow.
set local citus.multi_shard_modify_mode = 'sequential';

select create_distributed_table('event_keys', 'place', colocate_with => 'none');
select create_distributed_table('event_counts', 'place', colocate_with => 'event_keys');
select create_distributed_table('event_journal', 'place', colocate_with => 'event_keys');

-- A shard may move after a node has read where it lies. Once a batch has written, it holds locks that a move waits for, so
-- what the catalog says then holds until the commit.
create function require_local_places(at_place smallint, of_keys bytea[]) returns void language plpgsql as $$
begin
    if exists (
        select from (
            select at_place as place
            union
            select get_byte(keys, at * 16)::smallint from unnest(of_keys) as keys, generate_series(0, length(keys) / 16 - 1) as at
        ) as used
        where not exists (
            select from pg_dist_placement
            where shardid = get_shard_id_for_distribution_column('event_keys', place)
                and groupid = (select groupid from pg_dist_local_group)
        )
    ) then
        raise exception using errcode = 'CTG01', message = 'a place of this batch is on another worker';
    end if;
end
$$;

create function add_event_counts(at_place smallint, on_day integer, of_bookings integer[], of_impressions bigint[], of_clicks bigint[])
returns void language plpgsql as $$
declare
    counted text := (
        select string_agg(format('(%s, %s, %s, %s, %s)', at_place, booking, on_day, impressions, clicks), ', ' order by booking)
        from unnest(of_bookings, of_impressions, of_clicks) as counted (booking, impressions, clicks)
    );
begin
    if counted is not null then
        execute 'insert into event_counts as counts (place, booking, day, impressions, clicks) values ' || counted
            || ' on conflict (place, booking, day) do update set impressions = counts.impressions + excluded.impressions,'
            || ' clicks = counts.clicks + excluded.clicks';
    end if;
end
$$;

create or replace function record_new_events(
    at_place smallint, by_owner text, as_seq bigint, on_day integer, of_bookings integer[], of_clicks boolean[], of_keys bytea[]
) returns boolean language plpgsql as $$
declare
    counted record;
begin
    insert into event_journal as journal (place, owner, seq) values (at_place, by_owner, as_seq)
    on conflict (place, owner) do update set seq = excluded.seq, written_at = excluded.written_at
        where journal.seq < excluded.seq;
    if not found then
        return false;
    end if;
    select array_agg(booking) as bookings, array_agg(impressions) as impressions, array_agg(clicks) as clicks, sum(events) as events
    into counted
    from (
        select booking, sum(length(keys) / 16) as events,
            sum(case when click then 0 else length(keys) / 16 end)::bigint as impressions,
            sum(case when click then length(keys) / 16 else 0 end)::bigint as clicks
        from unnest(of_bookings, of_clicks, of_keys) as offered (booking, click, keys) group by booking
    ) as offered;
    -- Citus inserts the rows of a query by COPY, which costs more than VALUES for few rows and much less for many.
    if counted.events <= 80 then
        execute 'insert into event_keys (day, booking, place, click, key) values ' || (
            select string_agg(
                format('(%s, %s, %s, %L, %L)', on_day, booking, get_byte(keys, at * 16), click, substring(keys from at * 16 + 1 for 16)),
                ', ' order by number, at
            )
            from unnest(of_bookings, of_clicks, of_keys) with ordinality as offered (booking, click, keys, number),
                generate_series(0, length(keys) / 16 - 1) as at
        );
    elsif counted.events > 80 then
        insert into event_keys (day, booking, place, click, key)
        select on_day, booking, get_byte(keys, at * 16), click, substring(keys from at * 16 + 1 for 16)
        from unnest(of_bookings, of_clicks, of_keys) as offered (booking, click, keys),
            generate_series(0, length(keys) / 16 - 1) as at;
    end if;
    perform add_event_counts(at_place, on_day, counted.bookings, counted.impressions, counted.clicks);
    perform require_local_places(at_place, of_keys);
    return true;
end
$$;

create or replace function record_events(
    at_place smallint, by_owner text, as_seq bigint, on_day integer, of_bookings integer[], of_clicks boolean[], of_keys bytea[]
) returns bytea language plpgsql as $$
declare
    added record;
    counted record;
    added_keys bytea[] := '{}';
    added_bookings integer[] := '{}';
    added_clicks boolean[] := '{}';
begin
    insert into event_journal as journal (place, owner, seq) values (at_place, by_owner, as_seq)
    on conflict (place, owner) do update set seq = excluded.seq, written_at = excluded.written_at
        where journal.seq < excluded.seq;
    if not found then
        return null;
    end if;
    for added in
        insert into event_keys (day, booking, place, click, key)
        select on_day, booking, get_byte(keys, at * 16), click, substring(keys from at * 16 + 1 for 16)
        from unnest(of_bookings, of_clicks, of_keys) as offered (booking, click, keys),
            generate_series(0, length(keys) / 16 - 1) as at
        on conflict do nothing
        returning booking, click, key
    loop
        added_keys := added_keys || added.key;
        added_bookings := added_bookings || added.booking;
        added_clicks := added_clicks || added.click;
    end loop;
    select array_agg(booking) as bookings, array_agg(impressions) as impressions, array_agg(clicks) as clicks into counted
    from (
        select booking, count(*) filter (where not click) as impressions, count(*) filter (where click) as clicks
        from unnest(added_bookings, added_clicks) as added (booking, click) group by booking
    ) as offered;
    perform add_event_counts(at_place, on_day, counted.bookings, counted.impressions, counted.clicks);
    perform require_local_places(at_place, of_keys);
    return coalesce((select string_agg(key, '') from unnest(added_keys) as key), '');
end
$$;
