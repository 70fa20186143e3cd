-- Counts by website with the number of their booking, by which those of samples are left out; and the index of the newest mails.
-- works with: 27

do $$
begin
    -- A distributed database has a view of its own, which its own migrations replace.
    if to_regnamespace('undistributed') is null then
        -- The joins are outer ones, so that sums by website need not read the ids of all bookings.
        create or replace view site_deliveries as
        select event_bookings.id as booking_id, day, coalesce(host, 'other') as site, impressions, clicks, booking
        from event_site_counts left join event_bookings on event_bookings.number = booking
        left join event_sites on event_sites.number = site;
    end if;
end
$$;

create index outbox_newest on outbox (created_ms desc, id desc);
