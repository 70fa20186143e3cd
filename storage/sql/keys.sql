-- Keys, claims, accounts and the outbox.

-- name: lock_claims
-- Lock claims by the hash of their token.
select token_hash, key_id, created_ms, email, proof, code_expires_ms, attempts, sent_ms, sent_day, sent_today, completed_ms
from claims where token_hash = any ($1::bytea[]) order by token_hash for update

-- name: lock_authorizations
-- Lock authorizations by the hash of their code, by that of their refresh tokens, by their key, or by id.
select {authorizations} from authorizations
where code_hash = any ($1::bytea[]) or refresh_hash = any ($2::bytea[]) or key_id = any ($3::text[])
    or id = any ($4::text[]) order by id for update

-- name: open_codes
-- Count codes of accounts that were neither exchanged nor have expired. Accounts are locked before.
select email, count(*) as opened from authorizations
where email = any ($1::text[]) and key_id is null and expires_ms > $2 group by email

-- name: is_client_in_use
-- Whether a client got a code or token since a moment.
select exists (select from authorizations where client_hash = $1 and used_ms >= $2)

-- name: lock_accounts
-- Lock accounts by email.
select {accounts} from accounts
where email = any ($1::text[]) order by email for update

-- name: lock_sessions
-- Those of some sessions that have not ended. They cannot end before the transaction does.
select id from sessions where id = any ($1::text[]) and revoked_ms is null and expires_ms > $2 order by id for share

-- name: guarded
-- Those of some accounts that have a passkey.
select distinct email from passkeys where email = any ($1::text[])

-- name: lock_membership
-- Allow one batch at a time to change the administrators. Reads after this stay valid until the commit.
lock table administrators in share row exclusive mode

-- name: count_administrators
-- The number of administrators.
select count(*) from administrators

-- name: lock_administrators
-- Lock administrators by email.
select email, granted_ms from administrators where email = any ($1::text[]) order by email for update

-- name: delete_administrators
-- Delete administrators.
delete from administrators where email = any ($1::text[])

-- name: insert_administrators
-- Insert administrators. Cannot conflict, since the batch holds the table lock.
insert into administrators (email, granted_ms) select * from unnest($1::text[], $2::bigint[])

-- name: lock_keys
-- Lock keys by id.
select {keys}
from api_keys where id = any ($1::text[]) order by id for update

-- name: ids_of_hashes
-- The keys with some hashes. They are locked afterwards, and may have another hash then: that of a program's key changes.
select id, hash from api_keys where hash = any ($1::bytea[])

-- name: owners
-- The emails of the accounts that some tenants belong to.
select tenant_id, email from accounts where tenant_id = any ($1::text[])

-- name: live_ids
-- The live keys of tenants, those of the keys $2 included, and the last 50 of each that ended after $4: a node whose clock is
-- behind may still take them. Neither needs a look at others, because a tenant may have any number of ended keys.
select found.id from (
    select unnest($1::text[]) union select tenant_id from api_keys where id = any ($2::text[])
) as owner (id) cross join lateral (
    select id from api_keys
    where tenant_id collate "C" = owner.id and revoked_ms is null and coalesce(expires_ms, 9223372036854775807) > $3
    union all (
        select id from api_keys
        where tenant_id collate "C" = owner.id and revoked_ms is null and coalesce(expires_ms, 9223372036854775807) > $4
            and coalesce(expires_ms, 9223372036854775807) <= $3
        order by coalesce(expires_ms, 9223372036854775807) desc limit 50
    )
) as found

-- name: count_live
-- Live keys of tenants, full and scoped: those that were not rotated, and rotated ones that still work; and, beside the full
-- ones, how many keys were made since $3, counted up to 1001. An approved device that has not fetched its full key yet counts
-- as having made one. One statement, so that a device is not missed or counted twice while its key is issued.
select tenant_id, scoped, coalesce(sum(live) filter (where not rotated), 0)::bigint as live,
    coalesce(sum(live) filter (where rotated), 0)::bigint as in_grace, sum(made)::bigint as made
from (
    select tenant_id, scopes is not null as scoped, successor_id is not null as rotated, count(*) as live, 0 as made
    from api_keys where tenant_id collate "C" = any ($1::text[]) and revoked_ms is null
        and coalesce(expires_ms, 9223372036854775807) > $2
    group by 1, 2, 3
    union all
    select tenant_id, false, false, count(*), count(*) from devices join accounts on accounts.email = devices.email
    where tenant_id = any ($1::text[]) and status = 'approved' and expires_ms > $2 group by 1
    union all
    select owner.id, false, false, 0, (
        select count(*) from (
            select from api_keys where tenant_id = owner.id and created_ms >= $3 order by created_ms desc limit 1001
        ) as made
    )
    from unnest($1::text[]) as owner (id)
) as counted group by 1, 2

