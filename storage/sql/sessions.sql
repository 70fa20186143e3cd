-- Sign-ins, sessions and the forms that were sent in them.

-- name: resolve
-- Sessions by the hash of their token, with their account's tenant and membership.
select sessions.id, token_hash, sessions.email, agent, sessions.created_ms, seen_ms, expires_ms, revoked_ms, accounts.tenant_id,
    tier, administrators.email is not null as admin
from sessions join accounts on accounts.email = sessions.email join tenants on tenants.id = accounts.tenant_id
left join administrators on administrators.email = sessions.email
where token_hash = any ($1::bytea[])

-- name: of_email
-- The live sessions of an account, the last used first; the number is far more than an account may have.
select id, token_hash, email, agent, created_ms, seen_ms, expires_ms, revoked_ms from sessions
where email = $1 and revoked_ms is null and expires_ms > $2 order by seen_ms desc, id collate "C" desc limit 1000
