-- What administrators read about the sponsorship area. `true` is where conditions of a filter follow.

-- name: bookings
-- A page of the bookings that match, with the names of campaign and sponsor.
with page as materialized (
    select * from bookings where (created_ms, id) < ($1, $2) /* conditions */
    order by created_ms desc, id desc limit $3
)
select page.*, campaigns.name as campaign_name, campaigns.status as campaign_status,
    (select name from sponsors where sponsors.tenant_id = page.tenant_id) as sponsor_name
from page cross join lateral (select name, status from campaigns where id = page.campaign_id offset 0) as campaigns
order by page.created_ms desc, page.id desc

-- name: tenants_of
-- The tenant with this id, or of the sponsor with this id.
select tenant_id from sponsors where id = $1 union select $1

-- name: bookings_named
-- The booking with this id, or that was paid with the payment with this id.
select id from bookings where id = $1 union select id from bookings where payment_id = $1 and not payment_shared

-- name: review_queue
-- The campaigns that wait for review, or whose edit does: paid ones by their first week, then held ones, then the others by age. $5 and $6 are
-- added to the time of those that are not paid. $7 is a search, null without one, and $8 the tenants that it names. The actions are constants, so that their index serves: a campaign can have
-- any number of records of edits.
with waiting as materialized (
    select id, coalesce(submitted_ms, created_ms) as since_ms,
        (select min(week_start_ms) from bookings where campaign_id = campaigns.id and status = 'paid'
            and week_start_ms + weeks * 604800000::bigint > $1) as paid_ms,
        (select min(week_start_ms) from bookings where campaign_id = campaigns.id and status in ('reserved', 'checkout')
            and hold_ms > $1) as held_ms
    from campaigns
    where (status = 'pending' or pending is not null) and (status = 'pending' or status in ('approved', 'paused'))
        and ($7::text is null or id = $7 or position(lower($7) in lower(name)) > 0
            or position(lower($7) in lower(target_url)) > 0 or tenant_id = any ($8::text[]))
), page as materialized (
    select id, coalesce(paid_ms, held_ms) as begins_ms, paid_ms is not null as paid,
        coalesce(paid_ms, held_ms + $5, since_ms + $6) as urgency
    from waiting where (coalesce(paid_ms, held_ms + $5, since_ms + $6), id) > ($2, $3) order by urgency, id limit $4
)
select campaigns.*, begins_ms, paid, sponsors.name as sponsor_name, accounts.email,
    (select count(*) from campaigns as own join audit on audit.target_id = own.id
        and action in ('campaign.approved', 'campaign.edit_approved')
        where own.tenant_id = campaigns.tenant_id) as approved,
    (select count(*) from campaigns as own join audit on audit.target_id = own.id
        and action in ('campaign.rejected', 'campaign.edit_rejected')
        where own.tenant_id = campaigns.tenant_id) as rejected
from page join campaigns on campaigns.id = page.id
left join sponsors on sponsors.tenant_id = campaigns.tenant_id
left join accounts on accounts.tenant_id = campaigns.tenant_id
order by urgency, campaigns.id

-- name: revenue
-- The payments of real bookings in some months (UTC), with what of them was refunded.
select month, currency, mode, payments, paid_cents, refunded_cents from revenue_months
where month >= revenue_month($1) and month < revenue_month($2) and payments > 0
order by month desc, currency, mode

