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
select number, series, sequence, kind, booking_id, payment_id, tenant_id, amount_cents, currency, mode, issued_ms,
    seller_name, seller_address, seller_tax_id, buyer_name, buyer_website, buyer_email, slot_name, week_start_ms, weeks,
    belongs_to
from invoices where booking_id = any ($1::text[])

-- name: emails
-- The emails of accounts.
select tenant_id, email from accounts where tenant_id = any ($1::text[])

-- name: insert_invoices
-- Insert documents.
insert into invoices (number, series, sequence, kind, booking_id, payment_id, tenant_id, amount_cents, currency, mode,
    issued_ms, seller_name, seller_address, seller_tax_id, buyer_name, buyer_website, buyer_email, slot_name,
    week_start_ms, weeks, belongs_to)
select * from unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[],
    $9::text[], $10::text[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[],
    $18::text[], $19::bigint[], $20::int[], $21::text[])

-- name: of_booking
-- The documents of one account's booking, oldest first. Of one moment, the invoice of the payment comes first.
select number, series, sequence, kind, booking_id, payment_id, tenant_id, amount_cents, currency, mode, issued_ms,
    seller_name, seller_address, seller_tax_id, buyer_name, buyer_website, buyer_email, slot_name, week_start_ms, weeks,
    belongs_to
from invoices where booking_id = $1 and tenant_id = $2
order by issued_ms, belongs_to is not null, sequence, number limit $3

-- name: of_tenant
-- A page of one account's documents, newest first.
select number, series, sequence, kind, booking_id, payment_id, tenant_id, amount_cents, currency, mode, issued_ms,
    seller_name, seller_address, seller_tax_id, buyer_name, buyer_website, buyer_email, slot_name, week_start_ms, weeks,
    belongs_to
from invoices where tenant_id = $4 and (issued_ms, number) < ($1, $2) order by issued_ms desc, number desc limit $3
