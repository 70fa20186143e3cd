-- Delivery reports, and what past bookings reached. Counts lie on other servers of a distributed database.

-- name: bookings_delivered
-- A page of one account's bookings that were paid, begin before $5 and have weeks from the week $6 on, oldest first, with the
-- campaign's name. Those of n weeks begin less than n weeks before it.
with touched as materialized (
    select id, created_ms from bookings
    where tenant_id = $4 and paid_ms is not null and week_start_ms < $5 and week_start_ms >= $6
    union all
    select longer.id, longer.created_ms from generate_series(1, 51) as before cross join lateral (
        select id, created_ms from bookings where tenant_id = $4 and paid_ms is not null
            and week_start_ms = $6 - before * 604800000::bigint and weeks > before offset 0
    ) as longer
), page as materialized (
    select id from touched where (created_ms, id) > ($1, $2) order by created_ms, id limit $3
)
select bookings.*, campaigns.name as campaign_name
from page join bookings using (id) join campaigns on campaigns.id = bookings.campaign_id
order by bookings.created_ms, bookings.id

-- name: days_run
-- The days that those bookings bought from day $4 to the end of day $5, and how many bookings; reads at most $6 of them.
select count(*) as bookings, coalesce(sum(days), 0)::bigint as days
from (
    select greatest(
        0, least((week_start_ms + weeks * 604800000::bigint) / 86400000, $5 + 1)
            - greatest(week_start_ms / 86400000, created_ms / 86400000, $4)
    ) as days
    from (
        select week_start_ms, weeks, created_ms from bookings
        where tenant_id = $1 and paid_ms is not null and week_start_ms < $2 and week_start_ms >= $3
        union all
        select longer.week_start_ms, longer.weeks, longer.created_ms from generate_series(1, 51) as before cross join lateral (
            select week_start_ms, weeks, created_ms from bookings where tenant_id = $1 and paid_ms is not null
                and week_start_ms = $3 - before * 604800000::bigint and weeks > before offset 0
        ) as longer
    ) as touched
    limit $6
) as runs

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