-- name: sales
-- The payments of real bookings in a time by currency and mode, summed by slot and by account: the $3 of each for which most was
-- paid, and the others together, whose id is null.
with paid as materialized (
    select coalesce(paid_currency, currency) as currency, mode, slot_id, tenant_id, coalesce(paid_cents, amount_cents) as paid_cents,
        refunded_cents
    from bookings where paid_ms >= $1 and paid_ms < $2 and not demo
), summed as materialized (
    select currency, mode, false as of_sponsors, slot_id collate "C" as id, count(*) as payments,
        sum(paid_cents)::bigint as paid_cents, sum(refunded_cents)::bigint as refunded_cents
    from paid group by currency, mode, slot_id
    union all
    select currency, mode, true, tenant_id collate "C", count(*), sum(paid_cents)::bigint, sum(refunded_cents)::bigint
    from paid group by currency, mode, tenant_id
), named as materialized (
    select most.* from (select distinct currency, mode, of_sponsors from summed) as kinds cross join lateral (
        select * from summed
        where (currency, mode, of_sponsors) = (kinds.currency, kinds.mode, kinds.of_sponsors)
        order by paid_cents desc, id limit $3
    ) as most
), counted as (
    select *, 1 as sign from summed union all select *, -1 from named
), listed as (
    select currency, mode, of_sponsors, id, 1::bigint as number, payments, paid_cents, refunded_cents from named
    union all
    select currency, mode, of_sponsors, null, sum(sign), sum(sign * payments)::bigint, sum(sign * paid_cents)::bigint,
        sum(sign * refunded_cents)::bigint
    from counted group by currency, mode, of_sponsors having sum(sign) > 0
)
select currency, mode, of_sponsors, id,
    case when of_sponsors then (select name from sponsors where tenant_id = listed.id collate "default")
        else (select name from slots where slots.id = listed.id) end as name,
    number, payments, paid_cents, refunded_cents
from listed order by currency, mode, of_sponsors, id is null, paid_cents desc, id

-- name: booking_counts
-- The bookings in each state at $1, each counted no further than $2. Holds that have expired count in no state. The states are
-- constants, so that the planner knows which are rare.
select 'reserved' as status, (select count(*) from (select from bookings where status = 'reserved' and hold_ms > $1 limit $2) as read) as number
union all select 'checkout' as status, (select count(*) from (select from bookings where status = 'checkout' and hold_ms > $1 limit $2) as read) as number
union all select 'paid' as status, (select count(*) from (select from bookings where status = 'paid' limit $2) as read) as number
union all select 'expired' as status, (select count(*) from (select from bookings where status = 'expired' limit $2) as read) as number
union all select 'cancelled' as status, (select count(*) from (select from bookings where status = 'cancelled' limit $2) as read) as number
union all select 'refunding' as status, (select count(*) from (select from bookings where status = 'refunding' limit $2) as read) as number
union all select 'refunded' as status, (select count(*) from (select from bookings where status = 'refunded' limit $2) as read) as number

-- name: campaign_counts
-- The campaigns in each state, each counted no further than $1.
select 'draft' as status, (select count(*) from (select from campaigns where status = 'draft' limit $1) as read) as number
union all select 'pending' as status, (select count(*) from (select from campaigns where (status = 'pending' or pending is not null)
    and (status = 'pending' or status in ('approved', 'paused')) limit $1) as read) as number
union all select 'approved' as status, (select count(*) from (select from campaigns where status = 'approved' limit $1) as read) as number
union all select 'rejected' as status, (select count(*) from (select from campaigns where status = 'rejected' limit $1) as read) as number
union all select 'paused' as status, (select count(*) from (select from campaigns where status = 'paused' limit $1) as read) as number

-- name: other_counts
-- The bookings in trouble, the requests for refunds, the sponsors and the submissions that wait, each counted no further than $1.
select (
    select count(*) from (
        select from bookings where disputed
            or (payment_issue is not null and payment_issue <> 'dispute_lost' and status in ('paid', 'refunding'))
            or (refund_requested_ms is not null and status = 'paid') limit $1
    ) as counted
) as trouble, (
    select count(*) from (
        select from bookings where refund_requested_ms is not null and status = 'paid' limit $1
    ) as counted
) as requested, (select count(*) from (select from sponsors limit $1) as counted) as sponsors,
    (select count(*) from (select from catalog_submissions where status = 'pending' limit $1) as counted) as submissions

-- name: refundable
-- The paid bookings of an account that are not disputed and whose weeks are not over.
select * from bookings
where tenant_id = $1 and status = 'paid' and not disputed and week_start_ms + weeks * 604800000::bigint > $2
order by week_start_ms, id limit $3
