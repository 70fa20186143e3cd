-- Device logins, and the guesses at their codes.

-- name: lock_devices
-- Lock device logins by the hash of their device code, by user code, or if they are approved for an account.
select id, code_hash, user_code, agent, address, created_ms, expires_ms, interval_seconds, status, polled_ms, email, session_id,
    decided_ms, key_id, admin
from devices where code_hash = any ($1::bytea[]) or user_code = any ($2::text[])
    or (status = 'approved' and email = any ($3::text[])) order by id for update

-- name: lock_sessions
-- Lock sessions. A session without a wrong guess has no other row to lock.
select id from sessions where id = any ($1::text[]) order by id for no key update

-- name: guesses
-- The wrong guesses made in sessions. A separate statement after the lock, to see what was committed during the wait.
select session_id, wrong, locked_until_ms from device_guesses where session_id = any ($1::text[])

-- name: insert_keys
-- Insert full keys.
insert into api_keys (id, hash, prefix, kind, tenant_id, created_ms, name, admin)
select id, hash, prefix, 'user', tenant_id, created_ms, name, admin
from unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::boolean[])
    as made (id, hash, prefix, tenant_id, created_ms, name, admin)

-- name: save_devices
-- Insert device logins, or update the columns that can change. A taken user code is a unique violation.
insert into devices (id, code_hash, user_code, agent, address, created_ms, expires_ms, interval_seconds, status, polled_ms,
    email, session_id, decided_ms, key_id, admin)
select * from unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::int[],
    $9::text[], $10::bigint[], $11::text[], $12::text[], $13::bigint[], $14::text[], $15::boolean[]) as changed (id, code_hash,
    user_code, agent, address, created_ms, expires_ms, interval_seconds, status, polled_ms, email, session_id, decided_ms,
    key_id, admin)
order by id
on conflict (id) do update set
    interval_seconds = excluded.interval_seconds, status = excluded.status, polled_ms = excluded.polled_ms,
    email = excluded.email, session_id = excluded.session_id, decided_ms = excluded.decided_ms, key_id = excluded.key_id,
    admin = excluded.admin

-- name: save_guesses
-- Write the guesses made in locked sessions.
insert into device_guesses (session_id, wrong, locked_until_ms)
select * from unnest($1::text[], $2::int[], $3::bigint[]) as changed (session_id, wrong, locked_until_ms) order by session_id
on conflict (session_id) do update set wrong = excluded.wrong, locked_until_ms = excluded.locked_until_ms

-- name: prune
-- Delete device logins that expired before a moment, and return how many. Locked ones are left for later.
with gone as (
    delete from devices where id = any (array(
        select id from devices where expires_ms < $1 order by expires_ms limit $2 for update skip locked
    )) returning 1
)
select count(*) from gone
