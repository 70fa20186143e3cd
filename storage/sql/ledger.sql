-- The booking ledger: what a batch names is found, locked in one order on all nodes, and kept.
-- Locks are `no key`: a row that refers to a locked one may be written meanwhile, so that foreign keys make nobody wait.

-- name: booking_places
-- What never changes of bookings, and leads to the rows to lock before them.
select id, tenant_id, campaign_id, slot_id, week_start_ms from bookings where id = any ($1::text[])

-- name: campaign_owners
-- Whose these campaigns are; that never changes.
select id, tenant_id from campaigns where id = any ($1::text[])

-- name: lock_sponsors
-- Lock sponsors by tenant.
select tenant_id, id, name, website, created_ms, demo
from sponsors where tenant_id = any ($1::text[]) order by tenant_id for no key update

-- name: recall
-- What idempotency keys have led to, with the places of those bookings. Comes after the locks on their sponsors.
select known.tenant_id, known.operation, known.key, known.fingerprint, known.booking_id, known.created_ms,
    bookings.campaign_id, bookings.slot_id, bookings.week_start_ms
from unnest($1::text[], $2::text[], $3::text[]) as wanted (tenant_id, operation, key)
join booking_keys as known using (tenant_id, operation, key)
join bookings on bookings.id = known.booking_id

-- name: lock_campaigns
-- Lock campaigns by id.
select id, tenant_id, name, headline, body, cta, target_url, logo_text, status, created_ms, review_note, shown_as,
    demo
from campaigns where id = any ($1::text[]) order by id for no key update

-- name: lock_slots
-- Lock slots by id, and with them all their weeks.
select id, name, side, week_price_cents, created_ms, active, weeks, coming_soon, offer_ends_ms, package_kind, description,
    retired_ms, demo
from slots where id = any ($1::text[]) order by id for no key update

-- name: held_weeks
-- All weeks of the bookings that hold one of these slots in any week from $2 on: who makes way gives all of them back.
select slot_id, week_ms, booking_id from slot_weeks where booking_id in (
    select booking_id from slot_weeks where slot_id = any ($1::text[]) and week_ms >= $2
)

-- name: lock_bookings
-- Lock bookings by id, and the open ones of these tenants.
select id, tenant_id, campaign_id, slot_id, slot_name, week_start_ms, weeks, amount_cents, currency, status, mode,
    created_ms, hold_ms, package_kind, package_description, youtube_status, youtube_url, youtube_notes, paid_ms,
    paid_cents, payment_id,
    refunded_cents, refund_due_ms, payment_issue, demo
from bookings
where id = any ($1::text[]) or (tenant_id = any ($2::text[]) and status in ('reserved', 'checkout'))
order by id for no key update

-- name: new_sponsors
-- Which of these tenants are sponsors by now. Comes after all locks.
select tenant_id from sponsors where tenant_id = any ($1::text[])

-- name: handled
-- Which of these events of the payment processor were handled before. Comes after the locks on their bookings.
select id from payment_events where id = any ($1::text[])

-- name: delivered
-- Impressions and clicks of bookings so far.
select booking_id, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks
from delivery_days where booking_id = any ($1::text[]) group by booking_id

-- name: make_sponsors
-- New sponsors; one that another node made first is met as a unique violation, and the batch runs again.
insert into sponsors (tenant_id, id, name, website, created_ms, demo)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::boolean[])
    as made (tenant_id, id, name, website, created_ms, demo)
order by tenant_id

-- name: change_sponsors
-- Write what may change of sponsors, which are locked.
update sponsors set name = changed.name, website = changed.website
from unnest($1::text[], $2::text[], $3::text[]) as changed (tenant_id, name, website)
where sponsors.tenant_id = changed.tenant_id

-- name: make_slots
-- New slots; one that another node made first is met as a unique violation, and the batch runs again.
insert into slots (id, name, side, week_price_cents, created_ms, active, weeks, coming_soon, offer_ends_ms, package_kind,
    description, retired_ms, demo)
select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::boolean[], $7::int[],
    $8::boolean[], $9::bigint[], $10::text[], $11::text[], $12::bigint[], $13::boolean[]) as made (id, name, side,
    week_price_cents, created_ms, active, weeks, coming_soon, offer_ends_ms, package_kind, description, retired_ms, demo)
order by id

