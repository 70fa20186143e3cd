-- Deleting rows whose life is over. Each takes a moment (UTC epoch milliseconds)
-- and the most rows, skips rows that others have locked, and returns how many rows it deleted or emptied. Ids are passed
-- on as arrays because with a join the planner, which overestimates them, reads whole tables.

-- name: sign_in_codes
-- Delete sign-in codes that ended, and return how many. The keys are arrays because with a join the planner, which overestimates
-- them, reads the whole table.
with gone as (
    delete from sign_in_codes where ctid = any (array(
        select ctid from sign_in_codes where code_expires_ms < $1 order by code_expires_ms limit $2 for update skip locked
    )) returning 1
)
select count(*) from gone

-- name: code_mail_counts
-- Delete counts that neither limit a letter nor remember a network any more, and return how many.
{delete from letter_counts by id where greatest(sent_ms, known_until_ms) < $1 order by greatest(sent_ms,
    known_until_ms) limit $2 for update skip locked}

-- name: sign_in_links
-- Delete sign-in links that ended, and return how many.
{delete from sign_in_links by token_hash where expires_ms < $1 order by expires_ms limit $2 for update skip locked}

-- name: pending_sign_ins
-- Delete pending sign-ins that ended long ago, and return how many.
{delete from pending_sign_ins by id where expires_ms < $1 order by expires_ms limit $2 for update skip locked}

-- name: challenges
-- Delete challenges that ended long ago, and return how many.
{delete from passkey_challenges by holder_id where expires_ms < $1 order by expires_ms limit $2 for update skip
    locked}

-- name: ended_sessions
-- Delete sessions that ended long ago, with the rows that refer to them, and return how many.
{delete from sessions by id where expires_ms < $1 order by expires_ms limit $2 for update skip locked}

-- name: device_logins
-- Delete device logins that expired before a moment, and return how many. Locked ones are left for later.
{delete from devices by id where expires_ms < $1 order by expires_ms limit $2 for update skip locked}

-- name: authorizations
-- Delete authorizations whose code or key ended, and return how many. Locked ones are left for later.
{delete from authorizations by id where expires_ms < $1 order by expires_ms limit $2 for update skip locked}

-- name: unclaimed_keys
-- Delete anonymous keys that expired unclaimed, with all that belongs to them. A key whose claim is locked stays: it is
-- being claimed. The tier is a scalar subquery, so that it is looked up for each row.
with old as materialized (
    select id, tenant_id from api_keys
    where kind = 'anon' and expires_ms < $1 and (select tier from tenants where tenants.id = tenant_id) = 'anonymous'
    order by expires_ms limit $2 for update skip locked
), dead as materialized (
    select key_id from claims where key_id = any (array(select id from old)) for update skip locked
), owners as materialized (
    select tenant_id from old where id = any (array(select key_id from dead))
), uses as (
    delete from key_uses where key_id = any (array(select key_id from dead))
), proofs as (
    delete from claims where key_id = any (array(select key_id from dead))
), days as (
    delete from usage_days where tenant_id = any (array(select tenant_id from owners))
), key_days as (
    delete from key_usage_days where tenant_id = any (array(select tenant_id from owners))
), keys as (
    delete from api_keys where id = any (array(select key_id from dead))
), gone as (
    delete from tenants where id = any (array(select tenant_id from owners)) returning 1
)
select count(*) from gone

-- name: ended_keys
-- Delete keys of accounts that were revoked or expired long ago, with their claims and uses.
with old as materialized (
    select id from api_keys
    where coalesce(revoked_ms, expires_ms) < $1
        and (select tier from tenants where tenants.id = tenant_id) <> 'anonymous'
    order by coalesce(revoked_ms, expires_ms) limit $2 for update skip locked
), uses as (
    delete from key_uses where key_id = any (array(select id from old))
), proofs as (
    delete from claims where key_id = any (array(select id from old))
), gone as (
    delete from api_keys where id = any (array(select id from old)) returning 1
)
select count(*) from gone

-- name: merged_tenants
-- Delete tenants that were merged into an account's and have not been charged since the day of the moment. A refund may
-- still be on its way to a tenant that was charged today.
{delete from tenants by id where merged_into is not null and day < $1::bigint / 86400000 limit $2 for update skip
    locked}

-- name: unconfirmed_emails
-- Forget the emails to which the codes of claims were sent that nobody entered. The counters that limit codes stay.
with gone as (
    update claims set email = null, proof = null where token_hash = any (array(
        select token_hash from claims where completed_ms is null and email is not null and sent_ms < $1
        order by sent_ms limit $2 for update skip locked
    )) returning 1
)
select count(*) from gone

