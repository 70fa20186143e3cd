-- Events by place: the first byte of a key, by which a large service distributes keys, counts and journal. Rows are smaller
-- than those of `events`, and a booking's events spread over all places.

create table event_bookings (
    id text collate "C" primary key,
    number integer generated always as identity unique
);
comment on table event_bookings is 'The number under which events know a booking.';

create table event_keys (
    day integer not null,
    booking integer not null,
    place smallint not null,
    click boolean not null,
    key bytea not null,
    primary key (place, key, day)
) partition by list (day);
comment on table event_keys is 'One row an event. A partition a day; the service makes and drops them.';
comment on column event_keys.place is 'The first byte of the key.';
comment on column event_keys.key is 'A hash of booking, kind, hour and visitor, keyed with a secret of the day.';

create table event_counts (
    booking integer not null,
    day integer not null,
    impressions bigint not null,
    clicks bigint not null,
    place smallint not null,
    primary key (place, booking, day)
) with (fillfactor = 50);
create index event_counts_by_booking on event_counts (booking);
comment on table event_counts is 'What the keys of a booking and a day add up to: the sum over all places.';

create table event_journal (
    place smallint not null,
    owner text not null,
    seq bigint not null,
    written_at timestamptz not null default now(),
    primary key (place, owner)
) with (fillfactor = 50);
comment on table event_journal is 'The last batch that each owner has committed in a place.';

-- Until the day of the switch, events of a database that was used before go on to `events` and `delivery_days`, so that they
-- are still compared with the keys of their day, also by nodes of the previous version.
create table event_switch (
    since integer not null
);
create unique index event_switch_has_one_row on event_switch ((true));
comment on table event_switch is 'The first day (UTC, since the epoch) whose events are in event_keys.';

insert into event_switch
select case
    when exists (select from tenants) or exists (select from delivery_days) or exists (select from nodes)
    then extract(epoch from now())::bigint / 86400 + 2 else 0 end;

do $$
declare
    switch integer := (select since from event_switch);
    made record;
begin
    for made in
        select relname from pg_inherits join pg_class on pg_class.oid = inhrelid
        where inhparent = 'events'::regclass and substring(relname from '[0-9]+$')::int >= switch
    loop
        execute format('drop table %I', made.relname);
    end loop;
    execute format('alter table events add constraint events_until_switch check (day < %s) not valid', switch);
end
$$;

create view deliveries as
select booking_id, day, impressions, clicks from delivery_days
union all
select event_bookings.id, day, impressions, clicks from event_counts join event_bookings on number = booking;
comment on view deliveries is 'Impressions and clicks by booking and day, in parts to be added up.';

-- A batch is the events of one day. It comes as groups with the same booking and kind, in this order, and each group with
-- its keys in one bytea of 16 bytes per key, in order: rows are inserted in the same order everywhere, so that batches do
-- not deadlock. Each function is a transaction by itself; the journal tells a second attempt that the first has committed.

create function record_new_events(
    at_place smallint, by_owner text, as_seq bigint, on_day integer, of_bookings integer[], of_clicks boolean[], of_keys bytea[]
) returns boolean language plpgsql as $$
begin
    insert into event_journal as journal (place, owner, seq) values (at_place, by_owner, as_seq)
    on conflict (place, owner) do update set seq = excluded.seq, written_at = excluded.written_at
        where journal.seq < excluded.seq;
    if not found then
        return false;
    end if;
    insert into event_keys (day, booking, place, click, key)
    select on_day, booking, get_byte(keys, at * 16), click, substring(keys from at * 16 + 1 for 16)
    from unnest(of_bookings, of_clicks, of_keys) as offered (booking, click, keys),
        generate_series(0, length(keys) / 16 - 1) as at;
    insert into event_counts as counts (place, booking, day, impressions, clicks)
    select at_place, booking, on_day, sum(case when click then 0 else length(keys) / 16 end),
        sum(case when click then length(keys) / 16 else 0 end)
    from unnest(of_bookings, of_clicks, of_keys) as offered (booking, click, keys) group by booking order by booking
    on conflict (place, booking, day) do update
        set impressions = counts.impressions + excluded.impressions, clicks = counts.clicks + excluded.clicks;
    return true;
end
$$;
comment on function record_new_events is 'Records a batch of new keys; a unique violation if one is known. False if it was recorded before.';

create function record_events(
    at_place smallint, by_owner text, as_seq bigint, on_day integer, of_bookings integer[], of_clicks boolean[], of_keys bytea[]
) returns bytea language plpgsql as $$
declare
    added record;
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
    insert into event_counts as counts (place, booking, day, impressions, clicks)
    select at_place, booking, on_day, count(*) filter (where not click), count(*) filter (where click)
    from unnest(added_bookings, added_clicks) as added (booking, click) group by booking order by booking
    on conflict (place, booking, day) do update
        set impressions = counts.impressions + excluded.impressions, clicks = counts.clicks + excluded.clicks;
    return coalesce((select string_agg(key, '') from unnest(added_keys) as key), '');
end
$$;
comment on function record_events is 'Records those keys of a batch that are new, and returns them; null if it was recorded before.';

create function remove_event_counts(of_bookings text[]) returns void language plpgsql as $$
begin
    -- Row locks could deadlock with batches.
    lock table event_counts in share row exclusive mode;
    delete from event_counts where booking = any (array(select number from event_bookings where id = any (of_bookings)));
end
$$;
comment on function remove_event_counts is 'Deletes what events have added to the counts of bookings.';