-- name: change_slots
-- Write what may change of slots, which are locked.
update slots set
    name = changed.name, side = changed.side, week_price_cents = changed.week_price_cents, active = changed.active,
    weeks = changed.weeks, coming_soon = changed.coming_soon, offer_ends_ms = changed.offer_ends_ms,
    package_kind = changed.package_kind, description = changed.description, retired_ms = changed.retired_ms
from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::boolean[], $6::int[], $7::boolean[], $8::bigint[],
    $9::text[], $10::text[], $11::bigint[]) as changed (id, name, side, week_price_cents, active, weeks, coming_soon,
    offer_ends_ms, package_kind, description, retired_ms)
where slots.id = changed.id

-- name: keep_campaigns
-- Make campaigns, or write what may change of them.
insert into campaigns (id, tenant_id, name, headline, body, cta, target_url, logo_text, status, created_ms, review_note,
    shown_as, demo)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::bigint[], $11::text[], $12::text[], $13::boolean[]) as changed (id, tenant_id, name, headline, body,
    cta, target_url, logo_text, status, created_ms, review_note, shown_as, demo)
order by id
on conflict (id) do update set
    name = excluded.name, headline = excluded.headline, body = excluded.body, cta = excluded.cta,
    target_url = excluded.target_url, logo_text = excluded.logo_text, status = excluded.status,
    review_note = excluded.review_note, shown_as = excluded.shown_as

-- name: keep_bookings
-- Make bookings, or write what may change of them.
insert into bookings (id, tenant_id, campaign_id, slot_id, slot_name, week_start_ms, weeks, amount_cents, currency, status,
    mode, created_ms, hold_ms, package_kind, package_description, youtube_status, youtube_url, youtube_notes, paid_ms,
    paid_cents, payment_id, refunded_cents, refund_due_ms, payment_issue, demo)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::int[], $8::bigint[],
    $9::text[], $10::text[], $11::text[], $12::bigint[], $13::bigint[], $14::text[], $15::text[], $16::text[],
    $17::text[], $18::text[], $19::bigint[], $20::bigint[], $21::text[], $22::bigint[], $23::bigint[], $24::text[],
    $25::boolean[]) as changed (id, tenant_id, campaign_id, slot_id, slot_name, week_start_ms, weeks, amount_cents,
    currency, status, mode, created_ms, hold_ms, package_kind, package_description, youtube_status, youtube_url,
    youtube_notes, paid_ms, paid_cents, payment_id, refunded_cents, refund_due_ms, payment_issue, demo)
order by id
on conflict (id) do update set
    status = excluded.status, hold_ms = excluded.hold_ms, youtube_status = excluded.youtube_status,
    youtube_url = excluded.youtube_url, youtube_notes = excluded.youtube_notes, paid_ms = excluded.paid_ms,
    paid_cents = excluded.paid_cents, payment_id = excluded.payment_id, refunded_cents = excluded.refunded_cents,
    refund_due_ms = excluded.refund_due_ms, payment_issue = excluded.payment_issue

-- name: free_weeks
-- Give weeks back, where the booking still holds them.
delete from slot_weeks using unnest($1::text[], $2::bigint[], $3::text[]) as freed (slot_id, week_ms, booking_id)
where slot_weeks.slot_id = freed.slot_id and slot_weeks.week_ms = freed.week_ms
    and slot_weeks.booking_id = freed.booking_id

-- name: take_weeks
-- Take weeks; one that is taken is met as a unique violation, and the batch runs again.
insert into slot_weeks (slot_id, week_ms, booking_id)
select * from unnest($1::text[], $2::bigint[], $3::text[]) as taken (slot_id, week_ms, booking_id)
order by slot_id, week_ms

-- name: remember
-- Keep what idempotency keys have led to.
insert into booking_keys (tenant_id, operation, key, fingerprint, booking_id, created_ms)
select * from unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::bigint[])
    as made (tenant_id, operation, key, fingerprint, booking_id, created_ms)
order by tenant_id, operation, key

-- name: keep_events
-- Keep which events were handled; the time is for whoever looks into the table, and no rule reads it.
insert into payment_events (id, booking_id, handled_ms)
select id, booking_id, (extract(epoch from now()) * 1000)::bigint
from unnest($1::text[], $2::text[]) as made (id, booking_id)
order by id

-- name: advance
-- Move the revision, and tell all nodes with the commit. Comes last, since all nodes meet at this row.
update sponsorship_revision set revision = revision + 1 returning revision, pg_notify('catalog', 'sponsorship')
