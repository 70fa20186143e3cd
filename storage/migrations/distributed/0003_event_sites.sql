-- Distributes the counts by website beside the other counts. The table of websites stays on the coordinator.
-- works with: 10002

drop view site_deliveries;
alter table event_site_counts set schema undistributed;
alter function count_event_sites set schema undistributed;
alter function undistributed.count_event_sites set search_path = undistributed, public;

create table event_site_counts (like undistributed.event_site_counts including all) with (fillfactor = 50);
select create_distributed_table('event_site_counts', 'place', colocate_with => 'event_keys');

create view site_deliveries as
select event_bookings.id as booking_id, day, coalesce(host, 'other') as site, impressions, clicks
from undistributed.event_site_counts join event_bookings on event_bookings.number = booking
left join event_sites on event_sites.number = site
union all
select event_bookings.id as booking_id, day, coalesce(host, 'other') as site, impressions, clicks
from event_site_counts join event_bookings on event_bookings.number = booking
left join event_sites on event_sites.number = site;
comment on view site_deliveries is 'Impressions and clicks by booking, day and website, in parts to be added up.';

-- In the transaction of `record_new_events` or `record_events` and in the same place, whose check of the worker covers it.
create function count_event_sites(
    at_place smallint, on_day integer, of_bookings integer[], of_sites integer[], of_impressions bigint[], of_clicks bigint[]
) returns boolean language plpgsql as $$
declare
    counted text;
begin
    if is_undistributed(on_day) then
        return undistributed.count_event_sites(at_place, on_day, of_bookings, of_sites, of_impressions, of_clicks);
    end if;
    counted := (
        select string_agg(
            format('(%s, %s, %s, %s, %s, %s)', at_place, booking, on_day, site, impressions, clicks), ', ' order by booking, site
        )
        from unnest(of_bookings, of_sites, of_impressions, of_clicks) as counted (booking, site, impressions, clicks)
    );
    if counted is not null then
        execute 'insert into event_site_counts as counts (place, booking, day, site, impressions, clicks) values ' || counted
            || ' on conflict (place, booking, day, site) do update set impressions = counts.impressions + excluded.impressions,'
            || ' clicks = counts.clicks + excluded.clicks';
    end if;
    return true;
end
$$;
comment on function count_event_sites is 'Adds events to the counts of bookings by website.';

create or replace function remove_event_site_counts(of_bookings text[]) returns void language plpgsql as $$
declare
    numbers integer[] := array(select number from event_bookings where id = any (of_bookings));
begin
    lock table undistributed.event_site_counts in share row exclusive mode;
    lock table event_site_counts in share row exclusive mode;
    delete from undistributed.event_site_counts where booking = any (numbers);
    delete from event_site_counts where booking = any (numbers);
end
$$;
