-- Webhooks and their deliveries. Whatever changes deliveries has locked their webhooks first, in the order of their ids.

-- name: lock_names
-- Take one lock for each account until the transaction ends: an account without a webhook has no row to lock.
select pg_advisory_xact_lock(hashtextextended('webhooks ' || name, 0))
from (select name from unnest($1::text[]) as named (name) order by name) as sorted

-- name: lock_of
-- Lock the webhooks of accounts.
select {webhooks}
from webhooks where tenant_id = any ($1::text[]) order by id for no key update

-- name: lock
-- Lock webhooks by id.
select {webhooks}
from webhooks where id = any ($1::text[]) order by id for no key update

-- name: lock_wanting
-- Lock the enabled webhooks of accounts that want one of some events.
select {webhooks}
from webhooks where tenant_id = any ($1::text[]) and status = 'enabled' and events && $2::text[]
order by id for no key update

-- name: of_account
-- The webhooks of an account, oldest first.
select {webhooks}
from webhooks where tenant_id = $1 order by created_ms, id

-- name: one
-- A webhook of an account.
select {webhooks}
from webhooks where tenant_id = $1 and id = $2

-- name: log
-- Deliveries of a webhook before a place, newest first.
select {deliveries}
from webhook_deliveries where webhook_id = $1 and ($2::bigint is null or seq < $2) order by seq desc limit $3

-- name: count_of
-- The number of deliveries of a webhook, no further than $2.
select count(*) from (select from webhook_deliveries where webhook_id = $1 limit $2) as counted

-- name: deliveries
-- Deliveries by id.
select {deliveries}
from webhook_deliveries where id = any ($1::text[])

-- name: waiting_like
-- The deliveries that wait with the webhook and subject of some deliveries, and the tests that wait for webhooks.
select {deliveries}
from webhook_deliveries
where done_ms is null and (webhook_id, subject_id) in (
    select webhook_id, subject_id from webhook_deliveries where id = any ($1::text[])
    union all select id, id from unnest($2::text[]) as asked (id)
)

-- name: delete
-- Delete webhooks with their deliveries.
delete from webhooks where id = any ($1::text[])

-- name: restart
-- Let the first waiting delivery of each subject of webhooks be due now, as if none had been tried.
update webhook_deliveries set due_ms = $2, first_ms = null
where seq = any (array(
    select distinct on (webhook_id, subject_id) seq from webhook_deliveries
    where webhook_id = any ($1::text[]) and done_ms is null order by webhook_id, subject_id, seq
)) and (due_ms is null or due_ms > $2 or first_ms is not null)

-- name: publish
-- Add events to the feeds of their accounts in order. Known ids are skipped.
insert into webhook_events (id, tenant_id, subject_id, type, created_ms, body)
select id, tenant_id, subject_id, type, created_ms, body
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[]) with ordinality
    as made (id, tenant_id, subject_id, type, created_ms, body, place)
where not exists (select from webhook_events as known where known.id = made.id)
order by place

-- name: newest_event
-- The number of the newest event of an account, 0 without one.
select coalesce((select seq from webhook_events where tenant_id = $1 order by seq desc limit 1), 0)

-- name: feed
-- Events of an account after a place that are not older than a moment, oldest first.
select seq, id, tenant_id, subject_id, type, body, created_ms
from webhook_events where tenant_id = $1 and seq > $2 and created_ms >= $3 order by seq limit $4

-- name: add
-- Insert deliveries in order. Each is due at once, unless an earlier one of its subject waits. Known ids are skipped.
insert into webhook_deliveries (id, webhook_id, event_id, subject_id, type, body, created_ms, due_ms)
select id, webhook_id, event_id, subject_id, type, body, created_ms,
    case when row_number() over (partition by webhook_id, subject_id order by place) = 1 and not exists (
        select from webhook_deliveries as earlier
        where earlier.webhook_id = made.webhook_id and earlier.subject_id = made.subject_id and earlier.done_ms is null
    ) then created_ms end
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[]) with ordinality
    as made (id, webhook_id, event_id, subject_id, type, body, created_ms, place)
where not exists (select from webhook_deliveries as known where known.id = made.id)
order by place

-- name: refresh
-- Set when to look at locked webhooks next.
update webhooks set due_ms = case when status = 'enabled' then (
    select greatest(webhooks.paused_ms, first.due_ms) from webhook_deliveries as first
    where first.webhook_id = webhooks.id and first.due_ms is not null order by first.due_ms, first.seq limit 1
) end
where id = any ($1::text[])

-- name: ready
-- Lock webhooks with a due delivery, longest due first. Those that another node has locked are skipped.
select id, tenant_id, host, slow from webhooks
where due_ms <= $1 and not host = any ($2::text[]) and not tenant_id = any ($3::text[]) and (not slow or $4)
order by due_ms, id limit $5 for no key update skip locked

-- name: lease
-- Lease so many due deliveries of each of some webhooks, longest due first, and count an attempt.
with heads as materialized (
    select first.seq
    from unnest($1::text[], $2::int[]) as chosen (webhook_id, most)
    cross join lateral (
        select seq from webhook_deliveries as due where due.webhook_id = chosen.webhook_id and due.due_ms <= $3
        order by due.due_ms, due.seq limit chosen.most
    ) as first
)
update webhook_deliveries set attempts = attempts + 1, due_ms = $4, first_ms = coalesce(first_ms, $3)
where seq = any (array(select seq from heads))
returning {deliveries}

-- name: pause
-- Look at slow webhooks again when their lease ends.
update webhooks set paused_ms = $2 where id = any ($1::text[]) and slow

-- name: next_due
-- When the next webhook becomes due.
select due_ms from webhooks where due_ms > $1 order by due_ms limit 1

-- name: follow
-- Let the next delivery of the subjects of done ones be due.
update webhook_deliveries set due_ms = $2
where due_ms is null and seq = any (array(
    select (
        select next.seq from webhook_deliveries as next
        where next.webhook_id = done.webhook_id and next.subject_id = done.subject_id and next.done_ms is null
        order by next.seq limit 1
    )
    from webhook_deliveries as done where done.seq = any ($1::bigint[])
))

-- name: backlog
-- What waits for webhooks that are on: how many deliveries, of the first so many, and since when.
select count(*) as waiting, min(created_ms) as oldest_ms
from (
    select deliveries.created_ms from webhooks cross join lateral (
        select created_ms from webhook_deliveries as each
        where each.webhook_id = webhooks.id and each.done_ms is null
        order by each.webhook_id, each.subject_id, each.seq limit $1
    ) as deliveries
    where webhooks.due_ms is not null limit $1
) as first

-- name: late
-- Since when a webhook that works is due.
select min(due_ms) from webhooks where due_ms <= $1 and not slow
