-- What this database is used with: the fingerprint of the server secret, and the billing mode.

-- name: insert_first
-- Store this fingerprint unless one is stored.
insert into identity (secret_print) values ($1) on conflict (singleton) do nothing

-- name: fingerprint
-- The stored fingerprint.
select secret_print from identity

-- name: insert_mode
-- Store this billing mode unless one is stored. A row exists since the fingerprint was stored.
update identity set billing_mode = $1 where billing_mode is null

-- name: mode
-- The stored billing mode.
select billing_mode from identity

-- name: lock_mode
-- The stored billing mode, locked.
select billing_mode from identity for update

-- name: set_mode
-- Change the stored billing mode.
update identity set billing_mode = $1

-- name: holding
-- The bookings of other modes that hold weeks which are not over, or whose money is on its way.
select count(*) from bookings
where mode <> $1 and status in ('reserved', 'checkout', 'paid', 'refunding')
    and (status = 'refunding' or week_start_ms + weeks * 604800000::bigint > $2)
