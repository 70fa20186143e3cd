-- Billing details of accounts, and invoices with the buyer's details and the tax that their amount contains.
-- works with: 27

create table billing_details (
    tenant_id text primary key,
    legal_name text not null,
    address text not null,
    country text not null,
    tax_id text not null,
    reference text not null,
    email text not null
);
comment on table billing_details is
    'What the next invoices of an account name as their buyer. Invoices that exist have a copy. Empty: not given.';

alter table invoices
    add column buyer_legal_name text not null default '',
    add column buyer_address text not null default '',
    add column buyer_country text not null default '',
    add column buyer_tax_id text not null default '',
    add column buyer_reference text not null default '',
    add column tax_name text not null default '',
    add column tax_rate bigint not null default 0,
    add column tax_cents bigint not null default 0;
comment on column invoices.tax_rate is 'In thousandths of a percent of the net amount. A credit note has that of its invoice.';
comment on column invoices.tax_cents is 'The part of the amount that is tax.';
