-- The counts of a distributed database without those of the first layout, which are in `undistributed.event_counts` now.
-- works with: 10003

alter function count_days set search_path = undistributed, public;

create or replace view deliveries as
select id as booking_id, day, impressions, clicks from undistributed.event_counts join event_bookings on number = booking
union all
select id as booking_id, day, impressions, clicks from event_counts join event_bookings on number = booking;
