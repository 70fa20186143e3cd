-- Delivery reports, and what past bookings reached. Counts lie on other servers of a distributed database.

-- name: bookings_delivered
-- A page of one account's bookings that were paid, begin before $5 and have weeks from the week $6 on, of one campaign $7 and slot
-- $8 or of all, oldest first, with the campaign's name. Those of n weeks begin less than n weeks before it.
with touched as materialized (
    select id, created_ms from bookings
    where tenant_id = $4 and paid_ms is not null and week_start_ms < $5 and week_start_ms >= $6
        and campaign_id = coalesce($7, campaign_id) and slot_id = coalesce($8, slot_id)
    union all
    select longer.id, longer.created_ms from generate_series(1, 51) as before cross join lateral (
        select id, created_ms from bookings where tenant_id = $4 and paid_ms is not null
            and week_start_ms = $6 - before * 604800000::bigint and weeks > before
            and campaign_id = coalesce($7, campaign_id) and slot_id = coalesce($8, slot_id) offset 0
    ) as longer
), page as materialized (
    select id from touched where (created_ms, id) > ($1, $2) order by created_ms, id limit $3
)
select bookings.*, (select name from campaigns where campaigns.id = bookings.campaign_id) as campaign_name
from page cross join lateral (select * from bookings where id = page.id offset 0) as bookings
order by bookings.created_ms, bookings.id

-- name: runs
-- Those bookings of account $1 that begin before $2 and have weeks from the week $3 on, at most $4 of them, with the first and the
-- last day that they bought, and what was paid and not refunded.
with touched as materialized (
    select * from bookings where tenant_id = $1 and paid_ms is not null and week_start_ms < $2 and week_start_ms >= $3
    union all
    select longer.* from generate_series(1, 51) as before cross join lateral (
        select * from bookings where tenant_id = $1 and paid_ms is not null
            and week_start_ms = $3 - before * 604800000::bigint and weeks > before offset 0
    ) as longer
    order by created_ms, id limit $4
)
select id as booking_id, campaign_id, (select name from campaigns where campaigns.id = campaign_id) as campaign, slot_id,
    slot_name as slot, greatest(week_start_ms, created_ms) / 86400000 as first,
    (week_start_ms + weeks * 604800000::bigint) / 86400000 - 1 as last, coalesce(paid_currency, currency) as currency,
    greatest(0, coalesce(paid_cents, 0) - refunded_cents) as net_cents, mode
from touched

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
