-- Distributes the events by place. All else stays on the coordinator. The functions that record a batch run on the worker
-- that holds its places, and use what Citus keeps local there: a batch is one commit of one server.

-- Days before `since` stay where they are, so that their events are compared with all keys of their day. `distribute` moves
-- the keys of a day later, when no event of it arrives any more. Counts stay, which are small.
create schema undistributed;

create table event_distribution (since integer not null);
create unique index event_distribution_has_one_row on event_distribution ((true));
comment on table event_distribution is 'The first day whose events are distributed. Those of earlier days are in the schema undistributed.';

insert into event_distribution
select case when exists (select from tenants) or exists (select from nodes) or exists (select from event_counts)
    then extract(epoch from now())::bigint / 86400 + 2 else 0 end;

create table event_moves (
    day integer primary key,
    place integer not null default 0,
    after bytea not null default '',
    moved bigint not null default 0
);
comment on table event_moves is 'How far the keys of a day were copied to the workers: all before this place, and in it up to this key.';

create table event_pace (paused boolean not null, keys_per_second integer not null check (keys_per_second > 0));
create unique index event_pace_has_one_row on event_pace ((true));
insert into event_pace values (false, 20000);
comment on table event_pace is 'Whether keys are moved to the workers, and how fast.';

drop view deliveries;

do $$
declare
    since integer := (select since from event_distribution);
    made record;
begin
    for made in
        select relname, substring(relname from '[0-9]+$')::int >= since as empty
        from pg_inherits join pg_class on pg_class.oid = inhrelid where inhparent = 'event_keys'::regclass
    loop
        if made.empty then
            execute format('drop table %I', made.relname);
        else
            execute format('alter table %I set schema undistributed', made.relname);
        end if;
    end loop;
end
$$;

alter table event_keys set schema undistributed;
alter table event_counts set schema undistributed;
alter table event_journal set schema undistributed;
alter function record_new_events set schema undistributed;
alter function undistributed.record_new_events set search_path = undistributed, public;
alter function record_events set schema undistributed;
alter function undistributed.record_events set search_path = undistributed, public;

create table event_keys (like undistributed.event_keys including all) partition by list (day);
create table event_counts (like undistributed.event_counts including all) with (fillfactor = 50);
create table event_journal (like undistributed.event_journal including all) with (fillfactor = 50);

select create_distributed_table('event_keys', 'place', colocate_with => 'none');
select create_distributed_table('event_counts', 'place', colocate_with => 'event_keys');
select create_distributed_table('event_journal', 'place', colocate_with => 'event_keys');

create view deliveries as
select booking_id, day, impressions, clicks from delivery_days
union all
select event_bookings.id, day, impressions, clicks
from undistributed.event_counts join event_bookings on number = booking
union all
select event_bookings.id, day, impressions, clicks from event_counts join event_bookings on number = booking;
comment on view deliveries is 'Impressions and clicks by booking and day, in parts to be added up.';

create or replace function remove_event_counts(of_bookings text[]) returns void language plpgsql as $$
declare
    numbers integer[] := array(select number from event_bookings where id = any (of_bookings));
begin
    lock table undistributed.event_counts in share row exclusive mode;
    lock table event_counts in share row exclusive mode;
    delete from undistributed.event_counts where booking = any (numbers);
    delete from event_counts where booking = any (numbers);
end
$$;

-- Whether a day is not distributed. Workers have none of these, and no table that tells.
create function is_undistributed(of_day integer) returns boolean language plpgsql stable as $$
begin
    if (select groupid from pg_dist_local_group) <> 0 then
        return false;
    end if;
    return of_day < (select since from event_distribution);
end
$$;

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

create function record_new_events(
    at_place smallint, by_owner text, as_seq bigint, on_day integer, of_bookings integer[], of_clicks boolean[], of_keys bytea[]
) returns boolean language plpgsql as $$
declare
    counted record;
begin
    if is_undistributed(on_day) then
        return undistributed.record_new_events(at_place, by_owner, as_seq, on_day, of_bookings, of_clicks, of_keys);
    end if;
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

create function record_events(
    at_place smallint, by_owner text, as_seq bigint, on_day integer, of_bookings integer[], of_clicks boolean[], of_keys bytea[]
) returns bytea language plpgsql as $$
declare
    added record;
    counted record;
    added_keys bytea[] := '{}';
    added_bookings integer[] := '{}';
    added_clicks boolean[] := '{}';
begin
    if is_undistributed(on_day) then
        return undistributed.record_events(at_place, by_owner, as_seq, on_day, of_bookings, of_clicks, of_keys);
    end if;
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
