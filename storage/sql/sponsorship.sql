-- Reads of the sponsorship area. Pages are newest first, strictly before a place. Delivery counts are read by
-- statements of their own, because on a distributed database they lie on other servers. Names are looked up for each row of a
-- page: for a join, the planner reads the campaigns and the sponsors as a whole if there are few enough.

-- name: sponsor
-- The profile of an account.
select {sponsors} from sponsors where tenant_id = $1

-- name: billing_details
-- The billing details of an account.
select {billing_details} from billing_details where tenant_id = $1

-- name: shared_reports
-- The reports that an account shares, newest first.
select {shared_reports} from shared_reports where tenant_id = $1 order by created_ms desc, id desc

-- name: shared_report
-- The report behind a link, unless its account is suspended or does not exist.
select {shared_reports} from shared_reports where token_hash = $1
    and exists (select from accounts where accounts.tenant_id = shared_reports.tenant_id and suspended_ms is null)

-- name: sponsors
-- A page of sponsors: of the next $3 that are read, the first $4 that match the search $5. Without one, $5 is null.
select {sponsors} from (
    select * from sponsors where (created_ms, id) < ($1, $2) order by created_ms desc, id desc limit $3
) as sponsors
where $5::text is null or $5 in (id, tenant_id) or position(lower($5) in lower(name)) > 0
    or position(lower($5) in lower(website)) > 0
order by created_ms desc, id desc limit $4

-- name: campaigns
-- A page of all campaigns.
select campaigns.*, (select name from sponsors where sponsors.tenant_id = campaigns.tenant_id) as sponsor_name
from campaigns
where (campaigns.created_ms, campaigns.id) < ($1, $2)
order by campaigns.created_ms desc, campaigns.id desc limit $3

-- name: everybodys_campaigns
-- A page of all campaigns: of the next $3 that are read, the first $4 that match the search $5 or are of the tenants $6. Without
-- a search, $5 is null.
select campaigns.*, (select name from sponsors where sponsors.tenant_id = campaigns.tenant_id) as sponsor_name
from (
    select * from campaigns where (created_ms, id) < ($1, $2) /* conditions */ order by created_ms desc, id desc limit $3
) as campaigns
where $5::text is null or campaigns.id = $5 or position(lower($5) in lower(campaigns.name)) > 0
    or position(lower($5) in lower(target_url)) > 0 or tenant_id = any ($6::text[])
order by campaigns.created_ms desc, campaigns.id desc limit $4

-- name: everybodys_campaigns_oldest
-- The same, oldest first, strictly after a place.
select campaigns.*, (select name from sponsors where sponsors.tenant_id = campaigns.tenant_id) as sponsor_name
from (
    select * from campaigns where (created_ms, id) > ($1, $2) /* conditions */ order by created_ms, id limit $3
) as campaigns
where $5::text is null or campaigns.id = $5 or position(lower($5) in lower(campaigns.name)) > 0
    or position(lower($5) in lower(target_url)) > 0 or tenant_id = any ($6::text[])
order by campaigns.created_ms, campaigns.id limit $4

-- name: campaigns_of
-- A page of one account's campaigns.
select campaigns.*, (select name from sponsors where sponsors.tenant_id = campaigns.tenant_id) as sponsor_name
from campaigns
where campaigns.tenant_id = $4 and (campaigns.created_ms, campaigns.id) < ($1, $2)
order by campaigns.created_ms desc, campaigns.id desc limit $3

-- name: campaign
-- One campaign. With a null tenant, of any account.
select campaigns.*, sponsors.name as sponsor_name
from campaigns left join sponsors using (tenant_id)
where campaigns.id = $1 and ($2::text is null or campaigns.tenant_id = $2)

-- name: bookings
-- A page of all bookings, with the names of campaign and sponsor.
with page as materialized (
    select * from bookings where (created_ms, id) < ($1, $2) order by created_ms desc, id desc limit $3
)
select page.*, campaigns.name as campaign_name, campaigns.status as campaign_status,
    (select name from sponsors where sponsors.tenant_id = page.tenant_id) as sponsor_name
from page cross join lateral (select name, status from campaigns where id = page.campaign_id offset 0) as campaigns
order by page.created_ms desc, page.id desc

-- name: bookings_of
-- A page of one account's bookings, with the names of campaign and sponsor.
with page as materialized (
    select * from bookings where tenant_id = $4 and (created_ms, id) < ($1, $2)
    order by created_ms desc, id desc limit $3
)
select page.*, campaigns.name as campaign_name, campaigns.status as campaign_status,
    (select name from sponsors where sponsors.tenant_id = page.tenant_id) as sponsor_name
from page cross join lateral (select name, status from campaigns where id = page.campaign_id offset 0) as campaigns
order by page.created_ms desc, page.id desc

-- name: present_bookings_of
-- One account's bookings that are held at $2, or paid with weeks from the current one, $4, on, earliest week first.
with page as materialized (
    select * from bookings where tenant_id = $1 and status in ('reserved', 'checkout') and hold_ms > $2
    union all
    select * from bookings where tenant_id = $1 and paid_ms is not null and status = 'paid' and week_start_ms >= $4
    union all
    select longer.* from generate_series(1, 51) as before cross join lateral (
        select * from bookings where tenant_id = $1 and paid_ms is not null and status = 'paid'
            and week_start_ms = $4 - before * 604800000::bigint and weeks > before offset 0
    ) as longer
    order by week_start_ms, created_ms, id limit $3
)
select page.*, campaigns.name as campaign_name, campaigns.status as campaign_status,
    (select name from sponsors where sponsors.tenant_id = page.tenant_id) as sponsor_name
