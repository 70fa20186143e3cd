-- Invoices and credit notes, numbered without gaps.
-- works with: 14

create table invoice_numbers (
    series text primary key,
    last bigint not null check (last > 0)
);
comment on table invoice_numbers is
    'The last number of each series. Its row is locked from the transaction that takes a number until that ends.';

create table invoices (
    number text collate "C" primary key,
    series text not null,
    sequence bigint not null,
    kind text not null check (kind in ('invoice', 'credit_note')),
    booking_id text not null references bookings (id),
    payment_id text not null,
    tenant_id text not null,
    amount_cents bigint not null check (amount_cents > 0),
    currency text not null,
    mode text not null check (mode in ('test', 'live')),
    issued_ms bigint not null,
    seller_name text not null,
    seller_address text not null,
    seller_tax_id text not null,
    buyer_name text not null,
    buyer_website text not null,
    buyer_email text not null,
    slot_name text not null,
    week_start_ms bigint not null,
    weeks integer not null,
    belongs_to text,
    unique (series, sequence)
);
comment on column invoices.belongs_to is
    'The invoice that a credit note reduces, or the credit note that an invoice cancels because its refund did not arrive.';
create index invoices_of_tenant on invoices (tenant_id, issued_ms desc, number desc);
create index invoices_of_booking on invoices (booking_id);
