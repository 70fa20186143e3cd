-- The random secrets of UTC days.

-- name: secrets
-- All secrets, oldest first.
select day, secret from visitor_secrets order by day

-- name: add
-- Add secrets to days that have none. Of several nodes, the second waits for the first.
insert into visitor_secrets (day, secret) select * from unnest($1::integer[], $2::bytea[]) on conflict (day) do nothing

-- name: remove
-- Delete the secrets of days before this one.
delete from visitor_secrets where day < $1
