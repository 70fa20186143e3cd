-- The fingerprint of the server secret that this database is used with.

-- name: insert_first
-- Store this fingerprint unless one is stored.
insert into identity (secret_print) values ($1) on conflict (singleton) do nothing

-- name: fingerprint
-- The stored fingerprint.
select secret_print from identity
