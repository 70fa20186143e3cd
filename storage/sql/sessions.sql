-- Sign-ins and sessions.

-- name: resolve
-- Sessions by the hash of their token, with the tenant and tier of their account, whether it is an administrator, and why it
-- is suspended.
select sessions.id, token_hash, sessions.email, agent, sessions.created_ms, seen_ms, expires_ms, revoked_ms, passkey_ms,
    accounts.tenant_id, tier, administrators.email is not null as admin, suspension_reason
from sessions join accounts on accounts.email = sessions.email join tenants on tenants.id = accounts.tenant_id
left join administrators on administrators.email = sessions.email
where token_hash = any ($1::bytea[])

-- name: of_email
-- The live sessions of an account, last used first. The limit is far above what an account may have.
select id, token_hash, email, agent, created_ms, seen_ms, expires_ms, revoked_ms, passkey_ms from sessions
where email = $1 and revoked_ms is null and expires_ms > $2 order by seen_ms desc, id collate "C" desc limit 1000

-- name: lock_sign_ins
-- Lock sign-in codes by email and browser.
select proof, code_expires_ms, attempts, codes.email, codes.browser
from unnest($1::text[], $2::bytea[]) as named (email, browser)
join sign_in_codes as codes on codes.email = named.email and codes.browser = named.browser
order by codes.email, codes.browser for update of codes

-- name: lock_links
-- Lock sign-in links by the hash of their token.
select token_hash, email, created_ms, expires_ms, used_ms from sign_in_links
where token_hash = any ($1::bytea[]) order by token_hash for update

-- name: lock_accounts
-- Lock the accounts that new sessions refer to, in order, as the foreign key would lock them.
select email, tenant_id, created_ms, suspended_ms, suspension_reason from accounts
where email = any ($1::text[]) order by email for key share

-- name: lock_sessions
-- Lock sessions by id, and the live ones of accounts. A foreign key to a locked session does not wait.
select id, token_hash, email, agent, created_ms, seen_ms, expires_ms, revoked_ms, passkey_ms from sessions
where id = any ($1::text[]) or (email = any ($2::text[]) and revoked_ms is null and expires_ms > $3)
order by id for no key update

-- name: insert_sign_ins
-- Insert sign-in codes. If another node inserted one first, the unique violation makes the batch run again.
insert into sign_in_codes (proof, code_expires_ms, attempts, email, browser)
select * from unnest($1::bytea[], $2::bigint[], $3::int[], $4::text[], $5::bytea[])
    as made (proof, code_expires_ms, attempts, email, browser) order by email, browser

-- name: update_sign_ins
-- Update locked sign-in codes.
update sign_in_codes set proof = changed.proof, code_expires_ms = changed.code_expires_ms, attempts = changed.attempts
from unnest($1::bytea[], $2::bigint[], $3::int[], $4::text[], $5::bytea[])
    as changed (proof, code_expires_ms, attempts, email, browser)
where sign_in_codes.email = changed.email and sign_in_codes.browser = changed.browser