from page cross join lateral (select name, status from campaigns where id = page.campaign_id offset 0) as campaigns
order by page.week_start_ms, page.created_ms, page.id

-- name: past_bookings_of
-- One account's bookings that were paid and are not among those, latest week first.
with page as materialized (
    select * from bookings where tenant_id = $1 and paid_ms is not null
        and not (status = 'paid' and week_start_ms + weeks * 604800000::bigint > $2)
    order by week_start_ms desc, created_ms desc, id desc limit $3
)
select page.*, campaigns.name as campaign_name, campaigns.status as campaign_status,
    (select name from sponsors where sponsors.tenant_id = page.tenant_id) as sponsor_name
from page cross join lateral (select name, status from campaigns where id = page.campaign_id offset 0) as campaigns
order by page.week_start_ms desc, page.created_ms desc, page.id desc

-- name: newest_of
-- The money of the newest bookings of one account.
select id, coalesce(paid_currency, currency) as currency, coalesce(nullif(paid_cents, 0), amount_cents) as paid_cents, refunded_cents,
    paid_ms, mode
from bookings where tenant_id = $1
order by created_ms desc, id desc limit $2

-- name: delivered_by_all
-- Impressions and clicks of bookings so far, together.
select coalesce(sum(impressions), 0)::bigint as impressions, coalesce(sum(clicks), 0)::bigint as clicks
from deliveries where booking_id = any ($1::text[])

-- name: count_of
-- The number of one account's bookings, no further than $2.
select count(*) from (select from bookings where tenant_id = $1 limit $2) as counted

-- name: booking
-- One booking, with the names of campaign and sponsor. With a null tenant, of any account.
select bookings.*, campaigns.name as campaign_name, campaigns.status as campaign_status,
    sponsors.name as sponsor_name
from bookings join campaigns on campaigns.id = bookings.campaign_id
left join sponsors on sponsors.tenant_id = bookings.tenant_id
where bookings.id = $1 and ($2::text is null or bookings.tenant_id = $2)

-- name: slots
-- All slots, including retired ones.
select {slots}
from slots order by id

-- name: ads_beside
-- By week from $2 to before $3: how many other slots on the side of slot $1 are paid for, or held at $4.
select week_ms, count(*) as ads
from slots as own join slots as other on other.side = own.side and other.id <> own.id
join slot_weeks on slot_weeks.slot_id = other.id join bookings on bookings.id = slot_weeks.booking_id
where own.id = $1 and week_ms >= $2 and week_ms < $3
    and (bookings.status = 'paid' or (bookings.status in ('reserved', 'checkout') and hold_ms > $4))
group by week_ms

-- name: revision
-- The revision of the newest change visible to the public.
select revision from sponsorship_revision

-- name: taken
-- Taken weeks of slots that are not retired. `until_ms` is the end of a hold, null once paid. Each booking is looked up, because
-- a join may read all that there ever were.
select slots.id as slot_id, week_ms,
    (select hold_ms from bookings where id = held.booking_id and status in ('reserved', 'checkout')) as until_ms
from slots join slot_weeks as held on held.slot_id = slots.id
where retired_ms is null and week_ms >= $1
order by slots.id, week_ms

-- name: placements
-- Paid, undisputed bookings of approved campaigns that still hold all their weeks and end after $1, on retired slots too.
-- Nothing of a suspended account.
select bookings.id as booking_id, slot_id, side, headline, body, cta, target_url, logo_text,
    coalesce(shown_as, sponsors.name) as sponsor_name, week_start_ms,
    week_start_ms + bookings.weeks * 604800000::bigint as week_end_ms, bookings.demo
from bookings join slots on slots.id = bookings.slot_id
join campaigns on campaigns.id = bookings.campaign_id
join sponsors on sponsors.tenant_id = bookings.tenant_id
where bookings.status = 'paid' and not disputed and campaigns.status = 'approved'
    and week_start_ms + bookings.weeks * 604800000::bigint > $1
    and not exists (select from accounts where accounts.tenant_id = bookings.tenant_id and suspended_ms is not null)
    and bookings.weeks = (select count(*) from slot_weeks where booking_id = bookings.id)
order by bookings.id collate "C"

-- name: due_holds
-- Open bookings whose hold has expired, oldest expiry first.
select id from bookings where status in ('reserved', 'checkout') and hold_ms <= $1 order by hold_ms, id limit $2

-- name: due_refunds
-- Bookings to refund now, longest due first.
select {bookings}
from bookings where refund_due_ms <= $1 and not disputed order by refund_due_ms, id limit $2

-- name: due_steps
-- Paid bookings whose schedule goes on by now, longest due first.
select id from bookings
where status = 'paid' and next_step_ms <= $1 and not demo order by next_step_ms, id limit $2

-- name: digest_is_due
-- Whether a campaign was submitted since the last digest, which was mailed by $1 at the latest.
select mailed_ms <= $1 and exists (
    select from campaigns where (status = 'pending' or (status in ('approved', 'paused') and pending is not null)) and not demo and submitted_ms > mailed_ms
) from review_digest

-- name: waiting_refunds
-- How many bookings wait for a refund, due or postponed.
select count(*) as waiting from (select from bookings where refund_due_ms is not null limit $1) as waiting
