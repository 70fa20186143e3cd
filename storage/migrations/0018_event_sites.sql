-- Counts of events by the website that sent them, beside those by booking and day, where events.count_sites is on.
-- works with: 14

create table event_sites (
    number integer generated always as identity primary key,
    host text collate "C" not null unique check (length(host) between 1 and 253),
    named boolean not null default false
);
comment on table event_sites is 'The websites that are counted by name. All others are number 0, which has no row.';
comment on column event_sites.named is 'Whether the configuration names it. Others have earned their place, which is limited.';

create table event_site_counts (
    booking integer not null,
    day integer not null,
    site integer not null,
    impressions bigint not null,
    clicks bigint not null,
    place smallint not null,
    primary key (place, booking, day, site)
) with (fillfactor = 50);
create index event_site_counts_by_booking on event_site_counts (booking);
create index event_site_counts_by_day on event_site_counts (day);
comment on table event_site_counts is 'event_counts by website. For a booking and a day, the sites add up to what was counted with the setting on.';

create view site_deliveries as
select event_bookings.id as booking_id, day, coalesce(host, 'other') as site, impressions, clicks
from event_site_counts join event_bookings on event_bookings.number = booking
left join event_sites on event_sites.number = site;
comment on view site_deliveries is 'Impressions and clicks by booking, day and website, in parts to be added up.';

-- Part of the transaction that records the events. Rows come in the order of booking and site, so that batches do not deadlock.
create function count_event_sites(
    at_place smallint, on_day integer, of_bookings integer[], of_sites integer[], of_impressions bigint[], of_clicks bigint[]
) returns boolean language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
    insert into event_site_counts as counts (place, booking, day, site, impressions, clicks)
    select at_place, booking, on_day, site, impressions, clicks
    from unnest(of_bookings, of_sites, of_impressions, of_clicks) as counted (booking, site, impressions, clicks)
    on conflict (place, booking, day, site) do update
        set impressions = counts.impressions + excluded.impressions, clicks = counts.clicks + excluded.clicks;
    return true;
end
$$;
comment on function count_event_sites is 'Adds events to the counts of bookings by website.';

create function remove_event_site_counts(of_bookings text[]) returns void language plpgsql as $$
begin
    -- After `remove_event_counts`, whose lock batches wait for first.
    lock table event_site_counts in share row exclusive mode;
    delete from event_site_counts where booking = any (array(select number from event_bookings where id = any (of_bookings)));
end
$$;
comment on function remove_event_site_counts is 'Deletes what events have added to the counts of bookings by website.';