-- name: merge_days
-- Move the daily usage of merged tenants to the tenants they were merged into.
with gone as (
    delete from usage_days using unnest($1::text[], $2::text[]) as merged (source, target)
    where tenant_id = merged.source returning merged.target, day, used
)
insert into usage_days (tenant_id, day, used)
select target, day, sum(used) from gone group by target, day order by target, day
on conflict (tenant_id, day) do update set used = usage_days.used + excluded.used

-- name: merge_key_days
-- Move the daily usage of the keys of merged tenants.
with gone as (
    delete from key_usage_days using unnest($1::text[], $2::text[]) as merged (source, target)
    where tenant_id = merged.source returning merged.target, key_id, day, used
)
insert into key_usage_days (tenant_id, key_id, day, used)
select target, key_id, day, sum(used) from gone group by target, key_id, day order by target, key_id, day
on conflict (tenant_id, key_id, day) do update set used = key_usage_days.used + excluded.used

-- name: end_shared_reports
-- End the links to reports of accounts that are suspended.
delete from shared_reports where tenant_id = any ($1::text[])

-- name: announce
-- Notify all nodes, on commit, of the keys and tenants that changed.
select pg_notify('catalog', topic) from unnest($1::text[]) as topic

-- name: resolve
-- Keys by hash, with the tier of their tenant, the email of its account, whether that is an administrator or suspended, and if it
-- never paid the tenants of the other accounts of its mailbox that never paid either.
select {keys.keys}, tier, accounts.email, administrators.email is not null as administers,
    suspended_ms is not null as suspended, coalesce(siblings, '{}') as siblings
from api_keys as keys join tenants on tenants.id = keys.tenant_id left join accounts on accounts.tenant_id = keys.tenant_id
left join administrators on administrators.email = accounts.email
left join lateral (
    select array_agg(id order by id) as siblings from (
        select others.id from accounts as other join tenants as others on others.id = other.tenant_id
        where mailbox_of(other.email) = mailbox_of(accounts.email) and other.email <> accounts.email
            and tenants.tier = 'claimed' and others.tier = 'claimed'
            and not exists (
                select from bookings where tenant_id in (accounts.tenant_id, other.tenant_id) and paid_ms is not null
            )
        order by others.month desc, others.month_used desc, others.id limit $2
    ) as counted
) as shared on true
where hash = any ($1::bytea[])

-- name: resolve_prefix
-- Keys by displayed prefix, with the same columns as `resolve`, but for the siblings.
select {keys.keys}, tier, accounts.email, administrators.email is not null as administers,
    suspended_ms is not null as suspended, '{}'::text[] as siblings
from api_keys as keys join tenants on tenants.id = keys.tenant_id left join accounts on accounts.tenant_id = keys.tenant_id
left join administrators on administrators.email = accounts.email
where prefix = $1 order by keys.id limit 10

-- name: live_keys
-- The live keys of a tenant, newest first, and after them those of the last $3 that ended which were not rotated, the last
-- first. The limit of the first is the maximum number of live keys per account.
select {keys} from (
    (
        select *, false as ended from api_keys
        where tenant_id collate "C" = $1 and revoked_ms is null and coalesce(expires_ms, 9223372036854775807) > $2
        order by created_ms desc, id collate "C" desc limit 2000
    )
    union all
    (
        select *, true from api_keys
        where tenant_id collate "C" = $1 and revoked_ms is null and coalesce(expires_ms, 9223372036854775807) <= $2
        order by coalesce(expires_ms, 9223372036854775807) desc limit $3
    )
) as listed
where not ended or successor_id is null
order by ended, case when ended then expires_ms else created_ms end desc, id collate "C" desc

-- name: ending_keys
-- Live keys whose owner is to be mailed now that they end, with the owner's email, longest due first.
select keys.id, accounts.email from api_keys as keys join accounts on accounts.tenant_id = keys.tenant_id
where end_notice_ms <= $1 and revoked_ms is null order by end_notice_ms, keys.id limit $2

-- name: save_uses
-- Write when keys were last used, in one order on all nodes. A later use written by another node stays.
insert into key_uses (key_id, used_ms)
select * from unnest($1::text[], $2::bigint[]) as used (key_id, used_ms) order by key_id
on conflict (key_id) do update set used_ms = excluded.used_ms where key_uses.used_ms < excluded.used_ms

-- name: uses_of
-- When keys were last used.
select key_id, used_ms from key_uses where key_id = any ($1::text[])
