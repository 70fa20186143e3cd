-- Moves the counts of the days before the switch from `delivery_days` to `event_counts`, where those of all later days are.
-- works with: 27

do $$
declare
    since integer := (select since from event_switch);
begin
    -- Until then nodes of 1.1 compare events with the keys in `events`. Their clocks may differ by minutes, so the day of the
    -- switch has to be over.
    if since >= extract(epoch from now())::bigint / 86400 then
        raise exception 'the events of this database move to their new tables on % (UTC): run release 1.1 until the day after',
            to_char(to_timestamp(since * 86400::bigint) at time zone 'utc', 'YYYY-MM-DD');
    end if;
end
$$;

create function count_days(of_bookings text[], of_days integer[], of_impressions bigint[], of_clicks bigint[])
returns void language plpgsql as $$
begin
    insert into event_bookings (id) select distinct id from unnest(of_bookings) as id order by id on conflict do nothing;
    insert into event_counts as counts (place, booking, day, impressions, clicks)
    select 0, number, day, impressions, clicks
    from unnest(of_bookings, of_days, of_impressions, of_clicks) as counted (booking_id, day, impressions, clicks)
        join event_bookings on id = booking_id
    order by number, day
    on conflict (place, booking, day) do update
        set impressions = counts.impressions + excluded.impressions, clicks = counts.clicks + excluded.clicks;
end
$$;
comment on function count_days is 'Adds to the counts of bookings by day, without keys. No booking has a day twice.';

do $$
begin
    -- Where a distributed database keeps the counts of the days before it was distributed.
    if to_regnamespace('undistributed') is not null then
        alter function count_days set search_path = undistributed, public;
    end if;
end
$$;

-- Nodes of 1.1 insert the counts of a new demo into `delivery_days`.
create function count_delivery_day() returns trigger language plpgsql as $$
begin
    perform count_days(array[new.booking_id], array[new.day], array[new.impressions], array[new.clicks]);
    return null;
end
$$;
create trigger count_delivery_day before insert on delivery_days for each row execute function count_delivery_day();
comment on table delivery_days is 'Empty. Nodes of 1.1 insert here; a trigger counts it in event_counts. 1.3 removes it.';

select count_days(array_agg(booking_id), array_agg(day), array_agg(impressions), array_agg(clicks)) from delivery_days;
delete from delivery_days;
