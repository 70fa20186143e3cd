-- The view of counts by website of a distributed database, with the number of their booking.
-- works with: 10004

create or replace view site_deliveries as
select event_bookings.id as booking_id, day, coalesce(host, 'other') as site, impressions, clicks, booking
from undistributed.event_site_counts join event_bookings on event_bookings.number = booking
left join event_sites on event_sites.number = site
union all
select event_bookings.id as booking_id, day, coalesce(host, 'other') as site, impressions, clicks, booking
from event_site_counts join event_bookings on event_bookings.number = booking
left join event_sites on event_sites.number = site;
