-- Delivery reports, and what past bookings reached. Counts lie on other servers of a distributed database.

-- name: bookings_delivered
-- A page of one account's bookings that were paid and whose weeks touch a time, oldest first, with the campaign's name.
select bookings.*, campaigns.name as campaign_name
from bookings join campaigns on campaigns.id = bookings.campaign_id
where bookings.tenant_id = $4 and (bookings.created_ms, bookings.id) > ($1, $2) and paid_ms is not null
    and week_start_ms < $5 and week_start_ms + weeks * 604800000::bigint > $6
order by bookings.created_ms, bookings.id limit $3

-- name: days_delivered
-- Impressions and clicks of bookings by day, within days.
select booking_id, day, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks
from deliveries where booking_id = any ($1::text[]) and day between $2 and $3 group by booking_id, day order by booking_id, day

-- name: ended
-- The newest paid bookings of a mode that have ended, without those of the demo.
select id, slot_id, weeks from bookings
where status = 'paid' and not disputed and not demo and mode = $2
    and week_start_ms + weeks * 604800000::bigint <= $1
order by week_start_ms + weeks * 604800000::bigint desc, id limit $3