-- name: save_links
-- Insert sign-in links, or mark them as used.
insert into sign_in_links (token_hash, email, created_ms, expires_ms, used_ms)
select * from unnest($1::bytea[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
    as changed (token_hash, email, created_ms, expires_ms, used_ms) order by token_hash
on conflict (token_hash) do update set used_ms = excluded.used_ms

-- name: save_sessions
-- Insert sessions, or update the columns that can change.
insert into sessions (id, token_hash, email, agent, created_ms, seen_ms, expires_ms, revoked_ms, passkey_ms)
select * from unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
    $9::bigint[]) as changed (id, token_hash, email, agent, created_ms, seen_ms, expires_ms, revoked_ms, passkey_ms) order by id
on conflict (id) do update set
    seen_ms = excluded.seen_ms, expires_ms = excluded.expires_ms, revoked_ms = excluded.revoked_ms,
    passkey_ms = excluded.passkey_ms

-- name: prune_sign_ins
-- Delete sign-in codes that ended, and return how many. The keys are arrays because with a join the planner, which overestimates
-- them, reads the whole table.
with gone as (
    delete from sign_in_codes where ctid = any (array(
        select ctid from sign_in_codes where code_expires_ms < $1 order by code_expires_ms limit $2 for update skip locked
    )) returning 1
)
select count(*) from gone

-- name: prune_links
-- Delete sign-in links that ended, and return how many.
with gone as (
    delete from sign_in_links where token_hash = any (array(
        select token_hash from sign_in_links where expires_ms < $1 order by expires_ms limit $2 for update skip locked
    )) returning 1
)
select count(*) from gone

-- name: prune_sessions
-- Delete sessions that ended long ago, with the rows that refer to them, and return how many.
with gone as (
    delete from sessions where id = any (array(
        select id from sessions where expires_ms < $1 order by expires_ms limit $2 for update skip locked
    )) returning 1
)
select count(*) from gone

-- name: pending
-- A pending sign-in by the hash of its token.
select id, token_hash, email, agent, created_ms, expires_ms from pending_sign_ins where token_hash = $1

-- name: passkeys_of
-- The passkeys of an account, oldest first.
select id, email, credential_id, public_key, sign_count, name, created_ms, used_ms from passkeys where email = $1
order by created_ms, id collate "C"

-- name: lock_pending
-- Lock pending sign-ins by id.
select id, token_hash, email, agent, created_ms, expires_ms from pending_sign_ins where id = any ($1::text[])
order by id for update

-- name: lock_challenges
-- Lock challenges by the session or pending sign-in that holds them.
select holder_id, purpose, hash, expires_ms from passkey_challenges where holder_id = any ($1::text[])
order by holder_id for update

-- name: lock_passkeys
-- Lock the passkeys of accounts, and those with a credential that is to be registered. The locked sessions of an account keep
-- others from adding to its passkeys meanwhile, because only a session adds one.
select id, email, credential_id, public_key, sign_count, name, created_ms, used_ms from passkeys
where email = any ($1::text[]) or credential_id = any ($2::bytea[]) order by id for update

-- name: save_pending
-- Insert pending sign-ins, or update their end.
insert into pending_sign_ins (id, token_hash, email, agent, created_ms, expires_ms)
select * from unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
    as changed (id, token_hash, email, agent, created_ms, expires_ms) order by id
on conflict (id) do update set expires_ms = excluded.expires_ms

-- name: save_challenges
-- Write the challenges of sessions and pending sign-ins.
insert into passkey_challenges (holder_id, purpose, hash, expires_ms)
select * from unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[]) as changed (holder_id, purpose, hash, expires_ms)
order by holder_id
on conflict (holder_id) do update set purpose = excluded.purpose, hash = excluded.hash, expires_ms = excluded.expires_ms

-- name: save_passkeys
-- Insert passkeys, or update the columns that can change. A credential that another node has just registered is a unique
-- violation, which makes the batch run again.
insert into passkeys (id, email, credential_id, public_key, sign_count, name, created_ms, used_ms)
select * from unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[])
    as changed (id, email, credential_id, public_key, sign_count, name, created_ms, used_ms) order by id
on conflict (id) do update set sign_count = excluded.sign_count, name = excluded.name, used_ms = excluded.used_ms

-- name: delete_passkeys
-- Delete passkeys.
delete from passkeys where id = any ($1::text[])

-- name: prune_pending
-- Delete pending sign-ins that ended long ago, and return how many.
with gone as (
    delete from pending_sign_ins where id = any (array(
        select id from pending_sign_ins where expires_ms < $1 order by expires_ms limit $2 for update skip locked
    )) returning 1
)
select count(*) from gone

-- name: prune_challenges
-- Delete challenges that ended long ago, and return how many.
with gone as (
    delete from passkey_challenges where holder_id = any (array(
        select holder_id from passkey_challenges where expires_ms < $1 order by expires_ms limit $2 for update skip locked
    )) returning 1
)
select count(*) from gone
