-- Sign-ins and sessions.

-- name: resolve
-- Sessions by the hash of their token, with the tenant and tier of their account, whether it is an administrator, and why it
-- is suspended.
select {sessions.sessions}, accounts.tenant_id, tier, administrators.email is not null as admin, suspension_reason
from sessions join accounts on accounts.email = sessions.email join tenants on tenants.id = accounts.tenant_id
left join administrators on administrators.email = sessions.email
where token_hash = any ($1::bytea[])

-- name: of_email
-- The live sessions of an account, last used first. The limit is far above what an account may have.
select {sessions} from sessions
where email = $1 and revoked_ms is null and expires_ms > $2 order by seen_ms desc, id collate "C" desc limit 1000

-- name: lock_sign_ins
-- Lock sign-in codes by email and browser.
select {codes.sign_ins}
from unnest($1::text[], $2::bytea[]) as named (email, browser)
join sign_in_codes as codes on codes.email = named.email and codes.browser = named.browser
order by codes.email, codes.browser for update of codes

-- name: lock_links
-- Lock sign-in links by the hash of their token.
select {sign_in_links} from sign_in_links
where token_hash = any ($1::bytea[]) order by token_hash for update

-- name: lock_accounts
-- Lock the accounts that new sessions refer to, in order, as the foreign key would lock them.
select {accounts} from accounts
where email = any ($1::text[]) order by email for key share

-- name: lock_sessions
-- Lock sessions by id, and those of accounts that were not revoked and end after a time. A foreign key to a locked session does not wait.
select {sessions} from sessions
where id = any ($1::text[]) or (email = any ($2::text[]) and revoked_ms is null and expires_ms > $3)
order by id for no key update

-- name: pending
-- A pending sign-in by the hash of its token.
select {pending_sign_ins} from pending_sign_ins where token_hash = $1

-- name: passkeys_of
-- The passkeys of an account, oldest first.
select {passkeys} from passkeys where email = $1
order by created_ms, id collate "C"

-- name: lock_pending
-- Lock pending sign-ins by id.
select {pending_sign_ins} from pending_sign_ins where id = any ($1::text[])
order by id for update

-- name: lock_challenges
-- Lock challenges by the session or pending sign-in that holds them.
select {challenges} from passkey_challenges where holder_id = any ($1::text[])
order by holder_id for update

-- name: lock_passkeys
-- Lock the passkeys of accounts, and those with a credential that is to be registered. The locked sessions of an account keep
-- others from adding to its passkeys meanwhile, because only a session adds one.
select {passkeys} from passkeys
where email = any ($1::text[]) or credential_id = any ($2::bytea[]) order by id for update

-- name: delete_passkeys
-- Delete passkeys.
delete from passkeys where id = any ($1::text[])
