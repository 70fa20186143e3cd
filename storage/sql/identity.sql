-- Which server secret this database is used with.

-- name: offer
-- Keep this fingerprint unless one is kept.
insert into identity (secret_print) values ($1) on conflict (singleton) do nothing

-- name: kept
-- The fingerprint of the first node that came.
select secret_print from identity
