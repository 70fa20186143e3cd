-- Invoices and credit notes: number and insert them at the end of a transaction of the ledger, and read them.

-- name: advance_series
-- Take numbers of each series and return the last one taken. Locks the rows of the series, in one order, until the
-- transaction ends: a number of a transaction that fails is taken by the next one.
insert into invoice_numbers (series, last)
select * from unnest($1::text[], $2::bigint[]) as needed (series, count) order by series
on conflict (series) do update set last = invoice_numbers.last + excluded.last
returning series, last

-- name: known
-- The documents of bookings.
select {invoices}
from invoices where booking_id = any ($1::text[])

-- name: emails
-- The emails of accounts.
select tenant_id, email from accounts where tenant_id = any ($1::text[])

-- name: of_booking
-- The documents of one account's booking, oldest first. Of one moment, the invoice of the payment comes first.
select {invoices}
from invoices where booking_id = $1 and tenant_id = $2
order by issued_ms, belongs_to is not null, sequence, number limit $3

-- name: of_tenant
-- A page of one account's documents, newest first.
select {invoices}
from invoices where tenant_id = $4 and (issued_ms, number) < ($1, $2) order by issued_ms desc, number desc limit $3

-- name: count_of
-- The number of one account's documents, no further than $2.
select count(*) from (select from invoices where tenant_id = $1 limit $2) as counted
