-- Which version of the terms accounts and payments accepted, and when.
-- works with: 27

-- Without a foreign key, whose making would wait for every change of an account. A row names no person.
create table accepted_terms (
    tenant_id text not null,
    version text not null,
    accepted_ms bigint not null,
    primary key (tenant_id, version)
);
comment on table accepted_terms is 'The first sign-in or claim of an account under each version of the terms.';

alter table bookings
    add column terms_version text,
    add column terms_accepted_ms bigint,
    add constraint bookings_terms check ((terms_version is null) = (terms_accepted_ms is null)) not valid;
comment on column bookings.terms_version is 'The version of the terms that the page for the payment showed; null: none.';
comment on column bookings.terms_accepted_ms is 'When they were accepted by paying.';
