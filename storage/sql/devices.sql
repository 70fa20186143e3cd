-- Device logins, and the guesses at their codes.

-- name: lock_devices
-- Lock device logins by the hash of their device code, by user code, or if they are approved for an account.
select {devices}
from devices where code_hash = any ($1::bytea[]) or user_code = any ($2::text[])
    or (status = 'approved' and email = any ($3::text[])) order by id for update

-- name: lock_sessions
-- Lock sessions. A session without a wrong guess has no other row to lock.
select id from sessions where id = any ($1::text[]) order by id for no key update

-- name: guesses
-- The wrong guesses made in sessions. A separate statement after the lock, to see what was committed during the wait.
select {guesses} from device_guesses where session_id = any ($1::text[])