-- name: unpaid_bookings
-- Delete bookings that ended without ever having had money, with their idempotency keys.
with old as materialized (
    select id from bookings
    where status in ('expired', 'cancelled') and paid_ms is null and payment_id is null and payment_issue is null
        and hold_ms < $1 and not exists (select from slot_weeks where booking_id = bookings.id)
    order by hold_ms limit $2 for update skip locked
), keys as (
    delete from booking_keys where booking_id = any (array(select id from old))
), gone as (
    delete from bookings where id = any (array(select id from old)) returning 1
)
select count(*) from gone

-- name: payment_events
-- Delete the ids of payment events that were handled long ago.
{delete from payment_events by id where handled_ms < $1 order by handled_ms limit $2 for update skip locked}

-- name: payment_reports
-- Delete what the processor reported about payments long ago.
{delete from payment_reports by id where reported_ms < $1 order by reported_ms limit $2 for update skip locked}

-- name: usage_days
-- Delete the usage of days before that of the moment.
{delete from usage_days by ctid where day < $1::bigint / 86400000 order by day limit $2 for update skip locked}

-- name: key_usage_days
-- Delete the usage of keys on days before that of the moment.
{delete from key_usage_days by ctid where day < $1::bigint / 86400000 order by day limit $2 for update skip locked}

-- name: audit
-- Delete audit records, by the one function that may.
select prune_audit($1::bigint, $2::int)

-- name: webhook_deliveries
-- Delete deliveries whose event is old. Those that wait for a webhook that is on stay: its sender ends them. The lock keeps a
-- webhook from being turned on meanwhile, when the first delivery of each subject becomes due.
with old as materialized (
    select seq, webhook_id, done_ms from webhook_deliveries as each
    where created_ms < $1 and (
        done_ms is not null or (select status from webhooks where webhooks.id = each.webhook_id) = 'disabled'
    )
    order by created_ms limit $2 for update skip locked
), off as materialized (
    select id from webhooks where id = any (array(select webhook_id from old where done_ms is null))
        and status = 'disabled' for no key update skip locked
), gone as (
    delete from webhook_deliveries where seq = any (array(
        select seq from old where done_ms is not null or webhook_id = any (array(select id from off))
    )) returning 1
)
select count(*) from gone

-- name: webhook_events
-- Delete old events from the feeds of accounts.
{delete from webhook_events by seq where created_ms < $1 order by created_ms limit $2 for update skip locked}

-- name: submissions
-- Delete submissions that were decided long ago. The entries of accepted ones are in the catalog.
{delete from catalog_submissions by id where decided_ms < $1 order by decided_ms limit $2 for update skip locked}

-- name: deletions
-- Forget deletions of accounts that were requested and not confirmed.
{delete from account_deletions by tenant_id where due_ms is null and sent_ms < $1 order by sent_ms limit $2 for update
    skip locked}

-- name: retired_entries
-- Forget entries that were removed long ago, and note up to which number removals may be missing. The revision is locked, as for
-- any change of the catalog, and advances so that nodes forget them, too; if it is locked already, they are left for later.
with turn as materialized (
    select singleton from catalog_revision for update skip locked
), old as materialized (
    select number from catalog_changes
    where change = 'removed' and at_ms < $1 and (select singleton from turn)
    order by at_ms limit $2
), gone as (
    delete from catalog_changes where number = any (array(select number from old)) returning 1
), noted as (
    update catalog_forgotten set number = greatest(catalog_forgotten.number, (select max(number) from old))
    where exists (select from old)
), advanced as (
    update catalog_revision set revision = revision + 1 where exists (select from old)
    returning pg_notify('catalog', 'catalog')
)
select count(*) from gone

-- name: journal
-- Delete the batch ids of nodes that ended long ago, by this server's clock, too: a batch id settles unknown outcomes of
-- its node, which takes seconds. There is no index on the time, which every batch would have to update; a row an actor of
-- the nodes of two days is little to read.
{delete from journal by owner where written_at < least(to_timestamp($1::bigint / 1000.0), now() - interval '1 day')
    limit $2 for update skip locked}

-- name: event_journal
-- The same for the batches of events, whose journal has a row for a node and worker.
delete from event_journal where written_at < least(to_timestamp($1::bigint / 1000.0), now() - interval '1 day')
