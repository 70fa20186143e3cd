-- Accounts: their choices of mails, and deleting them: the deletion itself, and the rows of an account that has ended, at most so many per statement.

-- name: account
-- The account of an email.
select {accounts} from accounts where email = $1

-- name: deletion
-- The deletion of an account.
select {deletions}
from account_deletions where tenant_id = $1

-- name: mail_choices
-- The choices of emails. The row of an account is locked with its choices.
select {mail_choices} from mail_choices where email = any ($1::text[])

-- name: due
-- Deletions that are due or have begun, longest due first.
select {deletions}
from account_deletions where due_ms <= $1 order by due_ms, tenant_id limit $2

-- name: lock_devices
-- Lock the device logins of emails. The device actor locks them before accounts.
select id from devices where email = any ($1::text[]) order by id for update

-- name: lock_deletions
-- Lock the deletions of emails that have not begun.
select {deletions}
from account_deletions where email = any ($1::text[]) and begun_ms is null order by tenant_id for update

-- name: blockers
-- What may keep accounts from being deleted.
select accounts.email, administrators.email is not null as admin,
    (select count(*) from administrators) as administrators,
    coalesce(max(week_start_ms + weeks * 604800000::bigint) filter (where status = 'paid'), 0) as paid_until_ms,
    count(*) filter (where status = 'refunding' or refund_due_ms is not null) as refunds,
    count(*) filter (where status in ('reserved', 'checkout')) as holds
from accounts left join administrators on administrators.email = accounts.email
left join bookings on bookings.tenant_id = accounts.tenant_id
where accounts.email = any ($1::text[]) group by accounts.email, administrators.email

-- name: lock_sign_ins
-- Lock the sign-in codes of emails. The session actor locks them before accounts.
select email from sign_in_codes where email = any ($1::text[]) order by email, browser for update

-- name: lock_links
-- Lock the sign-in links of emails. The session actor locks them before accounts.
select email from sign_in_links where email = any ($1::text[]) order by token_hash for update

-- name: end_sign_ins
-- Delete the sign-in codes and links of emails.
with links as (
    delete from sign_in_links where email = any ($1::text[])
)
delete from sign_in_codes where email = any ($1::text[])

-- name: end_devices
-- Delete the device logins of emails.
delete from devices where email = any ($1::text[])

-- name: end_sessions
-- Delete the sessions of emails with the rows that refer to them, their sign-ins that wait for a passkey, passkeys, and
-- choices of mails.
with ended as (
    delete from sessions where email = any ($1::text[]) returning id
), pending as (
    delete from pending_sign_ins where email = any ($1::text[]) returning id
), factors as (
    delete from passkeys where email = any ($1::text[])
), choices as (
    delete from mail_choices where email = any ($1::text[])
)
delete from passkey_challenges where holder_id in (select id from ended union all select id from pending)

-- name: end_accounts
-- Delete accounts by email. No row refers to them any more.
delete from accounts where email = any ($1::text[])

-- name: end_keys
-- Revoke the keys of tenants that are live, or ended after $3 so that a node whose clock is behind may still take them, in one
-- order.
with live as (
    select id from api_keys where tenant_id collate "C" = any ($1::text[]) and revoked_ms is null
        and coalesce(expires_ms, 9223372036854775807) > $3
    order by id for update
)
update api_keys set revoked_ms = $2 where id = any (array(select id from live))

-- name: lock_erasure
-- Lock the deletion of an account that has ended, unless another node works on it.
select tenant_id from account_deletions where tenant_id = $1 and begun_ms is not null for update skip locked

-- name: forget_in_audit
-- Take the email of an account out of audit records, and its words out of those about what it owns, by the one function that may.
select forget_in_audit($2::text, $1::text, '{}', $3::bigint, $4::int)

-- name: forget_campaigns_in_audit
-- Take the words of a tenant's campaigns and profile out of what others did with them.
select forget_in_audit($2::text, $1::text, array(
    select id from campaigns where tenant_id = $1::text union all select id from sponsors where tenant_id = $1::text
), $3::bigint, $4::int)

-- name: erase_mails
-- Delete the mails to an account that were written before it ended.
{delete from outbox by id where recipient = $2::text and $1::text is not null and created_ms < $3::bigint limit
    $4::int for update skip locked}

-- name: erase_claims
-- Forget an email to which codes for keys of others were sent.
with gone as (
    update claims set email = null, proof = null where token_hash = any (array(
        select token_hash from claims where email = $2::text and completed_ms is null
            and $1::text is not null and $3::bigint is not null
        limit $4::int for update
    )) returning 1
)
select count(*) from gone

-- name: erase_keys
-- Delete keys of a tenant, with their claims and uses, once no audit record about them has words. Returns how many rows it changed.
with next as materialized (
    select id from api_keys where tenant_id = $1::text limit $4::int for update
), forgotten as materialized (
    select forget_in_audit($2::text, $1::text, array(select id from next), $3::bigint, $4::int) as records
), old as materialized (
    select id from next where (select records from forgotten) < $4::int
), uses as (
    delete from key_uses where key_id = any (array(select id from old))
), proofs as (
    delete from claims where key_id = any (array(select id from old))
), gone as (
    delete from api_keys where id = any (array(select id from old)) returning 1
)
select greatest((select count(*) from gone), records) from forgotten

-- name: erase_days
-- Delete the daily usage of a tenant.
{delete from usage_days by ctid where tenant_id = $1::text and $2::text is not null and $3::bigint is not null limit
    $4::int for update}

-- name: erase_key_days
-- Delete the daily usage of the keys of a tenant.
{delete from key_usage_days by ctid where tenant_id = $1::text and $2::text is not null and $3::bigint is not null
    limit $4::int for update}

-- name: erase_terms
-- Delete what a tenant accepted.
{delete from accepted_terms by ctid where tenant_id = $1::text and $2::text is not null and $3::bigint is not null
    limit $4::int for update}

-- name: erase_idempotency_keys
-- Delete the idempotency keys of a tenant.
{delete from booking_keys by ctid where tenant_id = $1::text and $2::text is not null and $3::bigint is not null limit
    $4::int for update}

-- name: erase_webhook_deliveries
-- Delete what is delivered to the webhooks of a tenant.
with own as materialized (
    select id from webhooks where tenant_id = $1::text and $2::text is not null and $3::bigint is not null
    order by id for no key update
), gone as (
    delete from webhook_deliveries where seq = any (array(
        select seq from webhook_deliveries where webhook_id = any (array(select id from own)) limit $4::int for update
    )) returning 1
)
select count(*) from gone

-- name: erase_webhooks
-- Delete the webhooks of a tenant.
{delete from webhooks by id where tenant_id = $1::text and $2::text is not null and $3::bigint is not null limit
    $4::int for update}

-- name: erase_webhook_events
-- Delete what webhooks tell a tenant.
{delete from webhook_events by seq where tenant_id = $1::text and $2::text is not null and $3::bigint is not null limit
    $4::int for update}

-- name: erase_submissions
-- Delete submissions of a tenant, once no audit record about them has words. The entries of accepted ones are the catalog's.
with next as materialized (
    select id from catalog_submissions where tenant_id = $1::text limit $4::int for update
), forgotten as materialized (
    select forget_in_audit($2::text, $1::text, array(select id from next), $3::bigint, $4::int) as records
), gone as (
    delete from catalog_submissions where id = any (array(select id from next where (select records from forgotten) < $4::int))
    returning 1
)
select greatest((select count(*) from gone), records) from forgotten

-- name: erase_bookings
-- Delete the bookings of a tenant that ended without ever having had money.
{delete from bookings by id where tenant_id = $1::text and $2::text is not null and $3::bigint is not null and status
    in ('expired', 'cancelled') and paid_ms is null and payment_id is null and payment_issue is null and not exists
    (select from slot_weeks where booking_id = bookings.id) limit $4::int for update}

-- name: erase_campaigns
-- Delete the campaigns of a tenant that no booking refers to.
{delete from campaigns by id where tenant_id = $1::text and $2::text is not null and $3::bigint is not null and not
    exists (select from bookings where campaign_id = campaigns.id) limit $4::int for update}

-- name: blank_campaigns
-- Take the words out of the campaigns of a tenant. A paused campaign is not shown.
with gone as (
    update campaigns set name = 'Deleted', headline = 'Deleted', body = '', cta = '', target_url = '', logo_text = '',
        status = 'paused', review_note = null, shown_as = null, pending = null
    where id = any (array(
        select id from campaigns where tenant_id = $1::text and $2::text is not null and $3::bigint is not null
            and (headline, target_url) <> ('Deleted', '')
        limit $4::int for update
    )) returning 1
)
select count(*) from gone

-- name: blank_bookings
-- Take the words of requests for refunds, and the material of videos, out of the bookings of a tenant.
with gone as (
    update bookings set refund_reason = null, refund_note = null, video_material = null
    where id = any (array(
        select id from bookings where tenant_id = $1::text and $2::text is not null and $3::bigint is not null
            and num_nonnulls(refund_reason, refund_note, video_material) > 0
        limit $4::int for update
    )) returning 1
)
select count(*) from gone

-- name: blank_invoices
-- Take the email and the website out of the invoices of a tenant. The rest is what the law wants kept.
with gone as (
    update invoices set buyer_email = '', buyer_website = '' where number = any (array(
        select number from invoices where tenant_id = $1::text and $2::text is not null and $3::bigint is not null
            and (buyer_email, buyer_website) <> ('', '')
        limit $4::int for update
    )) returning 1
)
select count(*) from gone

-- name: erase_billing_details
-- Delete the billing details of a tenant. Its invoices keep theirs.
{delete from billing_details by tenant_id where tenant_id = $1::text and $2::text is not null and $3::bigint is not null
    limit $4::int for update}

-- name: erase_shared_reports
-- End the links to reports of a tenant.
{delete from shared_reports by id where tenant_id = $1::text and $2::text is not null and $3::bigint is not null
    limit $4::int for update}

-- name: erase_authorizations
-- Delete what an account allowed programs before its deletion began. Another account may have its email now.
{delete from authorizations by id where $1::text is not null and email = $2::text and created_ms <= $3::bigint
    limit $4::int for update}

-- name: remains
-- Whether a tenant still has open bookings, and whether it has bookings at all.
select count(*) filter (where status in ('reserved', 'checkout')) as holds, count(*) as bookings
from bookings where tenant_id = $1

-- name: erase_sponsor
-- Delete a sponsor.
delete from sponsors where tenant_id = $1

-- name: reset_tenant
-- Clear the counters of a tenant that has paid bookings.
update tenants set tier = 'claimed', lifetime_used = 0, usecase_reads = 0, month_used = 0, day_used = 0 where id = $1

-- name: erase_tenant
-- Delete a tenant, and those that were merged into it.
delete from tenants where id = $1 or merged_into = $1

-- name: finish
-- Delete the deletion itself: the account is erased.
delete from account_deletions where tenant_id = $1
